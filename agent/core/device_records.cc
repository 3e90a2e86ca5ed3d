#include "agent/core/device_records.h"

#include <utility>
#include <vector>

#include "agent/core/execution.h"
#include "agent/tensor/complex_parts.h"

namespace graphdbg::agent {

bool DeviceRecords::Begin(const graphdbg_tensor& tensor, const RecordKey& key,
                          double grad_scale, CollectionMask provisional,
                          const Use& use) {
  if (tensor.device == GRAPHDBG_CPU) return false;
  const TensorView view = ViewOf(tensor);
  Pending pending;
  pending.device = devices_->OnStream(tensor, &pending.stream);
  if (pending.device == nullptr || ComplexParts::IsApplicable(view)) {
    return false;
  }
  pending.result = {key, grad_scale, provisional, {}};
  MutexLock lock(&mu_);
  std::vector<runtime::Ticket> tickets;
  absl::Status launched =
      pending.device->Launch({view}, pending.stream, &tickets);
  // A device that is far behind has no room for more: its oldest results make
  // some.
  while (absl::IsResourceExhausted(launched) && !pending_.empty()) {
    TakeOldest(use);
    TakeArrived(use);
    launched = pending.device->Launch({view}, pending.stream, &tickets);
  }
  if (!launched.ok()) return false;
  pending.ticket = tickets.front();
  pending_.push_back(std::move(pending));
  return true;
}

void DeviceRecords::Finish(const Use& use) {
  MutexLock lock(&mu_);
  while (!pending_.empty()) TakeOldest(use);
}

void DeviceRecords::TakeArrived(const Use& use) {
  while (!pending_.empty() &&
         pending_.front().device->Done(pending_.front().ticket)) {
    TakeOldest(use);
  }
}

void DeviceRecords::TakeOldest(const Use& use) {
  Pending oldest = std::move(pending_.front());
  pending_.pop_front();
  if (!oldest.device->Done(oldest.ticket)) {
    oldest.device->Synchronize(oldest.stream).IgnoreError();
  }
  // A device that failed has no result; its error has been reported.
  const bool arrived = oldest.device->Done(oldest.ticket);
  oldest.result.statistics = oldest.device->Take(oldest.ticket);
  if (!arrived) return;
  if (oldest.result.grad_scale != 1) {
    oldest.result.statistics.DivideBy(oldest.result.grad_scale);
  }
  use(oldest.result);
}

}  // namespace graphdbg::agent
