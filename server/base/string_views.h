// Conversions for Abseil's string functions. Some distributions, Debian among
// them, build Abseil with a string_view type of its own.
#ifndef SERVER_BASE_STRING_VIEWS_H_
#define SERVER_BASE_STRING_VIEWS_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace graphdbg {

inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view ToStd(absl::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace graphdbg

#endif  // SERVER_BASE_STRING_VIEWS_H_
