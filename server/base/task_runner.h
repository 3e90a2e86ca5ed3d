// Scheduling for the parts of an object that lives on a strand.
#ifndef SERVER_BASE_TASK_RUNNER_H_
#define SERVER_BASE_TASK_RUNNER_H_

#include <chrono>
#include <functional>
#include <memory>

namespace graphdbg {

// Gives the parts of an object the means to leave the object's strand and to
// come back to it. Implemented by the object that owns the strand, and by
// FakeTaskRunner in tests. All methods are called on the strand.
class TaskRunner {
 public:
  using Closure = std::function<void()>;

  virtual ~TaskRunner() = default;

  // Returns a function that any thread may call to run a task on the strand.
  // The strand's owner stays alive as long as the function or a task posted
  // through it exists.
  virtual std::function<void(Closure)> Poster() = 0;

  // Runs `task` on a thread of the pool, concurrently with the strand.
  virtual void RunInBackground(Closure task) = 0;

  // Runs `task` on the strand after `delay`. Destroying the returned handle, on
  // the strand, cancels the task. Does not keep the strand's owner alive.
  [[nodiscard]] virtual std::shared_ptr<void> RunAfter(
      std::chrono::milliseconds delay, Closure task) = 0;
};

}  // namespace graphdbg

#endif  // SERVER_BASE_TASK_RUNNER_H_
