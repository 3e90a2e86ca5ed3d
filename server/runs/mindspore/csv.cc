#include "server/runs/mindspore/csv.h"

#include "absl/strings/ascii.h"

namespace graphdbg::dumps {
namespace {

constexpr size_t kMaxCells = 1'000;

void Finish(std::string& cell, CsvRow& row) {
  absl::StripAsciiWhitespace(&cell);
  if (row.size() < kMaxCells) row.push_back(std::move(cell));
  cell.clear();
}

}  // namespace

CsvRow TakeCsvRow(std::string_view& text) {
  const size_t newline = text.find('\n');
  const std::string_view line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size()
                                                       : newline + 1);
  CsvRow row;
  std::string cell;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      Finish(cell, row);
    } else {
      cell += c;
    }
  }
  Finish(cell, row);
  return row;
}

}  // namespace graphdbg::dumps
