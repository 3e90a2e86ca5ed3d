// The recorded runs of a server that is built without them, for tools/dev demo,
// which needs none: reading them is a tenth of the server's code.
#include "absl/status/status.h"
#include "server/runs/run_directory.h"

namespace graphdbg::recorded {

absl::StatusOr<std::unique_ptr<RunDirectory>> OpenRuns(
    std::vector<std::string>, std::shared_ptr<MemoryBudget>) {
  return absl::UnimplementedError(
      "this server was built for the demo, without recorded runs; run "
      "tools/dev "
      "build");
}

}  // namespace graphdbg::recorded
