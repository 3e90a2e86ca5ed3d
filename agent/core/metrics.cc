#include "agent/core/metrics.h"

#include <limits>

#include "agent/core/execution.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

// The value of a tensor's only element.
double OnlyValue(const Statistics& statistics) {
  if (statistics.nan_count > 0) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (statistics.pos_inf_count > 0) return infinity;
  if (statistics.neg_inf_count > 0) return -infinity;
  return statistics.mean;
}

}  // namespace

void Metrics::Set(absl::string_view name, const graphdbg_tensor& tensor) {
  if (tensor.device != GRAPHDBG_CPU || !HasValues(tensor)) return;
  const TensorView view = ViewOf(tensor);
  Statistics statistics;
  if (view.element_count() != 1 || !cpu::ComputeStatistics(view, &statistics)) {
    return;
  }
  MutexLock lock(&mu_);
  const auto known = values_.find(name);
  if (known != values_.end()) {
    known->second = OnlyValue(statistics);
    return;
  }
  const bool full = values_.size() >= wire::kMaxMetrics ||
                    name_bytes_ + name.size() > wire::kMaxTextBytes;
  if (full) return;
  name_bytes_ += name.size();
  values_.emplace(name, OnlyValue(statistics));
}

void Metrics::AddTo(v1::Goodbye* goodbye) const {
  MutexLock lock(&mu_);
  for (const auto& [name, value] : values_) {
    v1::Metric* const metric = goodbye->add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
}

}  // namespace graphdbg::agent
