#include "server/jobs/command_sender.h"

#include <utility>

namespace graphdbg::jobs {

void CommandSender::Send(Rank& rank, const CommandOrder& order) {
  rank.link->Send(order);
  machine_.OnCommandSent(rank, order);
}

std::optional<CommandResult> CommandSender::OnOutcome(
    Rank& rank, const CommandOutcome& outcome) {
  std::string error(outcome.error.message());
  if (!outcome.error.ok() && error.empty()) error = "refused";
  auto result = log_.Answer(outcome.command_id, rank.hello.rank, error);
  machine_.OnCommandOutcome(rank, outcome);
  return result;
}

std::vector<CommandResult> CommandSender::Abandon(Rank& rank,
                                                  const std::string& reason) {
  rank.resuming_command = 0;
  return log_.Abandon(rank.hello.rank, reason);
}

}  // namespace graphdbg::jobs
