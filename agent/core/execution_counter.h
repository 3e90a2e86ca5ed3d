// Numbers the program's steps and the executions within each step.
#ifndef AGENT_CORE_EXECUTION_COUNTER_H_
#define AGENT_CORE_EXECUTION_COUNTER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace graphdbg::agent {

// Lock-free, because it is updated on every execution. Training threads count
// and end steps; any thread may read.
class ExecutionCounter {
 public:
  uint64_t steps_ended() const { return steps_ended_.load(); }
  // The step in progress, from 1.
  uint64_t current_step() const { return steps_ended() + 1; }

  // An op is about to execute, whether or not the agent follows it.
  void Count() { executions_.fetch_add(1, std::memory_order_relaxed); }

  // The value that NextOrder would return.
  uint64_t expected_order() const {
    return std::max(executions_.load(), last_order_.load() + 1);
  }

  // Returns the position of an execution within its step: the number of
  // executions counted so far, but always more than the last one returned.
  uint64_t NextOrder() {
    uint64_t last = last_order_.load();
    uint64_t order;
    do {
      order = std::max(executions_.load(), last + 1);
    } while (!last_order_.compare_exchange_weak(last, order));
    return order;
  }

  void EndStep() { steps_ended_.fetch_add(1); }
  // Positions start from 1 again. Called once the work at the end of a step is
  // done, which still uses positions of that step.
  void RestartOrder() {
    executions_ = 0;
    last_order_ = 0;
  }

 private:
  std::atomic<uint64_t> steps_ended_{0};
  std::atomic<uint64_t> executions_{0};
  std::atomic<uint64_t> last_order_{0};
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_EXECUTION_COUNTER_H_
