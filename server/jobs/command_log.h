// Commands in progress, until every rank that received one has answered.
#ifndef SERVER_JOBS_COMMAND_LOG_H_
#define SERVER_JOBS_COMMAND_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace graphdbg::jobs {

// The outcome of a command.
struct CommandResult {
  uint64_t id = 0;
  // Empty if the command took effect on all ranks; otherwise names the ranks
  // that refused it, with their reasons.
  std::string error;
};

// Not thread safe.
class CommandLog {
 public:
  // The first command gets the id after `last_id`.
  explicit CommandLog(uint64_t last_id = 0) : last_id_(last_id) {}

  // Registers a command that goes to `ranks`, and returns its id.
  uint64_t Open(const std::set<uint32_t>& ranks);

  // Records a rank's answer; an empty `error` means that the command took
  // effect. Returns the result once all ranks have answered.
  std::optional<CommandResult> Answer(uint64_t id, uint32_t rank,
                                      const std::string& error);

  // Records `error` as the rank's answer to every command that it has not
  // answered, and returns the results of commands that this completes.
  std::vector<CommandResult> Abandon(uint32_t rank, const std::string& error);

 private:
  struct Pending {
    // The ranks that have not answered.
    std::set<uint32_t> ranks;
    std::string error;
  };

  uint64_t last_id_;
  std::map<uint64_t, Pending> pending_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_COMMAND_LOG_H_
