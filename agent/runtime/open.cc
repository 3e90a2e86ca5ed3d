#include "agent/runtime/open.h"

#include <utility>

#include "agent/runtime/acl_device.h"
#include "agent/runtime/cuda_device.h"

namespace graphdbg::runtime {
namespace {

template <class Device>
absl::StatusOr<std::unique_ptr<Accelerator>> Open(int ordinal) {
  auto device = Device::Open(ordinal);
  if (!device.ok()) return device.status();
  return std::unique_ptr<Accelerator>(*std::move(device));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Accelerator>> OpenAccelerator(Kind kind,
                                                             int ordinal) {
  return kind == Kind::kCuda ? Open<CudaDevice>(ordinal)
                             : Open<AclDevice>(ordinal);
}

}  // namespace graphdbg::runtime
