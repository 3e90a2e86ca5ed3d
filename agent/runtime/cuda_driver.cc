#include "agent/runtime/cuda_driver.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/runtime/dynamic_library.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

// CU_DEVICE_ATTRIBUTE_...
constexpr int kMultiprocessorCount = 16;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

}  // namespace

absl::StatusOr<const CudaDriver*> CudaDriver::Open() {
  ASSIGN_OR_RETURN(const DynamicLibrary library,
                   DynamicLibrary::Open(kLibrary));
  auto driver = std::make_unique<CudaDriver>();
  absl::Status status;
#define SYMBOL(symbol, name, ...) \
  status.Update(library.Find(symbol, &driver->name));
#include "agent/runtime/cuda_symbols.inc"
#undef SYMBOL
  RETURN_IF_ERROR(status);
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
  RETURN_IF_ERROR(Check(DeviceGetCount(&count), "cuDeviceGetCount"));
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    int device = 0, major = 0, minor = 0;
    char name[256] = "";
    size_t bytes = 0;
    DeviceInfo info;
    RETURN_IF_ERROR(Check(DeviceGet(&device, i), "cuDeviceGet"));
    RETURN_IF_ERROR(Check(DeviceGetName(name, sizeof(name) - 1, device),
                          "cuDeviceGetName"));
    RETURN_IF_ERROR(Check(DeviceTotalMem(&bytes, device), "cuDeviceTotalMem"));
    const auto attribute = [&](int* value, int id) {
      return Check(DeviceGetAttribute(value, id, device),
                   "cuDeviceGetAttribute");
    };
    RETURN_IF_ERROR(attribute(&info.multiprocessors, kMultiprocessorCount));
    RETURN_IF_ERROR(attribute(&major, kMajor));
    RETURN_IF_ERROR(attribute(&minor, kMinor));
    info.name = name;
    info.memory_bytes = bytes;
    info.architecture = major * 10 + minor;
    devices.push_back(std::move(info));
  }
  return devices;
}

}  // namespace graphdbg::runtime
