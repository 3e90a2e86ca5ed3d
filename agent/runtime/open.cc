#include "agent/runtime/open.h"

#include <utility>

#include "agent/runtime/acl_device.h"
#include "agent/runtime/cuda_device.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {
namespace {

template <class Device>
absl::StatusOr<std::unique_ptr<Accelerator>> Open(int ordinal) {
  ASSIGN_OR_RETURN(std::unique_ptr<Accelerator> device, Device::Open(ordinal));
  return device;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Accelerator>> OpenAccelerator(Kind kind,
                                                             int ordinal) {
  return kind == Kind::kCuda ? Open<CudaDevice>(ordinal)
                             : Open<AclDevice>(ordinal);
}

}  // namespace graphdbg::runtime
