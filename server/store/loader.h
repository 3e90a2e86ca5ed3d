// Jobs out of the database.
#ifndef SERVER_STORE_LOADER_H_
#define SERVER_STORE_LOADER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/jobs/journal.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

// Calls `each` with the key and all that is known of a job, but its journal,
// in the order in which jobs came. DATA_LOSS if a row makes no sense.
absl::Status LoadJobs(
    const Database& db,
    const std::function<absl::Status(int64_t key, jobs::SavedJob)>& each);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_LOADER_H_
