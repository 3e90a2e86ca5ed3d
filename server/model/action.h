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

// Writes a bundle of the hit on the machine of the job, before the job goes on;
// for a finding, of the next execution of its node.
struct CaptureAction {
  bool operator==(const CaptureAction&) const = default;
};

using Action = std::variant<PauseAction, StopAction, LogAction, RecordAction,
                            CaptureAction>;

template <class Kind>
bool HasAction(const std::vector<Action>& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    return std::holds_alternative<Kind>(action);
  });
}

// Whether some action terminates the job.
inline bool Terminates(const std::vector<Action>& actions) {
  return HasAction<StopAction>(actions);
}

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_ACTION_H_
