// How tests steer the stubs of vendors' libraries. A stub bears the vendor's
// soname: once a test has opened it by its path, the agent finds it.
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

  // As if new.
  void Reset() { Call<void (*)()>("stub_reset")(); }
  // The function answers `error` from now on, the first `skip` calls excepted.
  void Fail(const char* function, int error, int skip = 0) {
    Call<void (*)(const char*, int, int)>("stub_fail")(function, error, skip);
  }
  // Launches and copies wait until something waits for them.
  void Hold(bool hold) { Call<void (*)(int)>("stub_hold")(hold ? 1 : 0); }
  // Does what waits, on one stream or on all.
  void Finish(void* stream) { Call<void (*)(void*)>("stub_finish")(stream); }
  void FinishAll() { Call<void (*)()>("stub_finish_all")(); }
  void Capture(bool on) { Call<void (*)(int)>("stub_capture")(on ? 1 : 0); }
  // Of Ascend's stub: whether an operator overflowed.
  void SetOverflow(bool on) {
    Call<void (*)(int)>("stub_overflow")(on ? 1 : 0);
  }
  int CallsOf(const char* function) {
    return Call<int (*)(const char*)>("stub_calls")(function);
  }
  // Memory that was taken and not given back.
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
