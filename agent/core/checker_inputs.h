// Of the checker's own files.
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

// The inputs of one execution, measured when first asked for.
class Checker::Inputs {
 public:
  // In the memory where they lie, or, of executions that are long over, as they
  // were `measured`.
  // `running`: this thread has executed it just now.
  Inputs(const Execution& execution, Devices* devices, bool running,
         const StepStatistics* measured = nullptr)
      : execution_(execution),
        devices_(devices),
        running_(running),
        known_(measured) {}

  size_t size() const { return execution_.inputs.size(); }
  uint32_t node(size_t i) const { return execution_.inputs[i].node; }

  // Whether it still holds what the op read.
  bool Intact(size_t i) const {
    if (!execution_.has(GRAPHDBG_IN_PLACE)) return true;
    const graphdbg_tensor& input = execution_.inputs[i].tensor;
    for (size_t o = 0; o < execution_.outputs.size(); ++o) {
      if (SharesMemory(input, execution_.outputs[o])) return false;
    }
    return true;
  }

  // Null if it cannot be measured.
  conditions::TensorMeasurements* Of(size_t i, uint64_t step) {
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
  // Whether they are looked at where they lie.
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
