// Performs the actions of rules and watchpoints.
#ifndef SERVER_RULES_ACTIONS_H_
#define SERVER_RULES_ACTIONS_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/jobs/interfaces.h"
#include "server/model/action.h"

namespace graphdbg::rules {

// The finding or hit that causes actions.
struct Trigger {
  // "rule 'spike'" or "watchpoint 3".
  std::string source;
  uint32_t rank = 0;
  uint64_t step = 0;
  std::string message;
  // The node that a finding is about; empty for hits, and if there is none.
  std::string node = {};
};

// Thread-safe. Must outlive its work on the executor.
class ActionRunner {
 public:
  // `log` receives lines for the user, on any thread.
  ActionRunner(boost::asio::any_io_executor executor,
               std::function<void(std::string_view)> log)
      : executor_(std::move(executor)), log_(std::move(log)) {}

  // Performs the actions one after the other. Failures are logged.
  boost::asio::awaitable<void> Run(std::vector<model::Action> actions,
                                   std::shared_ptr<jobs::Job> job,
                                   Trigger trigger) const;
  // The same in the background.
  void Start(std::vector<model::Action> actions, std::shared_ptr<jobs::Job> job,
             Trigger trigger) const;

 private:
  // For one action.
  struct Performer;

  void Log(std::string_view line) const;

  const boost::asio::any_io_executor executor_;
  const std::function<void(std::string_view)> log_;
};

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_ACTIONS_H_
