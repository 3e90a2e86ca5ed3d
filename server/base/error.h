// Errors with a stable identifier for programs beside the message for users.
#ifndef SERVER_BASE_ERROR_H_
#define SERVER_BASE_ERROR_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace graphdbg {

// `reason` is the `code` of the problem that API clients receive, for example
// "unknown_node".
absl::Status Error(absl::StatusCode code, std::string_view reason,
                   std::string_view message);

// The reason given to Error(), or the name of the code ("not_found").
std::string ReasonOf(const absl::Status& status);

// Attaches the name of the request field that is wrong ("condition.id").
absl::Status WithField(absl::Status status, std::string_view field);

// The name given to WithField(). Empty if there is none.
std::string FieldOf(const absl::Status& status);

// The column of the error in the field's text, from 1. Absent if it is unknown.
std::optional<int> ColumnOf(const absl::Status& status);

}  // namespace graphdbg

#endif  // SERVER_BASE_ERROR_H_
