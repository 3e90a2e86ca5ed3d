// Fields of JSON objects in the settings of a recording. Python has validated
// the content of a configuration file; here, only what would be misread is
// refused.
#ifndef AGENT_CORE_JSON_FIELDS_H_
#define AGENT_CORE_JSON_FIELDS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/selector.h"

namespace graphdbg::agent::json_fields {

// INVALID_ARGUMENT: "key: expected ...".
absl::Status Wrong(absl::string_view key, absl::string_view expected);

// Null if the object has no such key.
const nlohmann::ordered_json* Find(const nlohmann::ordered_json& object,
                                   const char* key);

// These append what the key has, or nothing if the object has no such key.
absl::Status ReadTexts(const nlohmann::ordered_json& object, const char* key,
                       std::vector<std::string>* to);
// The key `categories`.
absl::Status ReadCategories(const nlohmann::ordered_json& object,
                            std::vector<conditions::Category>* to);

}  // namespace graphdbg::agent::json_fields

#endif  // AGENT_CORE_JSON_FIELDS_H_
