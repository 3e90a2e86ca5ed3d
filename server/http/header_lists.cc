#include "server/http/header_lists.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/string_views.h"

namespace graphdbg::http {
namespace {

bool IsZeroQuality(absl::string_view parameter) {
  parameter = absl::StripAsciiWhitespace(parameter);
  return parameter.size() >= 3 && absl::StartsWithIgnoreCase(parameter, "q=") &&
         parameter.find_first_not_of("0.", 2) == absl::string_view::npos;
}

}  // namespace

bool ListsToken(std::string_view header, std::string_view token) {
  for (absl::string_view item : absl::StrSplit(ToAbsl(header), ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(item, ';');
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]),
                                ToAbsl(token))) {
      continue;
    }
    return std::none_of(parts.begin() + 1, parts.end(), IsZeroQuality);
  }
  return false;
}

bool MatchesEtag(std::string_view if_none_match, std::string_view etag) {
  for (absl::string_view item : absl::StrSplit(ToAbsl(if_none_match), ',')) {
    item = absl::StripAsciiWhitespace(item);
    if (item == "*" || absl::StripPrefix(item, "W/") == ToAbsl(etag))
      return true;
  }
  return false;
}

}  // namespace graphdbg::http
