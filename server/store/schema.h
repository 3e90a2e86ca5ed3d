// The tables of graphdbg.db and their versions.
#ifndef SERVER_STORE_SCHEMA_H_
#define SERVER_STORE_SCHEMA_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

// Opens the file, or makes it, and brings its tables to this version.
// DATA_LOSS if it is damaged, FAILED_PRECONDITION if it is of a later version
// or another program's; the file stays as it is then.
absl::StatusOr<Database> OpenDatabase(const std::string& file);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_SCHEMA_H_
