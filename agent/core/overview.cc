#include "agent/core/overview.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "agent/core/execution.h"
#include "agent/kernels/cpu/chunk.h"
#include "agent/tensor/dtype.h"
#include "agent/tensor/tensor_view.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

constexpr int64_t kQuantileElements = 256;
constexpr std::array<double, kQuantiles> kRanks = {0.05, 0.25, 0.5, 0.75, 0.95};

// The offset of an element, whose index is in row-major order.
int64_t OffsetOf(const TensorView& view, int64_t index) {
  if (view.strides == nullptr) return index;
  int64_t offset = 0;
  for (size_t i = view.ndim; i-- > 0;) {
    offset += index % view.shape[i] * view.strides[i];
    index /= view.shape[i];
  }
  return offset;
}

}  // namespace

std::optional<Quantiles> QuantilesOf(const graphdbg_tensor& tensor) {
  if (tensor.device != GRAPHDBG_CPU || !HasValues(tensor)) return std::nullopt;
  const TensorView view = ViewOf(tensor);
  const std::optional<int64_t> count = view.element_count();
  if (!count || *count == 0 || !HasStatistics(view.dtype)) return std::nullopt;
  const auto* const data = static_cast<const char*>(view.data);
  const auto size = static_cast<int64_t>(ItemSize(view.dtype));
  const int64_t taken = std::min(*count, kQuantileElements);
  std::array<float, kQuantileElements> values;
  size_t finite = 0;
  for (int64_t i = 0; i < taken; ++i) {
    const int64_t offset = OffsetOf(view, i * *count / taken);
    const auto value = static_cast<float>(
        cpu::ElementAsDouble(view.dtype, data + offset * size));
    if (std::isfinite(value)) values[finite++] = value;
  }
  if (finite == 0) return std::nullopt;
  Quantiles quantiles;
  // Each is found among the values behind the one before, which takes half as
  // long as sorting them all.
  auto rest = values.begin();
  for (size_t i = 0; i < kQuantiles; ++i) {
    const double rank = kRanks[i] * static_cast<double>(finite - 1);
    const auto at = values.begin() + std::lround(rank);
    std::nth_element(rest, at, values.begin() + finite);
    quantiles[i] = *at;
    rest = at;
  }
  return quantiles;
}

void Overview::Add(const Tensor& tensor) {
  const Statistics& all = tensor.statistics;
  MutexLock lock(&mu_);
  if (message_.tensors_size() >= wire::kMaxOverviewTensors) return;
  v1::OverviewTensor& added = *message_.add_tensors();
  added.set_node_id(tensor.node);
  added.set_role(tensor.role);
  added.set_count(tensor.count);
  added.set_measured(all.count);
  added.set_nan_count(all.nan_count);
  added.set_inf_count(all.inf_count());
  added.set_zero_count(all.zero_count);
  if (all.has_finite()) {
    added.set_mean(static_cast<float>(all.mean));
    added.set_abs_mean(static_cast<float>(all.abs_mean));
    added.set_min(static_cast<float>(all.min));
    added.set_max(static_cast<float>(all.max));
    added.set_deviation(static_cast<float>(std::sqrt(all.variance)));
    const double factor = std::sqrt(static_cast<double>(tensor.count) /
                                    static_cast<double>(all.count));
    added.set_l2(static_cast<float>(all.l2 * factor));
  }
  if (tensor.change && tensor.change->previous_step != 0 &&
      tensor.change->pair.previous_l2 > 0) {
    const PairStatistics& pair = tensor.change->pair;
    added.set_change(static_cast<float>(pair.change_l2 / pair.previous_l2));
  }
  if (!tensor.quantiles) return;
  for (const float quantile : *tensor.quantiles) added.add_quantiles(quantile);
}

void Overview::Describe(const Step& step, v1::OverviewStep* message) {
  message->set_step(step.step);
  message->set_mode(std::string(runs::ToString(step.mode)));
  message->set_unix_ns(static_cast<int64_t>(step.unix_ns));
  message->set_duration_ns(step.duration_ns);
  message->set_measuring_ns(step.measuring_ns);
}

void Overview::EndStep(const Step& step, v1::OpTimes ops) {
  if (!op_timer_.wanted()) ops.Clear();
  v1::OverviewStep message;
  {
    MutexLock lock(&mu_);
    if (message_.tensors().empty() && ops.node_ids().empty()) return;
    message.Swap(&message_);
  }
  if (!ops.node_ids().empty()) *message.mutable_ops() = std::move(ops);
  Describe(step, &message);
  outbox_->PutOverview(std::move(message));
}

}  // namespace graphdbg::agent
