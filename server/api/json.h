// The JSON conventions of the API.
#ifndef SERVER_API_JSON_H_
#define SERVER_API_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace graphdbg::api {

// Keeps keys in the order in which they are inserted.
using Json = nlohmann::ordered_json;

// JSON cannot represent NaN and infinities. They become the strings "NaN",
// "Infinity" and "-Infinity".
Json Number(double value);

// ISO 8601 in UTC with microseconds: "2026-01-31T12:00:00.000000Z".
std::string TimeText(int64_t unix_nano);

// Serializes `json`. Replaces bytes that are not UTF-8, which names from jobs
// may contain, with U+FFFD.
std::string Dump(const Json& json);

}  // namespace graphdbg::api

#endif  // SERVER_API_JSON_H_
