#include "server/jobs/command_log.h"

#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {

uint64_t CommandLog::Open(const std::set<uint32_t>& ranks) {
  open_[++last_id_].ranks = ranks;
  return last_id_;
}

std::optional<CommandEnd> CommandLog::Answer(uint64_t id, uint32_t rank,
                                             const std::string& error) {
  auto it = open_.find(id);
  if (it == open_.end() || it->second.ranks.erase(rank) == 0) {
    return std::nullopt;
  }
  Waiting& waiting = it->second;
  if (!error.empty()) {
    absl::StrAppend(&waiting.error, waiting.error.empty() ? "" : "; ", "rank ",
                    rank, ": ", error);
  }
  if (!waiting.ranks.empty()) return std::nullopt;
  CommandEnd end{id, std::move(waiting.error)};
  open_.erase(it);
  return end;
}

std::vector<CommandEnd> CommandLog::Drop(uint32_t rank,
                                         const std::string& error) {
  std::vector<uint64_t> ids;
  for (const auto& [id, waiting] : open_) {
    if (waiting.ranks.count(rank) > 0) ids.push_back(id);
  }
  std::vector<CommandEnd> ends;
  for (uint64_t id : ids) {
    if (auto end = Answer(id, rank, error)) ends.push_back(std::move(*end));
  }
  return ends;
}

}  // namespace graphdbg::jobs
