// Decoding of request targets.
#ifndef SERVER_HTTP_URL_DECODING_H_
#define SERVER_HTTP_URL_DECODING_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphdbg::http {

// Absent if a '%' is not followed by two hexadecimal digits, or if the decoded
// text contains a NUL byte.
std::optional<std::string> PercentDecode(std::string_view text,
                                         bool plus_is_space);

// Names and values in order. A name may occur several times.
using QueryPairs = std::vector<std::pair<std::string, std::string>>;

// Decodes a query without its '?'. Absent if PercentDecode rejects a name or a
// value.
std::optional<QueryPairs> ParseQuery(std::string_view query);

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_URL_DECODING_H_
