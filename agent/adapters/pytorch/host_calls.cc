#include "agent/adapters/pytorch/host_calls.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "agent/adapters/pytorch/adapter.h"
#include "agent/adapters/pytorch/device_streams.h"

namespace graphdbg::pytorch {
namespace {

void Retain(void*, void* owner) {
  c10::raw::intrusive_ptr::incref(static_cast<c10::StorageImpl*>(owner));
}

std::atomic<bool> leaks_storages{false};

void Release(void*, void* owner) {
  if (leaks_storages.load(std::memory_order_relaxed)) return;
  c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(owner));
}

void* BeginWait(void*) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  return python == nullptr ? nullptr : python->begin_wait();
}

void EndWait(void*, void* token) {
  // Even during finalization, the thread has to reacquire the interpreter's
  // lock.
  if (token != nullptr) Adapter::Get().end_wait(token);
}

int Interrupted(void*, void* token) {
  const graphdbg_interpreter* const python = Adapter::Get().interpreter();
  return python != nullptr && token != nullptr ? python->interrupted(token) : 0;
}

int Resolve(void*, void* bound, graphdbg_tensor* out, int64_t* shape,
            int64_t* strides) {
  return Adapter::Get().graph().bound().Resolve(bound, out, shape, strides);
}

void SetLevelOf(void*, int level) { Adapter::Get().SetLevel(level); }

size_t CaptureStackOf(void*, graphdbg_source_frame* out, size_t max) {
  const SourceStack stack =
      Adapter::Get().CaptureStack(CurrentThread().placement);
  const size_t depth = std::min(max, stack.size());
  std::copy_n(stack.begin(), depth, out);
  return depth;
}

void* CurrentStreamOf(void*, graphdbg_device device, int32_t device_id) {
  // Exceptions must not propagate into the agent.
  try {
    return CurrentStream(device, device_id);
  } catch (const std::exception&) {
    return nullptr;
  }
}

int PlaceOf(void*, uint32_t* rank, uint32_t* world_size) {
  return Adapter::Get().GetPlace(rank, world_size) ? 0 : 1;
}

}  // namespace

void LeakStorages() { leaks_storages = true; }

graphdbg_host HostCalls() {
  graphdbg_host host = {};
  host.struct_size = sizeof(host);
  host.retain = Retain;
  host.release = Release;
  host.begin_wait = BeginWait;
  host.end_wait = EndWait;
  host.interrupted = Interrupted;
  host.resolve = Resolve;
  host.set_level = SetLevelOf;
  host.capture_stack = CaptureStackOf;
  host.current_stream = CurrentStreamOf;
  host.place = PlaceOf;
  return host;
}

}  // namespace graphdbg::pytorch
