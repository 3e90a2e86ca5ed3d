// Columns of numbers in one run of bytes, with a JSON header that says where.
#ifndef SERVER_GRAPH_COLUMN_FILE_H_
#define SERVER_GRAPH_COLUMN_FILE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace graphdbg::graph {

// Machines that this runs on are little endian, as the file is.
class ColumnFile {
 public:
  void Add(const char* name, const std::vector<uint32_t>& values);
  void Add(const char* name, const std::vector<uint8_t>& values);
  // Each as its difference to the one before, modulo 2^32: what grows step by
  // step compresses to next to nothing.
  void AddDifferences(const char* name, const std::vector<uint32_t>& values);
  void Add(const char* name, std::string_view bytes);

  // With the header, to which what was added is filed under "columns".
  std::string Finish(nlohmann::ordered_json header) &&;

 private:
  void Append(const char* name, const char* type, const void* data,
              size_t count, size_t item_bytes);

  nlohmann::ordered_json columns_ = nlohmann::ordered_json::object();
  std::string bytes_;
};

// Texts, each once; number 0 is the empty one.
class StringTable {
 public:
  StringTable() { Number(""); }

  // `text` must outlive the table.
  uint32_t Number(std::string_view text);
  // As "string_end", where each text ends, and "string_bytes".
  void AddTo(ColumnFile& file) const;

 private:
  absl::flat_hash_map<std::string_view, uint32_t> numbers_;
  std::vector<uint32_t> ends_;
  std::string bytes_;
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_COLUMN_FILE_H_
