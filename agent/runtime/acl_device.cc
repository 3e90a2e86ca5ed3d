#include "agent/runtime/acl_device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/kernels/cpu/pairs.h"
#include "agent/kernels/merge.h"
#include "agent/tensor/complex_parts.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {
namespace {

constexpr int64_t kStagingBytes = 8 << 20;
// Size of the buffer that the device writes its overflow flag to.
constexpr size_t kFlagBytes = 64;

absl::Status Unmeasurable() {
  return absl::UnimplementedError(
      "statistics of this tensor's type or layout are not supported");
}

TensorView Flat(DType dtype, const void* elements, const int64_t* count) {
  return {dtype, elements, 1, count, nullptr};
}

}  // namespace

absl::StatusOr<std::unique_ptr<AclDevice>> AclDevice::Open(int ordinal) {
  const auto& driver = AclDriver::Get();
  if (!driver.ok()) {
    return absl::UnavailableError(driver.status().message());
  }
  const AclDriver& acl = **driver;
  uint32_t count = 0;
  RETURN_IF_ERROR(acl.Check(acl.GetDeviceCount(&count), "aclrtGetDeviceCount"));
  if (ordinal < 0 || static_cast<uint32_t>(ordinal) >= count) {
    return absl::UnavailableError(
        absl::StrCat("NPU ", ordinal, " does not exist"));
  }
  std::unique_ptr<AclDevice> device(new AclDevice(&acl));
  RETURN_IF_ERROR(device->Prepare());
  return device;
}

absl::Status AclDevice::Prepare() {
  void* staging = nullptr;
  RETURN_IF_ERROR(driver_->Check(driver_->GetCurrentContext(&context_),
                                 "aclrtGetCurrentContext"));
  RETURN_IF_ERROR(
      driver_->Check(driver_->CreateStream(&own_stream_), "aclrtCreateStream"));
  RETURN_IF_ERROR(driver_->Check(driver_->MallocHost(&staging, kStagingBytes),
                                 "aclrtMallocHost"));
  staging_ = static_cast<char*>(staging);
  if (!driver_->has_overflow_flag()) return absl::OkStatus();
  return driver_->Check(driver_->Malloc(&flag_, kFlagBytes, kAclHugePagesFirst),
                        "aclrtMalloc");
}

AclDevice::~AclDevice() {
  if (context_ == nullptr || !Enter().ok()) return;
  if (flag_ != nullptr) driver_->Free(flag_);
  if (staging_ != nullptr) driver_->FreeHost(staging_);
  if (own_stream_ != nullptr) driver_->DestroyStream(own_stream_);
}

int64_t AclDevice::arena_bytes() const {
  return flag_ != nullptr ? static_cast<int64_t>(kFlagBytes) : 0;
}

absl::Status AclDevice::Enter() {
  return driver_->Check(driver_->SetCurrentContext(context_),
                        "aclrtSetCurrentContext");
}

absl::Status AclDevice::CopyToHost(void* to, const void* from, size_t bytes,
                                   Stream stream) {
  return driver_->Check(
      driver_->MemcpyAsync(to, bytes, from, bytes, kAclDeviceToHost, stream),
      "aclrtMemcpyAsync");
}

absl::Status AclDevice::Synchronize(Stream stream) {
  RETURN_IF_ERROR(Enter());
  return driver_->Check(driver_->SynchronizeStream(stream),
                        "aclrtSynchronizeStream");
}

absl::Status AclDevice::SynchronizeAll() {
  RETURN_IF_ERROR(Enter());
  return driver_->Check(driver_->SynchronizeDevice(), "aclrtSynchronizeDevice");
}

absl::Status AclDevice::Scan(const TensorView& view, const Layout& layout,
                             Stream stream, const Visit& visit) {
  RETURN_IF_ERROR(Enter());
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  const int64_t room = kStagingBytes / item_size;
  const int64_t run = layout.run_length();
  int64_t filled = 0;
  const auto flush = [&]() -> absl::Status {
    absl::Status synced = driver_->Check(driver_->SynchronizeStream(stream),
                                         "aclrtSynchronizeStream");
    if (synced.ok() && filled > 0) visit(staging_, filled);
    filled = 0;
    return synced;
  };
  for (RunWalker walker(layout, static_cast<size_t>(item_size)); !walker.done();
       walker.Next()) {
    for (int64_t done = 0; done < run;) {
      if (filled == room) RETURN_IF_ERROR(flush());
      const int64_t n = std::min(run - done, room - filled);
      const absl::Status status = CopyToHost(
          staging_ + filled * item_size, walker.run() + done * item_size,
          static_cast<size_t>(n * item_size), stream);
      if (!status.ok()) {
        // Earlier copies may still be writing to the staging memory.
        flush().IgnoreError();
        return status;
      }
      filled += n;
      done += n;
    }
  }
  return flush();
}

absl::Status AclDevice::Measure(const TensorView& view, Stream stream,
                                Statistics* statistics) {
  ComplexParts parts;
  const TensorView real =
      ComplexParts::IsApplicable(view) ? parts.AsReal(view) : view;
  const std::optional<Layout> layout = Layout::Of(real);
  if (!layout || !HasStatistics(real.dtype)) return Unmeasurable();
  *statistics = {};
  if (layout->count == 0) return absl::OkStatus();
  MutexLock lock(&staging_mu_);
  absl::Status status =
      Scan(real, *layout, stream, [&](const char* elements, int64_t n) {
        Statistics piece;
        cpu::ComputeStatistics(Flat(real.dtype, elements, &n), &piece);
        *statistics = Merged(*statistics, piece);
      });
  *statistics =
      Repeated(*statistics, static_cast<uint64_t>(layout->multiplicity));
  return status;
}

absl::Status AclDevice::CountInRange(const TensorView& view, double start,
                                     double end, Stream stream,
                                     uint64_t* count) {
  const std::optional<Layout> layout = Layout::Of(view);
  if (!layout || !HasStatistics(view.dtype)) return Unmeasurable();
  *count = 0;
  if (layout->count == 0) return absl::OkStatus();
  MutexLock lock(&staging_mu_);
  absl::Status status =
      Scan(view, *layout, stream, [&](const char* elements, int64_t n) {
        *count += cpu::CountInRange(Flat(view.dtype, elements, &n), start, end)
                      .value_or(0);
      });
  *count *= static_cast<uint64_t>(layout->multiplicity);
  return status;
}

absl::Status AclDevice::Compare(const TensorView&, const TensorView&,
                                const Tolerance&, Stream, PairStatistics*,
                                uint64_t*) {
  return absl::UnimplementedError("previous values are kept on the host");
}

absl::Status AclDevice::Launch(const std::vector<TensorView>&, Stream,
                               std::vector<Ticket>*) {
  return absl::UnimplementedError("tensors on an NPU are measured on the host");
}

absl::Status AclDevice::Read(const TensorView& view, const Slice& slice,
                             int64_t first, int64_t count, std::string* out) {
  // Express the slice as a view.
  std::vector<int64_t> shape, strides;
  const auto item_size = static_cast<int64_t>(ItemSize(view.dtype));
  int64_t row_major = 1, offset = 0;
  for (size_t d = view.ndim; d-- > 0;) {
    const int64_t stride = view.strides ? view.strides[d] : row_major;
    row_major *= view.shape[d];
    offset += slice[d].start * stride;
    shape.insert(shape.begin(), slice[d].count);
    strides.insert(strides.begin(), slice[d].step * stride);
  }
  const char* const origin =
      static_cast<const char*>(view.data) + offset * item_size;
  RETURN_IF_ERROR(Enter());
  MutexLock lock(&staging_mu_);
  // Contiguous elements of the innermost dimension are copied at once.
  const int64_t inner = shape.empty() ? 1 : shape.back();
  const int64_t run = !strides.empty() && strides.back() != 1 ? 1 : inner;
  const int64_t room = kStagingBytes / item_size;
  int64_t filled = 0;
  const auto flush = [&]() -> absl::Status {
    absl::Status synced = driver_->Check(
        driver_->SynchronizeStream(own_stream_), "aclrtSynchronizeStream");
    if (synced.ok()) {
      out->append(staging_, static_cast<size_t>(filled * item_size));
    }
    filled = 0;
    return synced;
  };
  while (count > 0) {
    if (filled == room) RETURN_IF_ERROR(flush());
    int64_t rest = first, at = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      at += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    const int64_t n = std::min({count, run - first % run, room - filled});
    const absl::Status status =
        CopyToHost(staging_ + filled * item_size, origin + at * item_size,
                   static_cast<size_t>(n * item_size), own_stream_);
    if (!status.ok()) {
      flush().IgnoreError();
      return status;
    }
    filled += n;
    first += n;
    count -= n;
  }
  return flush();
}

absl::StatusOr<std::shared_ptr<DeviceCopy>> AclDevice::Copy(const TensorView&,
                                                            Stream) {
  return absl::UnimplementedError("previous values are kept on the host");
}

absl::StatusOr<bool> AclDevice::TakeOverflowFlag(Stream stream) {
  if (flag_ == nullptr) {
    return absl::UnimplementedError("the library has no overflow flag");
  }
  MutexLock lock(&staging_mu_);
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(
      driver_->Check(driver_->GetOverflowStatus(flag_, kFlagBytes, stream),
                     "aclrtGetOverflowStatus"));
  RETURN_IF_ERROR(CopyToHost(staging_, flag_, kFlagBytes, stream));
  RETURN_IF_ERROR(driver_->Check(driver_->SynchronizeStream(stream),
                                 "aclrtSynchronizeStream"));
  const bool overflowed =
      std::any_of(staging_, staging_ + kFlagBytes, [](char c) { return c; });
  if (overflowed) {
    RETURN_IF_ERROR(driver_->Check(driver_->ResetOverflowStatus(stream),
                                   "aclrtResetOverflowStatus"));
  }
  return overflowed;
}

}  // namespace graphdbg::runtime
