// Errors with a stable word for programs beside the message for people.
#ifndef SERVER_BASE_ERROR_H_
#define SERVER_BASE_ERROR_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace graphdbg {

// `reason` is what API clients see as the problem's `code`, as "unknown_node".
absl::Status Error(absl::StatusCode code, std::string_view reason,
                   std::string_view message);

// The reason given to Error(), or a word made of the code ("not_found").
std::string ReasonOf(const absl::Status& status);

// Attaches the name of the request field that is wrong ("condition.id").
absl::Status WithField(absl::Status status, std::string_view field);

// That name; empty if none.
std::string FieldOf(const absl::Status& status);

// Where in the field's text the error is, from 1; absent if it is not known.
std::optional<int> ColumnOf(const absl::Status& status);

}  // namespace graphdbg

#endif  // SERVER_BASE_ERROR_H_
