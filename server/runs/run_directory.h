// The recorded runs of the directories that the server was started with.
#ifndef SERVER_RUNS_RUN_DIRECTORY_H_
#define SERVER_RUNS_RUN_DIRECTORY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/jobs/runs.h"

namespace graphdbg::recorded {

// The directory as the server's main program sees it. It has threads of its
// own, so that neither jobs nor other requests wait for files.
class RunDirectory : public jobs::RunDirectory {
 public:
  // Ends all checks and waits until no thread reads a run. Requests that still
  // wait are answered before.
  virtual void Stop() = 0;
};

// Each path is a run, or a directory of runs. Runs are named like their
// directories; a name that occurs again gets "~2", "~3". NOT_FOUND names a path
// that does not exist. `memory` may be null.
absl::StatusOr<std::unique_ptr<RunDirectory>> OpenRuns(
    std::vector<std::string> paths, std::shared_ptr<MemoryBudget> memory);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RUN_DIRECTORY_H_
