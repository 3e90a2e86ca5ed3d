// The inputs of an execution as the checker sees them. Included by the
// checker's source files only.
#ifndef AGENT_CORE_CHECKER_INPUTS_H_
#define AGENT_CORE_CHECKER_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/core/checker.h"

namespace graphdbg::agent {

// Inputs are measured when they are first needed.
class Checker::Inputs {
 public:
  // `measured`, if not null, has the statistics of an execution whose inputs no
  // longer exist; otherwise their values are read. `running`: this thread has
  // just executed it.
  Inputs(const Execution& execution, Devices* devices, bool running,
         const StepStatistics* measured = nullptr)
      : execution_(execution),
        devices_(devices),
        running_(running),
        known_(measured) {}

  size_t size() const { return execution_.inputs.size(); }
  uint32_t node(size_t i) const { return execution_.inputs[i].node; }

  // Whether the input still has the values that the op read.
  bool Intact(size_t i) const {
    if (!execution_.has(GRAPHDBG_IN_PLACE)) return true;
    const graphdbg_tensor& input = execution_.inputs[i].tensor;
    for (size_t o = 0; o < execution_.outputs.size(); ++o) {
      if (SharesMemory(input, execution_.outputs[o])) return false;
    }
    return true;
  }

  // Null if it cannot be measured.
  conditions::TensorMeasurements* MeasurementsOf(size_t i, uint64_t step) {
    if (measured_.empty()) measured_.resize(size());
    std::unique_ptr<Measured>& measured = measured_[i];
    if (measured == nullptr) {
      const graphdbg_input& input = execution_.inputs[i];
      measured = known_ != nullptr
                     ? std::make_unique<Measured>(Known(input), step)
                     : std::make_unique<Measured>(devices_, input.tensor,
                                                  running_, step);
    }
    return measured->ok ? &measured->measurements : nullptr;
  }
  // Whether the values are read, rather than known statistics used.
  bool live() const { return known_ == nullptr; }

 private:
  struct Measured {
    Measured(Devices* devices, const graphdbg_tensor& tensor, bool running,
             uint64_t step)
        : view(ViewOf(tensor)),
          access(std::in_place, devices, tensor, running),
          measurements(&view, nullptr, step) {
      measurements.set_backend(access->backend());
      ok = access->ok() &&
           measurements.Measure({/*statistics=*/true, /*previous=*/false});
    }
    Measured(const Statistics* statistics, uint64_t step)
        : measurements(statistics != nullptr ? *statistics : Statistics(),
                       nullptr, step),
          ok(statistics != nullptr) {}

    const TensorView view;
    const std::optional<TensorAccess> access;
    conditions::TensorMeasurements measurements;
    bool ok;
  };

  const Statistics* Known(const graphdbg_input& input) const {
    const auto it = known_->find({input.node, input.slot});
    return it == known_->end() ? nullptr : &it->second;
  }

  const Execution& execution_;
  Devices* const devices_;
  const bool running_;
  const StepStatistics* const known_;
  std::vector<std::unique_ptr<Measured>> measured_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CHECKER_INPUTS_H_
