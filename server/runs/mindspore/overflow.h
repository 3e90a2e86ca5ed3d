// Findings of the overflow detection of an Ascend device, which asynchronous
// dumps save as JSON.
#ifndef SERVER_RUNS_MINDSPORE_OVERFLOW_H_
#define SERVER_RUNS_MINDSPORE_OVERFLOW_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "server/model/watch.h"

namespace graphdbg::dumps {

inline constexpr uint64_t kMaxOverflowBytes = uint64_t{1} << 20;

// The op that overflowed, by the numbers in the names of its files.
struct OverflowTask {
  uint64_t task = 0;
  uint64_t stream = 0;
};

// Units of the device that report an overflow. Empty if the text is no such
// JSON.
std::vector<OverflowTask> ParseOverflow(std::string_view json);

// The condition of hits that the device has found.
std::shared_ptr<const model::Condition> OverflowCondition();

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_OVERFLOW_H_
