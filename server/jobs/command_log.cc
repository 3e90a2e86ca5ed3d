#include "server/jobs/command_log.h"

#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {

uint64_t CommandLog::Open(const std::set<uint32_t>& ranks) {
  pending_[++last_id_].ranks = ranks;
  return last_id_;
}

std::optional<CommandResult> CommandLog::Answer(uint64_t id, uint32_t rank,
                                                const std::string& error) {
  auto it = pending_.find(id);
  if (it == pending_.end() || it->second.ranks.erase(rank) == 0) {
    return std::nullopt;
  }
  Pending& command = it->second;
  if (!error.empty()) {
    absl::StrAppend(&command.error, command.error.empty() ? "" : "; ", "rank ",
                    rank, ": ", error);
  }
  if (!command.ranks.empty()) return std::nullopt;
  CommandResult result{id, std::move(command.error)};
  pending_.erase(it);
  return result;
}

std::vector<CommandResult> CommandLog::Abandon(uint32_t rank,
                                               const std::string& error) {
  std::vector<uint64_t> ids;
  for (const auto& [id, command] : pending_) {
    if (command.ranks.count(rank) > 0) ids.push_back(id);
  }
  std::vector<CommandResult> results;
  for (uint64_t id : ids) {
    if (auto result = Answer(id, rank, error)) {
      results.push_back(*std::move(result));
    }
  }
  return results;
}

}  // namespace graphdbg::jobs
