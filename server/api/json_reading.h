// Reads the JSON that clients send.
#ifndef SERVER_API_JSON_READING_H_
#define SERVER_API_JSON_READING_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace graphdbg::api {

// Looks keys up in a tree. Json (json.h) searches them one by one, so reading
// an object of a client into it would take quadratic time.
using ReceivedJson = nlohmann::json;

// No request of this API comes near these limits, except for the values of
// long lists of nodes.
inline constexpr size_t kMaxJsonKeys = 64;
inline constexpr size_t kMaxJsonDepth = 16;
inline constexpr size_t kMaxJsonValues = 20'000;

// INVALID_ARGUMENT "bad_json" if `text` is not valid JSON or exceeds a limit,
// which the message names. `what` names the text in the message: "the request
// body". Reading stops at the limit, whatever follows.
absl::StatusOr<ReceivedJson> ParseJson(std::string_view text,
                                       std::string_view what);

}  // namespace graphdbg::api

#endif  // SERVER_API_JSON_READING_H_
