// What happens to a job because of a hit of a watchpoint or a finding of a
// rule.
#ifndef SERVER_MODEL_ACTION_H_
#define SERVER_MODEL_ACTION_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace graphdbg::model {

// Pauses the job after the step that it is at.
struct PauseAction {
  bool operator==(const PauseAction&) const = default;
};

// Terminates the job.
struct StopAction {
  bool operator==(const StopAction&) const = default;
};

// Publishes a log line.
struct LogAction {
  bool operator==(const LogAction&) const = default;
};

enum class RecordLevel { kLight, kStatistics, kTensors };

// Records more for some steps, beside what the job records anyway.
struct RecordAction {
  RecordLevel level = RecordLevel::kTensors;
  // Empty: those that the job records.
  std::vector<std::string> collections;
  // From the next step on.
  uint32_t steps = 20;

  bool operator==(const RecordAction&) const = default;
};

using Action = std::variant<PauseAction, StopAction, LogAction, RecordAction>;

// Whether some action terminates the job.
inline bool Terminates(const std::vector<Action>& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    return std::holds_alternative<StopAction>(action);
  });
}

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_ACTION_H_
