// A library of the machine's, opened while the program runs.
#ifndef AGENT_RUNTIME_DYNAMIC_LIBRARY_H_
#define AGENT_RUNTIME_DYNAMIC_LIBRARY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::runtime {

// Never closed: vendors' libraries do not outlive that, and the framework has
// them open as well.
class DynamicLibrary {
 public:
  // NOT_FOUND if there is none of this name, with the loader's own words.
  static absl::StatusOr<DynamicLibrary> Open(const char* soname);

  // Fills *function; UNIMPLEMENTED, naming the symbol, if it is not there.
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
