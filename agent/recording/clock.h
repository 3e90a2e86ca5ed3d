// Times as records have them.
#ifndef AGENT_RECORDING_CLOCK_H_
#define AGENT_RECORDING_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace graphdbg::recording {

inline uint64_t UnixNanoseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_CLOCK_H_
