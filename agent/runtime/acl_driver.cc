#include "agent/runtime/acl_driver.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/runtime/dynamic_library.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::runtime {
namespace {

constexpr char kLibrary[] = "libascendcl.so";

}  // namespace

absl::StatusOr<const AclDriver*> AclDriver::Open() {
  ASSIGN_OR_RETURN(const DynamicLibrary library,
                   DynamicLibrary::Open(kLibrary));
  auto driver = std::make_unique<AclDriver>();
  absl::Status status;
#define SYMBOL(symbol, name, ...) \
  status.Update(library.Find(symbol, &driver->name));
#define OPTIONAL(symbol, name, ...) \
  library.Find(symbol, &driver->name).IgnoreError();
#include "agent/runtime/acl_symbols.inc"
#undef OPTIONAL
#undef SYMBOL
  RETURN_IF_ERROR(status);
  return driver.release();
}

const absl::StatusOr<const AclDriver*>& AclDriver::Get() {
  static const auto* driver =
      new absl::StatusOr<const AclDriver*>(AclDriver::Open());
  return *driver;
}

absl::Status AclDriver::Check(int result, const char* what) const {
  if (result == kAclSuccess) return absl::OkStatus();
  const char* const text = GetRecentErrMsg();
  const std::string message =
      absl::StrCat(what, ": error ", result, text != nullptr ? ", " : "",
                   text != nullptr ? text : "");
  const bool out_of_memory =
      result == kAclOutOfMemory || result == kAclBadAllocation;
  return out_of_memory ? absl::ResourceExhaustedError(message)
                       : absl::InternalError(message);
}

std::string AclDriver::version() const {
  int32_t major = 0, minor = 0, patch = 0;
  if (GetVersion(&major, &minor, &patch) != kAclSuccess) return "";
  return absl::StrCat(major, ".", minor, ".", patch);
}

bool AclDriver::has_overflow_flag() const {
  return GetOverflowStatus != nullptr && ResetOverflowStatus != nullptr &&
         Malloc != nullptr && Free != nullptr;
}

}  // namespace graphdbg::runtime
