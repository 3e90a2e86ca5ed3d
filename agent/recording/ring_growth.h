// Makes a ring as large as a number of steps needs.
#ifndef AGENT_RECORDING_RING_GROWTH_H_
#define AGENT_RECORDING_RING_GROWTH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/recording/ring.h"

namespace graphdbg::recording {

// How much a step needs is known when steps have ended. Until then, a ring that
// is half full doubles. A ring grows only before its first record is
// overwritten: afterwards, records would be in the wrong places.
class RingGrowth {
 public:
  // `ring` must outlive this. `steps`: 0 leaves the ring as it is. `log`
  // receives a line for the user.
  RingGrowth(Ring* ring, uint64_t steps,
             std::function<void(const std::string&)> log)
      : ring_(ring), steps_(steps), log_line_(std::move(log)) {}

  // A step has ended. Any thread, but one at a time.
  void EndStep();
  // Grows the ring if it has to. On the writer's thread.
  void Grow();

 private:
  // The bytes that the ring should have now; 0: it is large enough.
  uint64_t WantedBytes() const;
  void Stop(const std::string& reason);

  Ring* const ring_;
  uint64_t steps_;
  const std::function<void(const std::string&)> log_line_;

  // Where the last step ended, how many have, and the most records that one
  // had.
  uint64_t end_ = 0;
  std::atomic<uint64_t> ended_{0};
  std::atomic<uint64_t> most_records_{0};
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_RING_GROWTH_H_
