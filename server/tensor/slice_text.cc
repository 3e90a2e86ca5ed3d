#include "server/tensor/slice_text.h"

#include "absl/strings/str_cat.h"

namespace graphdbg::tensor {

std::string RangeText(const SliceDimension& dimension, int64_t first,
                      int64_t end) {
  const int64_t start = dimension.start + first * dimension.step;
  if (dimension.drop) return absl::StrCat(start);
  const int64_t last = dimension.start + (end - 1) * dimension.step;
  const int64_t stop = dimension.step > 0 ? last + 1 : last - 1;
  std::string text = absl::StrCat(start, ":");
  // A negative stop would count from the end.
  if (stop >= 0) absl::StrAppend(&text, stop);
  if (dimension.step != 1) absl::StrAppend(&text, ":", dimension.step);
  return text;
}

}  // namespace graphdbg::tensor
