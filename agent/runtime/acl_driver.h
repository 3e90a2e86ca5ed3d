// Ascend's library, libascendcl.so. That there is none is an ordinary answer.
#ifndef AGENT_RUNTIME_ACL_DRIVER_H_
#define AGENT_RUNTIME_ACL_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::runtime {

// Any thread. The functions are the library's own, without "acl" or "aclrt".
// The library is never initialised here (aclInit): a framework that has tensors
// there did that.
class AclDriver {
 public:
  // The process's one, opened at the first call. NOT_FOUND: no such library;
  // UNIMPLEMENTED: one that is too old.
  static const absl::StatusOr<const AclDriver*>& Get();

  // OK, or the number of the error with the library's own words:
  // RESOURCE_EXHAUSTED if memory is out, else INTERNAL.
  absl::Status Check(int result, const char* what) const;

  // "1.16.0"; empty if it does not say.
  std::string version() const;
  // Whether the device's own flag can be read.
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

// Numbers of acl_base.h and acl_rt.h.
constexpr int kAclSuccess = 0;
constexpr int kAclOutOfMemory = 207001;
constexpr int kAclBadAllocation = 200000;
constexpr int kAclDeviceToHost = 2;
constexpr int kAclHugePagesFirst = 0;

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_ACL_DRIVER_H_
