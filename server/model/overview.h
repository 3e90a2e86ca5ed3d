// What the tensors at the borders of a job's modules were like, over the steps.
#ifndef SERVER_MODEL_OVERVIEW_H_
#define SERVER_MODEL_OVERVIEW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphdbg::model {

// What is shown of each module in each step.
enum class OverviewMeasure {
  // The mean absolute value of the module's results.
  kActivation,
  // The share of zeros in them.
  kZeros,
  // NaNs and infinities in its results, gradients and parameters.
  kNonFinite,
  // The L2 norm of the gradients of its parameters.
  kGradient,
  // How much its parameters changed since the step before:
  // ||now - before|| / ||before||.
  kUpdate,
  // Milliseconds in the calls of the module's ops, forward and backward.
  kTime,
};
inline constexpr size_t kOverviewMeasures = 6;

struct OverviewStep {
  uint64_t step = 0;
  std::string mode;
  int64_t unix_nano = 0;
  uint64_t duration_ns = 0;
  // The part of it that measuring took.
  uint64_t measuring_ns = 0;
  // Absent if the step has no loss.
  std::optional<float> loss;
};

struct OverviewQuery {
  uint32_t rank = 0;
  // Only steps behind this one.
  std::optional<uint64_t> after;
};

// Modules and steps that can be shown.
struct OverviewSummary {
  uint32_t rank = 0;
  // The ranks that report an overview.
  std::vector<uint32_t> ranks;
  // The modules' scopes, in the order in which they were executed first.
  std::vector<std::string> modules;
  // Ascending.
  std::vector<OverviewStep> steps;
};

// One measure of all modules in steps that follow each other.
struct OverviewMatrix {
  uint64_t modules = 0;
  // The steps of the rows.
  std::vector<uint64_t> steps;
  // By step, then module. NaN: not measured.
  std::vector<float> values;
};

// The results of one module in a step.
struct OverviewPoint {
  uint64_t step = 0;
  // By OverviewMeasure. NaN: not measured.
  std::array<float, kOverviewMeasures> measures{};
  // Of the elements that are finite. NaN if there are none.
  float mean = 0;
  float deviation = 0;
  float min = 0;
  float max = 0;
  // The quantiles 0.05, 0.25, 0.5, 0.75 and 0.95. NaN: not measured.
  std::array<float, 5> quantiles{};
};

// The call of an op. A kernel on an accelerator runs later.
struct OverviewOp {
  std::string node;
  std::string op_type;
  // From 0, in the order in which threads called their first op of the step.
  uint32_t thread = 0;
  // Since the begin of the step.
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
};

// The ops of one step.
struct OverviewOps {
  // 0 if no step is kept.
  uint64_t step = 0;
  uint64_t duration_ns = 0;
  // The steps whose ops are kept. Ascending.
  std::vector<uint64_t> steps;
  // By begin.
  std::vector<OverviewOp> ops;
  // Ops of the step beyond the limit.
  uint64_t left_out = 0;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_OVERVIEW_H_
