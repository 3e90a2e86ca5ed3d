// Commands that are under way, until each rank they went to has answered.
#ifndef SERVER_JOBS_COMMAND_LOG_H_
#define SERVER_JOBS_COMMAND_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace graphdbg::jobs {

// What became of a command.
struct CommandEnd {
  uint64_t id = 0;
  // Empty if it took effect on all ranks; else which rank refused, and why.
  std::string error;
};

// Not thread safe.
class CommandLog {
 public:
  // The first command gets the id after `before`.
  explicit CommandLog(uint64_t before = 0) : last_id_(before) {}

  // Returns the id.
  uint64_t Open(const std::set<uint32_t>& ranks);

  // A rank's answer; empty `error`: it took effect. Returns the end once all
  // ranks have answered.
  std::optional<CommandEnd> Answer(uint64_t id, uint32_t rank,
                                   const std::string& error);

  // The rank answers nothing any more.
  std::vector<CommandEnd> Drop(uint32_t rank, const std::string& error);

 private:
  struct Waiting {
    std::set<uint32_t> ranks;
    std::string error;
  };

  uint64_t last_id_;
  std::map<uint64_t, Waiting> open_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_COMMAND_LOG_H_
