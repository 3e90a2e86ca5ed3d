// Controls the stubs of vendors' libraries. A stub has the vendor's soname, so
// that the agent finds it once a test has opened it by its path.
#ifndef AGENT_TESTING_STUB_CONTROL_H_
#define AGENT_TESTING_STUB_CONTROL_H_

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace graphdbg::testing_support {

class StubLibrary {
 public:
  explicit StubLibrary(const std::string& path)
      : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }

  // Returns the stub to its initial state.
  void Reset() { Call<void (*)()>("stub_reset")(); }
  // The function returns `error` from now on, after `skip` more calls.
  void Fail(const char* function, int error, int skip = 0) {
    Call<void (*)(const char*, int, int)>("stub_fail")(function, error, skip);
  }
  // With `hold`, launches and copies are executed only when something waits for
  // them.
  void Hold(bool hold) { Call<void (*)(int)>("stub_hold")(hold ? 1 : 0); }
  // Executes held work, on one stream or on all.
  void Finish(void* stream) { Call<void (*)(void*)>("stub_finish")(stream); }
  void FinishAll() { Call<void (*)()>("stub_finish_all")(); }
  void Capture(bool on) { Call<void (*)(int)>("stub_capture")(on ? 1 : 0); }
  // For the stub of Ascend's library: whether an operator overflowed.
  void SetOverflow(bool on) {
    Call<void (*)(int)>("stub_overflow")(on ? 1 : 0);
  }
  int CallsOf(const char* function) {
    return Call<int (*)(const char*)>("stub_calls")(function);
  }
  // The memory that is allocated and not freed.
  int64_t Bytes() { return Call<int64_t (*)()>("stub_bytes")(); }

 private:
  template <class Function>
  Function Call(const char* name) {
    void* const address = dlsym(handle_, name);
    EXPECT_NE(address, nullptr) << name;
    return reinterpret_cast<Function>(address);
  }

  void* const handle_;
};

}  // namespace graphdbg::testing_support

#endif  // AGENT_TESTING_STUB_CONTROL_H_
