#include "agent/runtime/report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/kernels/cuda/image.h"
#include "agent/runtime/acl_driver.h"
#include "agent/runtime/cuda_driver.h"

namespace graphdbg::runtime {
namespace {

std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    // Vendor messages are only displayed; other bytes need not be preserved.
    out += byte < 0x20 || byte > 0x7E ? '?' : c;
  }
  return out + '"';
}

std::string QuotedOrNull(const std::string& text) {
  return text.empty() ? "null" : Quoted(text);
}

std::string ErrorOf(const absl::Status& status) {
  return status.ok() ? "null" : Quoted(status.message());
}

std::string List(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string DeviceJson(const CudaDriver::DeviceInfo& device,
                       const std::vector<std::string>& kernels) {
  return absl::StrCat(
      "{\"name\": ", Quoted(device.name),
      ", \"memory_bytes\": ", device.memory_bytes, ", \"architecture\": \"sm_",
      device.architecture, "\", \"supported\": ",
      cuda::RunsOn(kernels, device.architecture) ? "true" : "false", "}");
}

std::string CudaJson(const std::vector<std::string>& kernels) {
  const auto& driver = CudaDriver::Get();
  std::string version;
  std::vector<std::string> devices;
  absl::Status status = driver.status();
  if (driver.ok()) {
    version = (*driver)->version_text();
    const auto infos = (*driver)->Devices();
    status = infos.status();
    if (infos.ok()) {
      for (const auto& info : *infos) {
        devices.push_back(DeviceJson(info, kernels));
      }
    }
  }
  return absl::StrCat("{\"error\": ", ErrorOf(status),
                      ", \"driver\": ", QuotedOrNull(version),
                      ", \"devices\": ", List(devices), "}");
}

std::string AscendJson() {
  const auto& driver = AclDriver::Get();
  std::string version, soc;
  uint32_t count = 0;
  absl::Status status = driver.status();
  if (driver.ok()) {
    const AclDriver& acl = **driver;
    version = acl.version();
    status = acl.Check(acl.GetDeviceCount(&count), "aclrtGetDeviceCount");
    const char* const name =
        acl.GetSocName != nullptr ? acl.GetSocName() : nullptr;
    if (name != nullptr) soc = name;
  }
  return absl::StrCat(
      "{\"error\": ", ErrorOf(status), ", \"version\": ", QuotedOrNull(version),
      ", \"soc\": ", QuotedOrNull(soc), ", \"device_count\": ", count, "}");
}

}  // namespace

std::string AcceleratorReport() {
  const std::vector<std::string> kernels =
      cuda::Architectures(cuda::KernelImage());
  std::vector<std::string> names;
  for (const std::string& kernel : kernels) names.push_back(Quoted(kernel));
  return absl::StrCat("{\"kernels\": ", List(names),
                      ", \"toolkit\": ", QuotedOrNull(cuda::ToolkitVersion()),
                      ", \"cuda\": ", CudaJson(kernels),
                      ", \"ascend\": ", AscendJson(), "}");
}

}  // namespace graphdbg::runtime
