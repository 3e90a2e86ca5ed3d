// A shared library opened at run time.
#ifndef AGENT_RUNTIME_DYNAMIC_LIBRARY_H_
#define AGENT_RUNTIME_DYNAMIC_LIBRARY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::runtime {

// Never closed: vendor libraries do not support it, and the framework uses them
// as well.
class DynamicLibrary {
 public:
  // Returns NOT_FOUND with the loader's message if the library cannot be
  // opened.
  static absl::StatusOr<DynamicLibrary> Open(const char* soname);

  // Stores the symbol's address in *function. Returns UNIMPLEMENTED with the
  // symbol's name if it does not exist.
  template <class Function>
  absl::Status Find(const char* symbol, Function* function) const {
    void* address = nullptr;
    absl::Status status = FindAddress(symbol, &address);
    *function = reinterpret_cast<Function>(address);
    return status;
  }

 private:
  DynamicLibrary(void* handle, std::string soname)
      : handle_(handle), soname_(std::move(soname)) {}
  absl::Status FindAddress(const char* symbol, void** address) const;

  void* handle_;
  std::string soname_;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_DYNAMIC_LIBRARY_H_
