// The JSON files of a run: run.json, rank.json and collections.jsonl.
#ifndef SERVER_RUNS_RUN_INFO_H_
#define SERVER_RUNS_RUN_INFO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/runs/headers.h"
#include "server/model/job.h"
#include "server/model/run.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {

inline constexpr uint64_t kMaxJsonBytes = uint64_t{16} << 20;

struct RunInfo {
  std::string program;
  std::string resumes;
  int64_t started_unix_nano = 0;
  uint32_t world_size = 1;
};

// How a rank ended.
struct RankEnd {
  // "exit", "exception", "terminated" or "closed".
  std::string reason;
  std::optional<int32_t> exit_code;
  std::optional<model::Exception> exception;
};

struct RankInfo {
  std::string job_name;
  std::string program;
  std::string framework;
  std::string framework_version;
  std::string device;
  int32_t device_id = 0;
  std::string host;
  uint64_t pid = 0;
  uint32_t world_size = 1;
  int64_t started_unix_nano = 0;
  // An absolute path. Empty: in the rank's directory.
  std::string ring_path;
  // Of the process. All zeros if that is not known.
  runs::Incarnation incarnation{};
  // Names and levels of the collections, in the order of the configuration.
  std::vector<model::Collection> collections;
  // Absent while it records, and if the process died.
  std::optional<RankEnd> ended;
};

// Fields that are missing or of another type have their defaults. DATA_LOSS if
// the text is no JSON object, or of a later version of the format.
absl::StatusOr<RunInfo> ParseRunInfo(std::string_view text);
absl::StatusOr<RankInfo> ParseRankInfo(std::string_view text);

// Which tensors each collection selected, by name of the collection. Lines that
// cannot be read are passed over: the last one may be incomplete.
std::map<std::string, std::vector<TensorKey>> ParseCollections(
    std::string_view lines);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RUN_INFO_H_
