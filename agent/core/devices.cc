#include "agent/core/devices.h"

#include "absl/strings/str_cat.h"
#include "agent/core/execution.h"
#include "agent/runtime/open.h"

namespace graphdbg::agent {
namespace {

const char* NameOf(graphdbg_device kind) {
  return kind == GRAPHDBG_CUDA ? "GPU" : "NPU";
}

}  // namespace

Devices::~Devices() {
  for (Place& place : places_) delete place.device.load();
}

std::optional<int> Devices::IndexOf(const graphdbg_tensor& tensor) {
  const bool known =
      (tensor.device == GRAPHDBG_CUDA || tensor.device == GRAPHDBG_NPU) &&
      tensor.device_id >= 0 && tensor.device_id < kPerKind;
  if (!known) return std::nullopt;
  return (tensor.device == GRAPHDBG_CUDA ? 0 : kPerKind) + tensor.device_id;
}

void Devices::RecordFirst(const graphdbg_tensor& tensor) {
  const std::optional<int> index = IndexOf(tensor);
  int none = 0;
  if (index) first_.compare_exchange_strong(none, *index + 1);
}

std::optional<std::pair<std::string, int32_t>> Devices::first() const {
  const int first = first_.load();
  if (first == 0) return std::nullopt;
  return std::make_pair(std::string(first_kind()), (first - 1) % kPerKind);
}

absl::string_view Devices::first_kind() const {
  const int first = first_.load();
  return first == 0 ? "" : first <= kPerKind ? "cuda" : "npu";
}

runtime::Accelerator* Devices::DeviceOf(const graphdbg_tensor& tensor) {
  if (tensor.device == GRAPHDBG_CPU) return nullptr;
  const std::optional<int> index = IndexOf(tensor);
  if (!index) {
    if (!reported_other_.exchange(true)) {
      warn_(
          "tensors on accelerators that are neither CUDA GPUs nor Ascend NPUs "
          "are not checked");
    }
    return nullptr;
  }
  Place& place = places_[static_cast<size_t>(*index)];
  std::call_once(place.once,
                 [&] { Open(tensor.device, tensor.device_id, &place); });
  return place.device.load(std::memory_order_acquire);
}

void Devices::Open(graphdbg_device kind, int32_t id, Place* place) {
  auto opened = runtime::OpenAccelerator(
      kind == GRAPHDBG_CUDA ? runtime::Kind::kCuda : runtime::Kind::kAscend,
      id);
  if (opened.ok()) {
    place->device.store(opened->release(), std::memory_order_release);
    return;
  }
  warn_(absl::StrCat("tensors on ", NameOf(kind), " ", id,
                     " are not checked: ", opened.status().message(),
                     "; run `graphdbg doctor` for details"));
}

runtime::Accelerator* Devices::OnStream(const graphdbg_tensor& tensor,
                                        runtime::Stream* stream) {
  runtime::Accelerator* const device = DeviceOf(tensor);
  if (device == nullptr) return nullptr;
  const absl::Status failure = device->failure();
  if (!failure.ok()) {
    if (!reported_failure_.exchange(true)) {
      warn_(absl::StrCat("tensors on ", NameOf(tensor.device), " ",
                         tensor.device_id,
                         " are no longer checked: ", failure.message()));
    }
    return nullptr;
  }
  *stream = host_->CurrentStream(tensor.device, tensor.device_id);
  if (!device->Capturing(*stream)) return device;
  if (!reported_capture_.exchange(true)) {
    warn_(
        "ops that are captured into a CUDA graph are not checked, neither "
        "during capture nor when the graph runs");
  }
  return nullptr;
}

int64_t Devices::arena_bytes() const {
  int64_t bytes = 0;
  for (const Place& place : places_) {
    const runtime::Accelerator* const device = place.device.load();
    if (device != nullptr) bytes += device->arena_bytes();
  }
  return bytes;
}

TensorAccess::TensorAccess(Devices* devices, const graphdbg_tensor& tensor,
                           bool running) {
  if (Readable(tensor)) {
    ok_ = true;
    return;
  }
  if (devices == nullptr || !HasValues(tensor)) return;
  runtime::Stream stream = nullptr;
  runtime::Accelerator* const device =
      running ? devices->OnStream(tensor, &stream) : devices->DeviceOf(tensor);
  if (device == nullptr) return;
  // All work on the device is waited for, so the default stream can be used.
  if (!running && !device->SynchronizeAll().ok()) return;
  backend_.emplace(device, stream);
  if (!running) backend_->ignore_flag();
  ok_ = true;
}

}  // namespace graphdbg::agent
