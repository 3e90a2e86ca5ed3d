// Slice texts come from browsers. Every slice that ParseSlice accepts must be
// within the tensor.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/tensor/slice.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<int64_t> shape = {2, 3, 1, 4};
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto slice = graphdbg::ParseSlice(text, shape);
  if (!slice.ok()) {
    if (slice.status().message().empty()) std::abort();
    return 0;
  }
  if (!graphdbg::CheckSlice(*slice, shape).ok()) std::abort();
  const int64_t count = graphdbg::ElementCount(*slice);
  if (count < 0 || count > 2 * 3 * 1 * 4) std::abort();
  return 0;
}
