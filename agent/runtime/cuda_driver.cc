#include "agent/runtime/cuda_driver.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/runtime/dynamic_library.h"

namespace graphdbg::runtime {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

// CU_DEVICE_ATTRIBUTE_...
constexpr int kMultiprocessorCount = 16;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

}  // namespace

absl::StatusOr<const CudaDriver*> CudaDriver::Open() {
  absl::StatusOr<DynamicLibrary> library = DynamicLibrary::Open(kLibrary);
  if (!library.ok()) return library.status();
  auto driver = std::make_unique<CudaDriver>();
  absl::Status status;
#define SYMBOL(symbol, name, ...) \
  status.Update(library->Find(symbol, &driver->name));
#include "agent/runtime/cuda_symbols.inc"
#undef SYMBOL
  if (!status.ok()) return status;
  const int result = driver->Init(0);
  if (result != kCudaSuccess) {
    return absl::UnavailableError(driver->Check(result, "cuInit").message());
  }
  return driver.release();
}

const absl::StatusOr<const CudaDriver*>& CudaDriver::Get() {
  static const auto* driver =
      new absl::StatusOr<const CudaDriver*>(CudaDriver::Open());
  return *driver;
}

absl::Status CudaDriver::Check(int result, const char* what) const {
  if (result == kCudaSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  const std::string message = absl::StrCat(
      what, ": ", name != nullptr ? name : "unknown error", " (", result,
      text != nullptr ? ", " : "", text != nullptr ? text : "", ")");
  return result == kCudaOutOfMemory ? absl::ResourceExhaustedError(message)
                                    : absl::InternalError(message);
}

int CudaDriver::version() const {
  int version = 0;
  return DriverGetVersion(&version) == kCudaSuccess ? version : 0;
}

std::string CudaDriver::version_text() const {
  const int number = version();
  return absl::StrCat(number / 1000, ".", number % 1000 / 10);
}

absl::StatusOr<std::vector<CudaDriver::DeviceInfo>> CudaDriver::Devices()
    const {
  int count = 0;
  absl::Status status = Check(DeviceGetCount(&count), "cuDeviceGetCount");
  std::vector<DeviceInfo> devices;
  for (int i = 0; status.ok() && i < count; ++i) {
    int device = 0, major = 0, minor = 0;
    char name[256] = "";
    size_t bytes = 0;
    DeviceInfo info;
    status.Update(Check(DeviceGet(&device, i), "cuDeviceGet"));
    status.Update(Check(DeviceGetName(name, sizeof(name) - 1, device),
                        "cuDeviceGetName"));
    status.Update(Check(DeviceTotalMem(&bytes, device), "cuDeviceTotalMem"));
    status.Update(Check(
        DeviceGetAttribute(&info.multiprocessors, kMultiprocessorCount, device),
        "cuDeviceGetAttribute"));
    status.Update(Check(DeviceGetAttribute(&major, kMajor, device),
                        "cuDeviceGetAttribute"));
    status.Update(Check(DeviceGetAttribute(&minor, kMinor, device),
                        "cuDeviceGetAttribute"));
    info.name = name;
    info.memory_bytes = bytes;
    info.architecture = major * 10 + minor;
    devices.push_back(std::move(info));
  }
  if (!status.ok()) return status;
  return devices;
}

}  // namespace graphdbg::runtime
