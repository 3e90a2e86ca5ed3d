// Loads jobs from the database.
#ifndef SERVER_STORE_LOADER_H_
#define SERVER_STORE_LOADER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "server/jobs/journal.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

// Calls `each` for every job, in the order in which jobs were created, with the
// job's key and its data except the journal. Rows that cannot be read are left
// out; SavedJob::damage names the first of them. DATA_LOSS if the jobs cannot
// be listed.
absl::Status LoadJobs(
    const Database& db,
    const std::function<void(int64_t key, jobs::SavedJob)>& each);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_LOADER_H_
