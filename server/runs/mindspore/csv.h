// Rows of CSV files, as MindSpore writes them: commas, and quotes around cells
// that contain some.
#ifndef SERVER_RUNS_MINDSPORE_CSV_H_
#define SERVER_RUNS_MINDSPORE_CSV_H_

#include <string>
#include <string_view>
#include <vector>

namespace graphdbg::dumps {

using CsvRow = std::vector<std::string>;

// Removes the first line from `text`, and returns its cells without quotes and
// surrounding blanks. A line has at least one cell. Cells beyond 1,000 are
// dropped.
CsvRow TakeCsvRow(std::string_view& text);

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_CSV_H_
