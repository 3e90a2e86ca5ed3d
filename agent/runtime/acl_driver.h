// Ascend's library, libascendcl.so. Its absence is an expected result.
#ifndef AGENT_RUNTIME_ACL_DRIVER_H_
#define AGENT_RUNTIME_ACL_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::runtime {

// The library's functions, without the prefix "acl" or "aclrt". Thread-safe.
// Does not call aclInit(): the framework that owns tensors on the device has
// initialized the library.
class AclDriver {
 public:
  // The process's instance, opened by the first call. Returns NOT_FOUND if the
  // library is not installed, UNIMPLEMENTED if it is too old.
  static const absl::StatusOr<const AclDriver*>& Get();

  // Converts a result to a status with the error number and the library's
  // message: RESOURCE_EXHAUSTED if out of memory, otherwise INTERNAL.
  absl::Status Check(int result, const char* what) const;

  // For example "1.16.0"; empty if unknown.
  std::string version() const;
  // Whether the device's overflow flag can be read.
  bool has_overflow_flag() const;

#define SYMBOL(symbol, name, ...) using name##Function = __VA_ARGS__;
#define OPTIONAL SYMBOL
#include "agent/runtime/acl_symbols.inc"
#undef SYMBOL
#define SYMBOL(symbol, name, ...) name##Function name = nullptr;
#include "agent/runtime/acl_symbols.inc"
#undef OPTIONAL
#undef SYMBOL

 private:
  static absl::StatusOr<const AclDriver*> Open();
};

// Constants of acl_base.h and acl_rt.h.
constexpr int kAclSuccess = 0;
constexpr int kAclOutOfMemory = 207001;
constexpr int kAclBadAllocation = 200000;
constexpr int kAclDeviceToHost = 2;
constexpr int kAclHugePagesFirst = 0;

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_ACL_DRIVER_H_
