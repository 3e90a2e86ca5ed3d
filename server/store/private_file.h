// Files that only their user may read.
#ifndef SERVER_STORE_PRIVATE_FILE_H_
#define SERVER_STORE_PRIVATE_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace graphdbg::store {

// Creates the file with mode 0600 unless it exists. It contains source lines of
// users' programs; SQLite creates its other files with the same mode. Must be
// called before SQLite opens the file, since closing the descriptor releases
// SQLite's locks. UNAVAILABLE, also if the path is a link.
absl::Status MakePrivate(const std::string& file);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_PRIVATE_FILE_H_
