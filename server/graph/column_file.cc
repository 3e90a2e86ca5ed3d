#include "server/graph/column_file.h"

#include <cstring>
#include <numeric>
#include <utility>

namespace graphdbg::graph {
namespace {

// "GDBGIDX" and the version of the format.
constexpr char kMagic[8] = {'G', 'D', 'B', 'G', 'I', 'D', 'X', 2};
constexpr size_t kAlignment = 8;

void Pad(std::string& text, char with) {
  while (text.size() % kAlignment != 0) text.push_back(with);
}

}  // namespace

void ColumnFile::Add(const char* name, const std::vector<uint32_t>& values) {
  Append(name, "u32", values.data(), values.size(), sizeof(uint32_t));
}

void ColumnFile::Add(const char* name, const std::vector<uint8_t>& values) {
  Append(name, "u8", values.data(), values.size(), sizeof(uint8_t));
}

void ColumnFile::Add(const char* name, const std::vector<uint64_t>& values) {
  Append(name, "u64", values.data(), values.size(), sizeof(uint64_t));
}

void ColumnFile::Add(const char* name, const std::vector<double>& values) {
  Append(name, "f64", values.data(), values.size(), sizeof(double));
}

void ColumnFile::AddDifferences(const char* name,
                                const std::vector<uint32_t>& values) {
  std::vector<uint32_t> differences = values;
  std::adjacent_difference(values.begin(), values.end(), differences.begin());
  Add(name, differences);
  columns_[name]["differences"] = true;
}

void ColumnFile::Add(const char* name, std::string_view bytes) {
  Append(name, "u8", bytes.data(), bytes.size(), 1);
}

void ColumnFile::Append(const char* name, const char* type, const void* data,
                        size_t count, size_t item_bytes) {
  Pad(bytes_, '\0');
  columns_[name] = {
      {"type", type}, {"offset", bytes_.size()}, {"count", count}};
  bytes_.append(static_cast<const char*>(data), count * item_bytes);
}

std::string ColumnFile::Finish(nlohmann::ordered_json header) && {
  header["columns"] = std::move(columns_);
  std::string text = header.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  Pad(text, ' ');
  const uint64_t header_bytes = text.size();
  std::string file(kMagic, sizeof kMagic);
  file.resize(sizeof kMagic + sizeof header_bytes);
  std::memcpy(file.data() + sizeof kMagic, &header_bytes, sizeof header_bytes);
  file.reserve(file.size() + text.size() + bytes_.size());
  file += text;
  file += bytes_;
  return file;
}

uint32_t StringTable::Number(std::string_view text) {
  const auto [it, is_new] =
      numbers_.try_emplace(text, static_cast<uint32_t>(ends_.size()));
  if (is_new) {
    bytes_ += text;
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  return it->second;
}

void StringTable::AddTo(ColumnFile& file) const {
  file.AddDifferences("string_end", ends_);
  file.Add("string_bytes", bytes_);
}

}  // namespace graphdbg::graph
