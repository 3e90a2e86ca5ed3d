#include "server/http/url_decoding.h"

#include <boost/url/encoding_opts.hpp>
#include <boost/url/pct_string_view.hpp>

#include "absl/strings/str_split.h"
#include "server/base/string_views.h"

namespace graphdbg::http {

std::optional<std::string> PercentDecode(std::string_view text,
                                         bool plus_is_space) {
  const auto encoded = boost::urls::make_pct_string_view(text);
  if (!encoded) return std::nullopt;
  boost::urls::encoding_opts options;
  options.space_as_plus = plus_is_space;
  std::string decoded = encoded->decode(options);
  if (decoded.find('\0') != std::string::npos) return std::nullopt;
  return decoded;
}

// Boost.URL's own query parser is stricter than browsers and curl are: it
// rejects characters such as '[' and '|', which slices and patterns contain.
std::optional<QueryPairs> ParseQuery(std::string_view query) {
  QueryPairs pairs;
  for (absl::string_view pair :
       absl::StrSplit(ToAbsl(query), '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    auto name = PercentDecode(ToStd(parts.first), true);
    auto value = PercentDecode(ToStd(parts.second), true);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(*std::move(name), *std::move(value));
  }
  return pairs;
}

}  // namespace graphdbg::http
