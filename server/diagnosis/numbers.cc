#include "server/diagnosis/numbers.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace graphdbg::diagnosis {

std::string Count(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Number(double value) {
  const double size = std::abs(value);
  if (size >= 1'000 && size < 1e9) {
    return absl::StrCat(value < 0 ? "-" : "",
                        Count(static_cast<uint64_t>(std::llround(size))));
  }
  // "3.4e+38" and "1e-09" have signs and zeros that say nothing.
  return absl::StrReplaceAll(absl::StrFormat("%.4g", value),
                             {{"e+0", "e"}, {"e+", "e"}, {"e-0", "e-"}});
}

std::string Counted(uint64_t count, absl::string_view noun) {
  return absl::StrCat(Count(count), " ", noun, count == 1 ? "" : "s");
}

std::string Of(uint64_t part, uint64_t whole) {
  if (part == whole) {
    return whole == 1 ? "the only value"
                      : absl::StrCat("all ", Count(whole), " values");
  }
  return absl::StrCat(Count(part), " of ", Counted(whole, "value"));
}

std::optional<double> Limit(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65'504;
    case DType::kBfloat16:
      return 3.3895313892515355e38;
    case DType::kFloat32:
      return 3.4028234663852886e38;
    case DType::kFloat64:
      return 1.7976931348623157e308;
    case DType::kFloat8E4m3fn:
      return 448;
    case DType::kFloat8E5m2:
      return 57'344;
    default:
      return std::nullopt;
  }
}

}  // namespace graphdbg::diagnosis
