#include "agent/runtime/dynamic_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace graphdbg::runtime {

absl::StatusOr<DynamicLibrary> DynamicLibrary::Open(const char* soname) {
  void* const handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    return absl::NotFoundError(reason != nullptr ? reason : soname);
  }
  return DynamicLibrary(handle, soname);
}

absl::Status DynamicLibrary::FindAddress(const char* symbol,
                                         void** address) const {
  *address = dlsym(handle_, symbol);
  if (*address != nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(soname_, " lacks ", symbol));
}

}  // namespace graphdbg::runtime
