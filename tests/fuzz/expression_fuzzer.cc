// Expressions come from users. Every expression that parses must evaluate to
// true, false or unknown, with and without finite elements.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "agent/conditions/expression.h"
#include "agent/conditions/tensor_measurements.h"

namespace {

graphdbg::Statistics Sample(uint64_t finite) {
  graphdbg::Statistics s;
  s.count = finite + 2;
  s.nan_count = 2;
  s.positive_count = finite;
  if (finite > 0) {
    s.min = 1;
    s.max = 4;
    s.mean = s.abs_mean = 2;
    s.abs_max = 4;
    s.variance = 1;
    s.l1 = 2.0 * static_cast<double>(finite);
    s.l2 = 3;
  }
  return s;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto expression = graphdbg::conditions::Expression::Parse(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!expression.ok()) {
    if (expression.status().message().empty()) std::abort();
    return 0;
  }
  for (uint64_t finite : {0, 3}) {
    graphdbg::conditions::TensorMeasurements measurements(Sample(finite),
                                                          nullptr, 7);
    const double met = expression->Evaluate(&measurements);
    if (met != 0 && met != 1 && !std::isnan(met)) std::abort();
  }
  return 0;
}
