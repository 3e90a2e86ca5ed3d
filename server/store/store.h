// The store of jobs: an SQLite file, graphdbg.db, in the server's data
// directory.
#ifndef SERVER_STORE_STORE_H_
#define SERVER_STORE_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/jobs/journal.h"

namespace graphdbg::store {

struct StoreOptions {
  // Journal::over_limit is true above this size.
  uint64_t max_bytes = uint64_t{10} << 30;
  // Receives a line when writing begins to fail and when it works again. Called
  // on a thread of the store.
  std::function<void(std::string_view line)> log;
  // Size of other files that count in `max_bytes`. Called on any thread. May be
  // null.
  std::function<uint64_t()> other_bytes = nullptr;
  // How much may wait to be written, and the pauses between attempts while
  // writing fails; see WriterOptions.
  uint64_t max_waiting_bytes = uint64_t{64} << 20;
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5'000};
  // The memory budget of the server, which counts what waits. May be null.
  std::shared_ptr<MemoryBudget> memory = nullptr;
};

// Opens the store in an existing directory. If the disk is full but the jobs
// can be read, it is opened in the state in which writing fails. Other errors
// are messages for the user, and leave the file unchanged: DATA_LOSS if it is
// damaged, FAILED_PRECONDITION if a newer version wrote it or another server
// uses the directory.
absl::StatusOr<std::shared_ptr<jobs::Journal>> OpenStore(
    const std::string& data_dir, StoreOptions options = {});

}  // namespace graphdbg::store

#endif  // SERVER_STORE_STORE_H_
