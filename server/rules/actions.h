// Carries out what a job does about findings of rules and hits of watchpoints.
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

// What the actions are about.
struct Occasion {
  // "rule 'spike'" or "watchpoint 3".
  std::string who;
  uint32_t rank = 0;
  uint64_t step = 0;
  std::string message;
};

// Thread-safe. Exists as long as something runs on the executor.
class ActionRunner {
 public:
  // `log` receives lines for the user, on any thread.
  ActionRunner(boost::asio::any_io_executor executor,
               std::function<void(std::string_view)> log)
      : executor_(std::move(executor)), log_(std::move(log)) {}

  // Carries out the actions one after the other. What cannot be done is logged.
  boost::asio::awaitable<void> Run(std::vector<model::Action> actions,
                                   std::shared_ptr<jobs::Job> job,
                                   Occasion occasion) const;
  // The same in the background.
  void Start(std::vector<model::Action> actions, std::shared_ptr<jobs::Job> job,
             Occasion occasion) const;

 private:
  // For one action.
  struct Performer;

  void Log(std::string_view line) const;

  const boost::asio::any_io_executor executor_;
  const std::function<void(std::string_view)> log_;
};

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_ACTIONS_H_
