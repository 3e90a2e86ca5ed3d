#include "agent/core/config_values.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace graphdbg::agent {

std::optional<int64_t> ParseBytes(absl::string_view text) {
  size_t digits = 0;
  while (digits < text.size() &&
         (absl::ascii_isdigit(text[digits]) || text[digits] == '.')) {
    ++digits;
  }
  double number;
  if (!absl::SimpleAtod(text.substr(0, digits), &number)) return std::nullopt;
  const std::string unit =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(text.substr(digits)));
  static const std::pair<const char*, double> kUnits[] = {
      {"", 1},         {"b", 1},        {"kb", 1e3},     {"mb", 1e6},
      {"gb", 1e9},     {"tb", 1e12},    {"kib", 1024.0}, {"mib", 0x1p20},
      {"gib", 0x1p30}, {"tib", 0x1p40}, {"k", 1024.0},   {"m", 0x1p20},
      {"g", 0x1p30},   {"t", 0x1p40}};
  for (const auto& [name, factor] : kUnits) {
    if (unit != name) continue;
    const double bytes = number * factor;
    if (!(bytes < 0x1p62)) return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace graphdbg::agent
