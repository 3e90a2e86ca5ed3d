#include "agent/core/changes.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/execution.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/tensor/dtype.h"
#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

absl::Status CannotChange(const std::string& why) {
  return wire::MakeError(absl::StatusCode::kFailedPrecondition, "cannot_change",
                         why);
}

// The elements of a slice as a tensor, which refers to `shape` and `strides`.
graphdbg_tensor ViewOfSlice(const graphdbg_tensor& tensor, const Slice& slice,
                            std::vector<int64_t>* shape,
                            std::vector<int64_t>* strides) {
  int64_t offset = 0;
  int64_t row_major = 1;
  for (size_t i = slice.size(); i-- > 0;) {
    const int64_t stride =
        tensor.strides != nullptr ? tensor.strides[i] : row_major;
    row_major *= tensor.shape[i];
    offset += slice[i].start * stride;
    if (slice[i].drop) continue;
    shape->insert(shape->begin(), slice[i].count);
    strides->insert(strides->begin(), slice[i].step * stride);
  }
  graphdbg_tensor view = tensor;
  const auto item = static_cast<int64_t>(ItemSize(ViewOf(tensor).dtype));
  view.data = static_cast<const char*>(tensor.data) + offset * item;
  view.ndim = static_cast<uint32_t>(shape->size());
  view.shape = shape->data();
  view.strides = strides->data();
  return view;
}

std::string Describe(const Statistics& of) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", part);
  };
  if (of.has_finite() && of.min == of.max) {
    add(absl::StrCat(of.min));
  } else if (of.has_finite()) {
    add(absl::StrCat(of.min, " to ", of.max, " (mean ", of.mean, ")"));
  }
  const std::pair<uint64_t, const char*> others[] = {
      {of.nan_count, "NaN"},
      {of.pos_inf_count, "inf"},
      {of.neg_inf_count, "-inf"}};
  for (const auto& [count, name] : others) {
    if (count == of.count) return name;
    if (count > 0) add(absl::StrCat(count, " ", name));
  }
  return text;
}

// Empty if the values cannot be read.
std::string DescribeValues(Devices* devices, const graphdbg_tensor& tensor) {
  if (devices == nullptr) return "";
  const TensorAccess access(devices, tensor, /*running=*/false);
  const TensorView view = ViewOf(tensor);
  Statistics statistics;
  const bool measured =
      access.ok() &&
      (access.backend() != nullptr
           ? access.backend()->ComputeStatistics(view, &statistics)
           : cpu::ComputeStatistics(view, &statistics));
  return measured ? Describe(statistics) : "";
}

}  // namespace

absl::StatusOr<std::string> AssignSlice(const Host& host, Devices* devices,
                                        const graphdbg_tensor& tensor,
                                        const Slice& slice,
                                        const std::vector<double>& values) {
  const auto elements = static_cast<size_t>(ElementCount(slice));
  if (tensor.data == nullptr || elements == 0) {
    return CannotChange("the slice has no elements");
  }
  if (values.size() != 1 && values.size() != elements) {
    return CannotChange(absl::StrCat(
        "the slice has ", elements, " elements, and there are ", values.size(),
        " values: give one for all of them, or one for each"));
  }
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  const graphdbg_tensor view = ViewOfSlice(tensor, slice, &shape, &strides);
  const std::string before = DescribeValues(devices, view);
  std::string text;
  if (!host.Assign(view, values, &text)) return CannotChange(text);
  const std::string after = DescribeValues(devices, view);
  const std::string subject =
      elements == 1 ? "1 element" : absl::StrCat(elements, " elements");
  if (!before.empty() && !after.empty()) {
    return absl::StrCat(subject, ", ", before, " -> ", after);
  }
  return values.size() == 1 ? absl::StrCat(subject, " set to ", values[0])
                            : absl::StrCat(subject, " set");
}

absl::StatusOr<std::string> ChangeTraining(const Host& host,
                                           const v1::ChangeRequest& request) {
  graphdbg_change change = {};
  change.struct_size = sizeof(change);
  change.optimizer = change.group = -1;
  switch (request.change_case()) {
    case v1::ChangeRequest::kSetLearningRate: {
      const auto& rate = request.set_learning_rate();
      change.kind = GRAPHDBG_SET_LEARNING_RATE;
      change.value = rate.value();
      if (rate.has_optimizer()) {
        change.optimizer = static_cast<int32_t>(rate.optimizer());
      }
      if (rate.has_group()) change.group = static_cast<int32_t>(rate.group());
      break;
    }
    case v1::ChangeRequest::kSkipStep:
      change.kind = GRAPHDBG_SKIP_STEP;
      break;
    case v1::ChangeRequest::kRestoreStep:
      change.kind = GRAPHDBG_RESTORE_STEP;
      break;
    default:
      return CannotChange("this agent does not know that change");
  }
  std::string text;
  if (!host.Change(change, &text)) return CannotChange(text);
  return text;
}

}  // namespace graphdbg::agent
