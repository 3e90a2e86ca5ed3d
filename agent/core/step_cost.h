// What recording a step costs the program.
#ifndef AGENT_CORE_STEP_COST_H_
#define AGENT_CORE_STEP_COST_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace graphdbg::agent {

// Most of the cost for small ops is not spent in the agent's own functions: the
// framework takes longer to call an op that is followed, and all code runs more
// slowly because less of it stays in the caches, also in the steps that follow:
// in each of them by about a third of what it was in the one before. Therefore,
// steps that are recorded and those that follow one are compared with the
// others, once there are some of each. Until then, the cost is estimated from
// the number of ops.
//
// Not thread-safe.
class StepCost {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  // A step ended that took this long, without the stop at the end of the one
  // before. Must be called for steps only that can be compared with others.
  void AddStep(bool recorded, Nanoseconds duration);

  // The cost of a recorded step with this many ops, in which measuring took
  // this long; never less than that. Bounded by the number of ops, because
  // stops within steps make some of them longer at random.
  Nanoseconds Of(Nanoseconds measuring, uint64_t ops) const;

 private:
  // The durations of the last steps of one kind.
  class Durations {
   public:
    void Add(Nanoseconds duration);
    // The median: other load on the machine makes some steps much longer.
    // Absent until there are some.
    std::optional<Nanoseconds> Typical() const;

   private:
    static constexpr size_t kSteps = 32;
    std::array<Nanoseconds, kSteps> last_{};
    size_t count_ = 0;
  };

  // So many steps behind a recorded one are slower.
  static constexpr size_t kFollowers = 4;

  // The typical duration of steps that recording does not slow down.
  std::optional<Nanoseconds> Base() const;

  Durations recorded_;
  // Not recorded, by how many steps there are between it and the recorded one.
  std::array<Durations, kFollowers> followers_;
  Durations others_;
  // Steps since the last recorded one.
  size_t since_recorded_ = kFollowers;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_STEP_COST_H_
