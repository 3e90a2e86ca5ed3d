// Records of tensors on accelerators, whose values arrive later.
#ifndef AGENT_CORE_DEVICE_RECORDS_H_
#define AGENT_CORE_DEVICE_RECORDS_H_

#include <deque>
#include <functional>

#include "agent/base/mutex.h"
#include "agent/core/collections.h"
#include "agent/core/devices.h"
#include "agent/core/recording.h"
#include "agent/runtime/accelerator.h"

namespace graphdbg::agent {

// Measurements are enqueued on the stream of the op that made the tensor, so
// that the training thread does not wait for it. Results are taken in the order
// in which they were enqueued. Training threads.
class DeviceRecords {
 public:
  struct Result {
    RecordKey key;
    double grad_scale = 1;
    // The value passed to Begin.
    CollectionMask provisional = 0;
    // The statistics of the true values.
    Statistics statistics;
  };
  using Use = std::function<void(const Result&)>;

  // `devices` must outlive this.
  explicit DeviceRecords(Devices* devices) : devices_(devices) {}

  // Enqueues a measurement; `use` receives results that make room for it.
  // Returns false if the tensor is in host memory, or its device cannot do so.
  // `provisional` are the collections of which it is not known yet whether they
  // contain the tensor, if no other one does.
  bool Begin(const graphdbg_tensor& tensor, const RecordKey& key,
             double grad_scale, CollectionMask provisional, const Use& use)
      GRAPHDBG_EXCLUDES(mu_);
  // Waits for all results.
  void Finish(const Use& use) GRAPHDBG_EXCLUDES(mu_);

 private:
  struct Pending {
    Result result;
    runtime::Accelerator* device = nullptr;
    runtime::Stream stream = nullptr;
    runtime::Ticket ticket;
  };

  void TakeArrived(const Use& use) GRAPHDBG_REQUIRES(mu_);
  void TakeOldest(const Use& use) GRAPHDBG_REQUIRES(mu_);

  Devices* const devices_;
  Mutex mu_;
  std::deque<Pending> pending_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_DEVICE_RECORDS_H_
