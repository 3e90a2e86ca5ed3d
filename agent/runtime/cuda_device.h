// A GPU's statistics by graphdbg's own kernels.
#ifndef AGENT_RUNTIME_CUDA_DEVICE_H_
#define AGENT_RUNTIME_CUDA_DEVICE_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/kernels/cuda/launch.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/cuda_arena.h"
#include "agent/runtime/cuda_driver.h"
#include "agent/runtime/cuda_memory_pool.h"
#include "agent/runtime/cuda_module.h"

namespace graphdbg::runtime {

// Works in the device's primary context, which is the one that frameworks use.
// Holds a few MiB of the device's memory and as much pinned memory of the host,
// taken once. Kernels write their results to pinned memory, so that to look
// whether one is there asks the driver nothing.
class CudaDevice final : public Accelerator {
 public:
  // UNAVAILABLE: no driver, no such device, or no kernels for it; the message
  // says which.
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

  // With mu_ held.
  absl::Status TakeSlot(uint32_t blocks, Ticket* ticket);
  absl::Status LaunchBatch(DType dtype, cuda::Batch* batch, Stream stream);
  absl::Status LaunchStrided(const TensorView& view, const Layout& layout,
                             double start, double end, Stream stream,
                             Ticket* ticket);

  // Puts the stream's next work after all copies so far, of any stream.
  absl::Status AwaitCopies(Stream stream);

  uint32_t BlocksFor(int64_t bytes) const;
  // Waits for a result and frees its ticket.
  absl::Status Await(const Ticket& ticket, Stream stream, cuda::Result* result);
  absl::Status CheckWait(int result, const char* what);

  const CudaDriver* const driver_;
  const int device_;
  const uint32_t max_blocks_;
  void* context_ = nullptr;
  Stream own_stream_ = nullptr;
  // An event: the last copy is done and, as each waits for the one before, so
  // are all.
  void* copied_ = nullptr;
  CudaModule module_;
  CudaArena arena_;
  CudaMemoryPool copies_;
  std::atomic<bool> broken_{false};

  std::mutex mu_;
  // Guarded by mu_.
  absl::Status failure_;
  // Held while staging memory is in use.
  std::mutex staging_mu_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_CUDA_DEVICE_H_
