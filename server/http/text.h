// The few text operations that HTTP needs: header words and percent-encoding.
#ifndef SERVER_HTTP_TEXT_H_
#define SERVER_HTTP_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphdbg::http {

// ASCII only, as header names and tokens are.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// Without spaces and tabs at both ends.
std::string_view Trim(std::string_view text);

// Parts between separators; one empty part for an empty text.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Whether a comma separated header value lists `token`; parameters after ';'
// are looked at only for "q=0", which means "not this one".
bool ListsToken(std::string_view header, std::string_view token);

// Whether an If-None-Match header lists `etag` (with its quotes) or is "*"; a
// weak tag counts as the strong one (RFC 9110 section 13.1.2).
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

// Absent for a '%' without two hexadecimal digits and for a zero byte.
std::optional<std::string> PercentDecode(std::string_view text,
                                         bool plus_is_space);

using QueryPairs = std::vector<std::pair<std::string, std::string>>;

// Absent where PercentDecode is.
std::optional<QueryPairs> ParseQuery(std::string_view query);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_TEXT_H_
