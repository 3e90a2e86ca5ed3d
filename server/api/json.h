// JSON as the API writes it.
#ifndef SERVER_API_JSON_H_
#define SERVER_API_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace graphdbg::api {

// Keys stay in the order of the contract.
using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinities: they are the strings "NaN", "Infinity"
// and "-Infinity".
Json Number(double value);

// ISO 8601 in UTC with microseconds, as "2026-01-31T12:00:00.000000Z".
std::string TimeText(int64_t unix_nano);

// What is not UTF-8 in names from jobs becomes U+FFFD.
std::string Dump(const Json& json);

}  // namespace graphdbg::api

#endif  // SERVER_API_JSON_H_
