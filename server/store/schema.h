// Creates and migrates the tables of graphdbg.db.
#ifndef SERVER_STORE_SCHEMA_H_
#define SERVER_STORE_SCHEMA_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

enum class Access {
  kReadAndWrite,
  // Takes no room on the disk, and excludes other connections. The file must
  // have tables of the current version.
  kReadOnFullDisk,
};

// Opens or creates the file and migrates its tables to the current version.
// DATA_LOSS if the file is damaged; FAILED_PRECONDITION if it was written by a
// newer version or another program. In both cases the file is not changed.
absl::StatusOr<Database> OpenDatabase(const std::string& file,
                                      Access access = Access::kReadAndWrite);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_SCHEMA_H_
