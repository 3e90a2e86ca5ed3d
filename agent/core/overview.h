// Sends what the tensors at the borders of modules were like in each step, and
// how long its ops took.
#ifndef AGENT_CORE_OVERVIEW_H_
#define AGENT_CORE_OVERVIEW_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/core/op_timer.h"
#include "agent/core/outbox.h"
#include "agent/core/recording.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/kernels/statistics.h"
#include "proto/graphdbg/v1/overview.pb.h"

namespace graphdbg::agent {

inline constexpr size_t kQuantiles = 5;
// The quantiles 0.05, 0.25, 0.5, 0.75 and 0.95.
using Quantiles = std::array<float, kQuantiles>;

// Looks at 256 elements, evenly spread over the tensor, and of these at the
// finite ones. Absent if there are none, or the values are not in host memory.
std::optional<Quantiles> QuantilesOf(const graphdbg_tensor& tensor);

// Any thread.
class Overview {
 public:
  explicit Overview(Outbox* outbox) : outbox_(outbox) {}

  struct Tensor {
    uint32_t node = 0;
    v1::OverviewRole role = v1::OVERVIEW_ROLE_UNSPECIFIED;
    // Elements of the whole tensor.
    uint64_t count = 0;
    // These cover only the elements that were measured.
    Statistics statistics;
    std::optional<RecordedChange> change;
    std::optional<Quantiles> quantiles;
  };
  void Add(const Tensor& tensor) GRAPHDBG_EXCLUDES(mu_);

  struct Step {
    uint64_t step = 0;
    runs::Mode mode = runs::Mode::kUnknown;
    uint64_t unix_ns = 0;
    uint64_t duration_ns = 0;
    uint64_t measuring_ns = 0;
  };
  // Sends what was added since the step before and, if somebody shows them, the
  // times of the step's ops; nothing if there is neither.
  void EndStep(const Step& step, v1::OpTimes ops) GRAPHDBG_EXCLUDES(mu_);

  OpTimer& op_timer() { return op_timer_; }

  // Fills in all but what was measured.
  static void Describe(const Step& step, v1::OverviewStep* message);

 private:
  Outbox* const outbox_;
  OpTimer op_timer_;
  Mutex mu_;
  v1::OverviewStep message_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_OVERVIEW_H_
