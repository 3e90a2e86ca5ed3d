// Header values that are comma-separated lists (RFC 9110 section 5.6.1).
#ifndef SERVER_HTTP_HEADER_LISTS_H_
#define SERVER_HTTP_HEADER_LISTS_H_

#include <string_view>

namespace graphdbg::http {

// Whether `header` lists `token`, ignoring case. Parameters after ';' are
// ignored, except for "q=0", which means that the token is not acceptable.
bool ListsToken(std::string_view header, std::string_view token);

// Whether the If-None-Match header lists `etag` (with its quotes) or is "*". A
// weak tag matches the strong one (RFC 9110 section 13.1.2).
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_HEADER_LISTS_H_
