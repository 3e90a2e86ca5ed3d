// A GPU, measured by graphdbg's own kernels.
#ifndef AGENT_RUNTIME_CUDA_DEVICE_H_
#define AGENT_RUNTIME_CUDA_DEVICE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/kernels/cuda/launch.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_arena.h"
#include "agent/runtime/cuda_driver.h"
#include "agent/runtime/cuda_memory_pool.h"
#include "agent/runtime/cuda_module.h"

namespace graphdbg::runtime {

// Uses the device's primary context, as frameworks do. Allocates a few MiB of
// device memory and of pinned host memory once. Kernels write their results to
// pinned memory, so that checking for a result needs no call to the driver.
class CudaDevice final : public Accelerator {
 public:
  // Returns UNAVAILABLE, with the reason, if there is no driver, no such
  // device, or no kernel for it.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(int ordinal);
  ~CudaDevice() override;

  absl::Status Measure(const TensorView& view, Stream stream,
                       Statistics* statistics) override;
  absl::Status CountInRange(const TensorView& view, double start, double end,
                            Stream stream, uint64_t* count) override;
  absl::Status Compare(const TensorView& now, const TensorView& previous,
                       const Tolerance& tolerance, Stream stream,
                       PairStatistics* statistics, uint64_t* changed) override;
  absl::Status Launch(const std::vector<TensorView>& views, Stream stream,
                      std::vector<Ticket>* tickets) override;
  bool Done(const Ticket& ticket) const override;
  Statistics Take(const Ticket& ticket) override;
  absl::Status Synchronize(Stream stream) override;
  absl::Status SynchronizeAll() override;
  absl::Status failure() override;
  bool Capturing(Stream stream) override;
  absl::Status Read(const TensorView& view, const Slice& slice, int64_t first,
                    int64_t count, std::string* out) override;
  absl::StatusOr<std::shared_ptr<DeviceCopy>> Copy(const TensorView& view,
                                                   Stream stream) override;
  int64_t arena_bytes() const override;

 private:
  CudaDevice(const CudaDriver* driver, int device, int multiprocessors);
  absl::Status Prepare();

  absl::Status AcquireSlot(uint32_t blocks, Ticket* ticket)
      GRAPHDBG_REQUIRES(mu_);
  absl::Status LaunchBatch(DType dtype, cuda::Batch* batch, Stream stream)
      GRAPHDBG_REQUIRES(mu_);
  absl::Status LaunchStrided(const TensorView& view, const Layout& layout,
                             double start, double end, Stream stream,
                             Ticket* ticket) GRAPHDBG_REQUIRES(mu_);

  // Orders subsequent work on the stream after all copies so far, on any
  // stream.
  absl::Status WaitForCopies(Stream stream) GRAPHDBG_REQUIRES(mu_);

  uint32_t BlocksFor(int64_t bytes) const;
  // Waits for a result and releases its ticket.
  absl::Status WaitForResult(const Ticket& ticket, Stream stream,
                             cuda::Result* result);
  // Records the error of a call that waited as permanent.
  absl::Status CheckWait(int result, const char* what);

  const CudaDriver* const driver_;
  const int device_;
  const uint32_t max_blocks_;
  void* context_ = nullptr;
  Stream own_stream_ = nullptr;
  // Event after the last copy. Copies wait for the previous one, so it implies
  // that all copies are complete.
  void* copied_ = nullptr;
  CudaModule module_;
  CudaArena arena_;
  CudaMemoryPool copies_;
  std::atomic<bool> broken_{false};

  Mutex mu_ GRAPHDBG_ACQUIRED_AFTER(staging_mu_);
  absl::Status failure_ GRAPHDBG_GUARDED_BY(mu_);
  // Protects the arena's staging memory.
  Mutex staging_mu_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_DEVICE_H_
