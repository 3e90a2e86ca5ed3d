#include "server/tensor/element_range.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/tensor/slice_text.h"

namespace graphdbg::tensor {
namespace {

// A dimension, and the elements of the slice in one of its rows.
struct Rows {
  size_t dimension = 0;
  uint64_t elements = 1;
};

// The largest rows of which one begins at `begin` and ends by `end`.
Rows LargestRows(const Slice& slice, uint64_t begin, uint64_t end) {
  Rows largest{slice.size() - 1, 1};
  uint64_t elements = 1;
  for (size_t d = slice.size(); d-- > 0;) {
    if (begin % elements != 0 || elements > end - begin) break;
    largest = {d, elements};
    elements *= static_cast<uint64_t>(slice[d].count);
  }
  return largest;
}

}  // namespace

std::vector<PiecePlan::Piece> PiecesOf(const Slice& slice, uint64_t begin,
                                       uint64_t end) {
  if (begin == end) return {};
  if (slice.empty()) return {{"", 1}};
  std::vector<PiecePlan::Piece> pieces;
  while (begin < end) {
    const Rows rows = LargestRows(slice, begin, end);
    const auto count = static_cast<uint64_t>(slice[rows.dimension].count);
    const uint64_t first = begin / rows.elements % count;
    const uint64_t taken =
        std::min((end - begin) / rows.elements, count - first);
    std::string text;
    // From the innermost dimension outwards.
    uint64_t outer = begin / rows.elements / count;
    for (size_t d = rows.dimension; d-- > 0;) {
      const auto size = static_cast<uint64_t>(slice[d].count);
      const auto index = static_cast<int64_t>(outer % size);
      text = absl::StrCat(slice[d].start + index * slice[d].step, ",", text);
      outer /= size;
    }
    text += RangeText(slice[rows.dimension], static_cast<int64_t>(first),
                      static_cast<int64_t>(first + taken));
    for (size_t d = rows.dimension + 1; d < slice.size(); ++d) {
      absl::StrAppend(&text, ",", RangeText(slice[d], 0, slice[d].count));
    }
    pieces.push_back({text, taken * rows.elements});
    begin += taken * rows.elements;
  }
  return pieces;
}

}  // namespace graphdbg::tensor
