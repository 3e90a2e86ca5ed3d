// An Ascend NPU. Values are copied to the host in pieces and measured there.
#ifndef AGENT_RUNTIME_ACL_DEVICE_H_
#define AGENT_RUNTIME_ACL_DEVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/runtime/accelerator.h"
#include "agent/runtime/acl_driver.h"
#include "agent/tensor/layout.h"

namespace graphdbg::runtime {

// Has no kernels, so every measurement waits. Uses pinned staging memory of
// fixed size on the host and 64 bytes on the device.
class AclDevice final : public Accelerator {
 public:
  // Must be called on a thread that has used the device. Returns UNAVAILABLE,
  // with the reason, if there is no library, device, or context of the
  // framework.
  static absl::StatusOr<std::unique_ptr<AclDevice>> Open(int ordinal);
  ~AclDevice() override;

  absl::Status Measure(const TensorView& view, Stream stream,
                       Statistics* statistics) override;
  absl::Status CountInRange(const TensorView& view, double start, double end,
                            Stream stream, uint64_t* count) override;
  // Always returns UNIMPLEMENTED: previous values are kept on the host.
  absl::Status Compare(const TensorView& now, const TensorView& previous,
                       const Tolerance& tolerance, Stream stream,
                       PairStatistics* statistics, uint64_t* changed) override;
  // Always returns UNIMPLEMENTED.
  absl::Status Launch(const std::vector<TensorView>& views, Stream stream,
                      std::vector<Ticket>* tickets) override;
  bool Done(const Ticket&) const override { return true; }
  Statistics Take(const Ticket& ticket) override { return ticket.known; }
  absl::Status Synchronize(Stream stream) override;
  absl::Status SynchronizeAll() override;
  bool Capturing(Stream) override { return false; }
  absl::Status Read(const TensorView& view, const Slice& slice, int64_t first,
                    int64_t count, std::string* out) override;
  // Always returns UNIMPLEMENTED: previous values are kept on the host.
  absl::StatusOr<std::shared_ptr<DeviceCopy>> Copy(const TensorView& view,
                                                   Stream stream) override;
  int64_t arena_bytes() const override;

  absl::StatusOr<bool> TakeOverflowFlag(Stream stream) override;

 private:
  explicit AclDevice(const AclDriver* driver) : driver_(driver) {}
  absl::Status Prepare();

  // Calls visit(elements, n) for pieces of a layout's elements in host memory.
  using Visit = std::function<void(const char* elements, int64_t n)>;
  absl::Status Scan(const TensorView& view, const Layout& layout, Stream stream,
                    const Visit& visit) GRAPHDBG_REQUIRES(staging_mu_);
  absl::Status CopyToHost(void* to, const void* from, size_t bytes,
                          Stream stream);
  // Makes the framework's context current on this thread.
  absl::Status Enter();

  const AclDriver* const driver_;
  void* context_ = nullptr;
  Stream own_stream_ = nullptr;
  void* flag_ = nullptr;
  Mutex staging_mu_;
  char* staging_ GRAPHDBG_PT_GUARDED_BY(staging_mu_) = nullptr;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_ACL_DEVICE_H_
