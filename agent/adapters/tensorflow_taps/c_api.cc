#include "agent/adapters/tensorflow_taps/c_api.h"

#include <dlfcn.h>

namespace graphdbg::tensorflow_taps {

std::string CApi::Load(const char* library) {
  void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return library;
#define GRAPHDBG_TF_FIND(name, result, arguments)                           \
  name = reinterpret_cast<result(*) arguments>(dlsym(handle, "TF_" #name)); \
  if (name == nullptr) return "TF_" #name;
  GRAPHDBG_TF_FUNCTIONS(GRAPHDBG_TF_FIND)
#undef GRAPHDBG_TF_FIND
  return "";
}

CApi& Tf() {
  static auto* const api = new CApi;
  return *api;
}

}  // namespace graphdbg::tensorflow_taps
