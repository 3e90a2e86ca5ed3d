// Replaces Ascend's library on machines without an NPU. Emulates one device,
// whose memory is that of the host.
#include <cstring>

#include "agent/testing/stub_state.h"

namespace {

// ACL_ERROR_INVALID_PARAM.
constexpr int kInvalid = 100000;
constexpr int kDeviceToHost = 2;

char overflow_flag = 0;

}  // namespace

extern "C" {

// Whether an operator overflowed.
void stub_overflow(int on) { overflow_flag = on != 0 ? 1 : 0; }

int aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  STUB_ENTER("aclrtGetVersion");
  *major = 1;
  *minor = 16;
  *patch = 0;
  return 0;
}

const char* aclGetRecentErrMsg() { return "EE9999: stub"; }

int aclrtGetDeviceCount(uint32_t* count) {
  STUB_ENTER("aclrtGetDeviceCount");
  *count = 1;
  return 0;
}

const char* aclrtGetSocName() { return "Ascend910B"; }

int aclrtGetCurrentContext(void** context) {
  STUB_ENTER("aclrtGetCurrentContext");
  *context = reinterpret_cast<void*>(uintptr_t{0x3000});
  return 0;
}

int aclrtSetCurrentContext(void*) {
  STUB_ENTER("aclrtSetCurrentContext");
  return 0;
}

int aclrtCreateStream(void** stream) {
  STUB_ENTER("aclrtCreateStream");
  *stream = new char;
  return 0;
}

int aclrtDestroyStream(void* stream) {
  STUB_ENTER("aclrtDestroyStream");
  delete static_cast<char*>(stream);
  return 0;
}

#ifndef STUB_WITHOUT_SYNCHRONIZE
int aclrtSynchronizeStream(void* stream) {
  STUB_ENTER("aclrtSynchronizeStream");
  graphdbg::stub::Finish(stream);
  return 0;
}
#endif

int aclrtSynchronizeDevice() {
  STUB_ENTER("aclrtSynchronizeDevice");
  graphdbg::stub::FinishAll();
  return 0;
}

int aclrtMallocHost(void** address, size_t bytes) {
  STUB_ENTER("aclrtMallocHost");
  *address = graphdbg::stub::Allocate(bytes);
  return 0;
}

int aclrtFreeHost(void* address) {
  STUB_ENTER("aclrtFreeHost");
  return graphdbg::stub::Free(address) ? 0 : kInvalid;
}

int aclrtMalloc(void** address, size_t bytes, int) {
  STUB_ENTER("aclrtMalloc");
  *address = graphdbg::stub::Allocate(bytes);
  return 0;
}

int aclrtFree(void* address) {
  STUB_ENTER("aclrtFree");
  return graphdbg::stub::Free(address) ? 0 : kInvalid;
}

int aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t bytes,
                     int kind, void* stream) {
  STUB_ENTER("aclrtMemcpyAsync");
  if (bytes > room || kind != kDeviceToHost) return kInvalid;
  graphdbg::stub::Put(stream, [=] { std::memcpy(to, from, bytes); });
  return 0;
}

int aclrtGetOverflowStatus(void* address, size_t bytes, void* stream) {
  STUB_ENTER("aclrtGetOverflowStatus");
  graphdbg::stub::Put(stream, [=] {
    std::memset(address, 0, bytes);
    *static_cast<char*>(address) = overflow_flag;
  });
  return 0;
}

int aclrtResetOverflowStatus(void*) {
  STUB_ENTER("aclrtResetOverflowStatus");
  overflow_flag = 0;
  return 0;
}

}  // extern "C"
