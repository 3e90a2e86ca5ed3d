// Tensors as the server reports them: types, statistics, values.
#ifndef SERVER_MODEL_TENSOR_H_
#define SERVER_MODEL_TENSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/kernels/quantiles.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::model {

// Element type and shape of a tensor.
struct TensorType {
  // kUnspecified if it is unknown.
  DType dtype = DType::kUnspecified;
  std::vector<int64_t> shape;
  // The framework's own name of the type if `dtype` is kOther. May be empty.
  std::string framework_dtype = {};

  bool operator==(const TensorType&) const = default;
};

// The name of the element type in the HTTP API, in files and in messages:
// "float32", "bfloat16", "other:torch.quint8". Empty if it is unknown.
std::string DTypeName(const TensorType& type);

// The inverse of DTypeName. Any other name becomes the framework's own.
TensorType ParseTensorType(std::string_view dtype_name,
                           std::vector<int64_t> shape);

// One output slot of a node.
struct Output {
  uint32_t slot = 0;
  TensorType type;

  bool operator==(const Output&) const = default;
};

// The tensor at one end of an edge: an output slot of a node.
struct Endpoint {
  std::string node;
  uint32_t slot = 0;
  TensorType type;
};

// Statistics of one tensor. Counts cover all elements; the values from min to
// l2 cover the finite elements, are accumulated in float64, and are absent if
// there are no finite elements or the agent did not report them.
struct Statistics {
  uint64_t count = 0;
  uint64_t nan_count = 0;
  uint64_t pos_inf_count = 0;
  uint64_t neg_inf_count = 0;
  uint64_t zero_count = 0;
  uint64_t negative_count = 0;
  uint64_t positive_count = 0;
  std::optional<double> min, max, mean, abs_mean, abs_max, variance, l1, l2;
};

// The bundle of a hit: its op and those that led to it, as a file.
struct BundleQuery {
  // All queries of the same bundle have the same. One without data makes it,
  // and the others read slices of it.
  std::string id;
  uint64_t step = 0;
  // The hit as JSON.
  std::string hit;
};

// Repeats the op of a hit in other ways, in the paused process.
struct ExperimentQuery {
  // 0: the step in progress.
  uint64_t step = 0;
  // The hit as JSON.
  std::string hit;
  // Ids; empty: all that make a difference.
  std::vector<std::string> experiments;
};

// A change of a paused job.
struct SetValues {
  // One for all elements of the slice, or as many as it has, row-major.
  std::vector<double> values;
};
struct SetLearningRate {
  double value = 0;
  // Absent: all.
  std::optional<uint32_t> optimizer;
  std::optional<uint32_t> group;
};
// The next step of the optimizers does nothing.
struct SkipStep {};
// What this step has overwritten gets the values that it had before.
struct RestoreStep {};
using JobChange =
    std::variant<SetValues, SetLearningRate, SkipStep, RestoreStep>;

// A request for a tensor's values, statistics, or both.
struct TensorQuery {
  std::string node;
  uint32_t slot = 0;
  uint32_t rank = 0;
  enum class Version { kCurrent, kPrevious, kStep } version = Version::kCurrent;
  // Used with Version::kStep only.
  uint64_t step = 0;
  // NumPy basic indexing, with or without brackets. Empty selects everything.
  std::string slice;
  bool want_data = true;
  bool want_statistics = false;
  // Besides statistics, which must be wanted, too.
  bool want_quantiles = false;
  // Larger slices are refused. 0: no limit.
  uint64_t max_elements = 0;
  uint64_t max_bytes = 0;
  // Asks for a bundle of a hit at the tensor instead, as a vector of uint8.
  std::optional<BundleQuery> bundle = {};
  // These, too, are answered by a vector of uint8, a JSON object. All but
  // SetValues concern no tensor: then `node` is empty.
  std::optional<ExperimentQuery> experiment = {};
  std::optional<JobChange> change = {};
  // The user who orders the change.
  std::string changed_by = {};
};

// The answer to a TensorQuery.
struct TensorValue {
  std::string node;
  uint32_t slot = 0;
  uint32_t rank = 0;
  uint64_t step = 0;
  TensorType type;
  std::vector<int64_t> slice_shape;
  // The slice's elements: little-endian, row-major.
  std::string data;
  // The tensor was modified in place after the node produced it.
  bool overwritten = false;
  // The factor by which a scaled loss has enlarged this gradient. 0: not
  // scaled.
  double grad_scale = 0;
  std::optional<Statistics> statistics;
  // Absent if they were not wanted, there are no finite elements, or there are
  // no values to compute them from.
  std::optional<Quantiles> quantiles;
  // How many times the rank had resumed before this answer. Answers with the
  // same number come from the same stop.
  uint64_t stops_left = 0;
  // Counts `data` in the server's memory budget; keep it for as long as the
  // data. May be null.
  std::shared_ptr<const void> memory;
};

// One input or output of a node, as listed by GET /tensors.
struct TensorSummary {
  // "input" or "output".
  std::string role;
  Endpoint tensor;
  // Output slot, or argument position of an input.
  uint32_t index = 0;
  // The most recent known statistics, and the step they belong to.
  std::optional<Statistics> statistics;
  uint64_t statistics_step = 0;
};

// Statistics of a tensor at one step.
struct StatisticsPoint {
  uint64_t step = 0;
  Statistics statistics;
};

// The known statistics of one tensor on one rank, in ascending order of steps.
struct TensorHistory {
  Endpoint tensor;
  std::vector<StatisticsPoint> points;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_TENSOR_H_
