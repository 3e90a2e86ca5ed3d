// Columns of numbers, concatenated, with a JSON header that locates them.
#ifndef SERVER_GRAPH_COLUMN_FILE_H_
#define SERVER_GRAPH_COLUMN_FILE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace graphdbg::graph {

// The file is little-endian; so are all machines that the server runs on.
class ColumnFile {
 public:
  void Add(const char* name, const std::vector<uint32_t>& values);
  void Add(const char* name, const std::vector<uint8_t>& values);
  void Add(const char* name, const std::vector<uint64_t>& values);
  void Add(const char* name, const std::vector<double>& values);
  // Stores each value as its difference from the previous one, modulo 2^32.
  // Columns that grow steadily compress to almost nothing.
  void AddDifferences(const char* name, const std::vector<uint32_t>& values);
  void Add(const char* name, std::string_view bytes);

  // Returns the file, with the columns listed in the header's "columns".
  std::string Finish(nlohmann::ordered_json header) &&;

 private:
  void Append(const char* name, const char* type, const void* data,
              size_t count, size_t item_bytes);

  nlohmann::ordered_json columns_ = nlohmann::ordered_json::object();
  std::string bytes_;
};

// Numbers distinct strings. Number 0 is the empty string.
class StringTable {
 public:
  StringTable() { Number(""); }

  // Returns the string's number. `text` must outlive the table.
  uint32_t Number(std::string_view text);
  // Adds the columns "string_end", the end of each string, and "string_bytes".
  void AddTo(ColumnFile& file) const;

 private:
  absl::flat_hash_map<std::string_view, uint32_t> numbers_;
  std::vector<uint32_t> ends_;
  std::string bytes_;
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_COLUMN_FILE_H_
