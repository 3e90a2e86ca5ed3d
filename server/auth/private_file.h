// Files with secrets, which only their owner may read.
#ifndef SERVER_AUTH_PRIVATE_FILE_H_
#define SERVER_AUTH_PRIVATE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::auth {

// Returns the content of a file of at most `max_bytes`. Never waits, whatever
// the name refers to. NOT_FOUND if the file does not exist; FAILED_PRECONDITION
// if it is a link, a pipe or a directory, belongs to another user, may be read
// or written by other users, or is too long.
absl::StatusOr<std::string> ReadPrivateFile(const std::string& name,
                                            size_t max_bytes);

// Replaces the file, whose mode becomes 0600. Writes a temporary file in the
// same directory and renames it, so that readers see all of the content or none
// and that a link is replaced, not followed. PERMISSION_DENIED or UNAVAILABLE,
// naming the file, if that fails; the file is unchanged then.
absl::Status WritePrivateFile(const std::string& name,
                              std::string_view content);

}  // namespace graphdbg::auth

#endif  // SERVER_AUTH_PRIVATE_FILE_H_
