// What outlives the server: one SQLite file, graphdbg.db, in its data
// directory.
#ifndef SERVER_STORE_STORE_H_
#define SERVER_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/jobs/journal.h"

namespace graphdbg::store {

struct StoreOptions {
  // Above this Journal::over_limit is true.
  uint64_t max_bytes = uint64_t{10} << 30;
  // A line if writing fails; called on a thread of the store.
  std::function<void(std::string_view line)> log;
};

// The directory exists. Errors are lines for the user and leave the file as it
// is: DATA_LOSS if it is damaged, FAILED_PRECONDITION if it is of a newer
// version, or if another server uses the directory.
absl::StatusOr<std::shared_ptr<jobs::Journal>> OpenStore(
    const std::string& data_dir, StoreOptions options = {});

}  // namespace graphdbg::store

#endif  // SERVER_STORE_STORE_H_
