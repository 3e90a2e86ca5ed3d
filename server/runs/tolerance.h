// The tolerance within which measures of a tensor in two runs are equal, if
// none is given: it follows from the data type and from how many elements an op
// reduces. agent/python/graphdbg/runs/tolerance.py does the same.
//
// A sum of n products in a format with unit roundoff u has a relative error of
// at most about n u (Higham, Accuracy and Stability of Numerical Algorithms,
// 2nd edition, section 3.1), and with high probability of a small constant
// times sqrt(n) u, because errors of both signs cancel out (Higham and Mary, A
// new approach to probabilistic rounding error analysis, 2019). Ops on formats
// of 16 and 8 bits sum in float32 and round the result once (Blanchard, Higham,
// Lopez, Mary and Pranesh, Mixed precision block fused multiply-add, 2020). The
// errors of training steps add up in the same way, which makes
//
//   rtol = 16 sqrt(steps) (u(result) + u(sum) sqrt(n)).
//
// Gradients that cancel out, such as that of a bias before a normalization,
// consist of rounding errors of larger numbers. Elements of gradients may
// therefore differ by 16 sqrt(steps) u(result) times the largest element of all
// gradients of parameters in the step, and those of weights in the same way
// with the largest weight. Adaptive optimizers make whole steps of such errors:
// what an optimizer computes from a gradient that is no larger than its error,
// and the parameter from then on, are not compared; and noisy_updates.h widens
// the tolerances of biases of which a part may be moved so.
#ifndef SERVER_RUNS_TOLERANCE_H_
#define SERVER_RUNS_TOLERANCE_H_

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "proto/runs/record.h"
#include "server/runs/compared_rank.h"
#include "server/runs/compared_side.h"
#include "server/runs/measures_apart.h"
#include "server/runs/noisy_updates.h"
#include "server/runs/updates.h"

namespace graphdbg::recorded {

// Estimates for one rank how many elements are summed for one of a tensor.
// Refers to what the constructor receives.
class Reductions {
 public:
  Reductions(const ComparedNodes& nodes, const Updates& updates)
      : nodes_(nodes), updates_(updates) {}

  // Also for what the tensor is a view of. Of a parameter and of what an
  // optimizer computes: for one of the gradient.
  double Of(uint32_t node, uint32_t slot);

 private:
  // `steps` is how far it lies behind what was asked for.
  double Behind(uint32_t node, uint32_t slot, size_t steps);
  double By(const ComparedNode& node, uint32_t slot) const;
  double SizeOf(uint32_t node, uint32_t slot) const;

  const ComparedNodes& nodes_;
  const Updates& updates_;
  // How far behind an op that reduces, such as a `sum`, there may be a `view`
  // of its result.
  static constexpr size_t kStepsBack = 4;
  // By node and slot.
  absl::flat_hash_map<uint64_t, double> known_;
  // Results of Behind() for each number of steps: runs are untrusted, and there
  // may be many ways to the same node.
  std::array<absl::flat_hash_map<uint64_t, double>, kStepsBack + 1> behind_;
};

// Not thread safe. Refers to what the constructor receives.
class DerivedTolerances {
 public:
  // `pairs` are the nodes of both sides that are the same.
  DerivedTolerances(const ComparedNodes& here, const ComparedNodes& there,
                    const std::vector<std::pair<uint32_t, uint32_t>>& pairs);

  // Prepares Of() for what was matched in the `steps`-th step that is compared.
  void Begin(std::span<const Matched> matched, uint64_t steps);
  // That of two records of statistics. Once for each, in order of execution.
  Allowance Of(const runs::Record& here, const runs::Record& there);

 private:
  // What a tensor is: another one, an intermediate gradient, one of a
  // parameter, or a parameter.
  enum class TensorKind { kOther, kGradient, kOfParameter, kWeight };

  TensorKind KindOf(uint32_t node) const;
  double RoundoffOf(const runs::Record& here, const runs::Record& there) const;
  double RelativeOf(const runs::Record& here, const runs::Record& there);
  double LargestOf(TensorKind kind) const {
    return kind == TensorKind::kWeight ? largest_weight_ : largest_gradient_;
  }
  // Whether it follows from gradients that consist of rounding errors.
  bool IsMovedByNoise(uint32_t node) const;

  const ComparedNodes& here_nodes_;
  const Updates here_updates_;
  const Updates there_updates_;
  NoisyUpdates noisy_;
  Reductions here_;
  Reductions there_;
  // The largest unit roundoff of ops that return another data type there; it
  // leaves its traces in all tensors.
  double least_ = 0;
  double scale_ = 0;
  // Of the step.
  double largest_gradient_ = 0;
  double largest_weight_ = 0;
  // The gradients of the step that consist of rounding errors.
  absl::flat_hash_set<uint32_t> noise_;
  // Parameters that such a gradient has moved in this step or before.
  absl::flat_hash_set<uint32_t> moved_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_TOLERANCE_H_
