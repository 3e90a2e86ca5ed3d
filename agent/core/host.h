// The program that hosts the agent. Every callback is optional.
#ifndef AGENT_CORE_HOST_H_
#define AGENT_CORE_HOST_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "agent/include/graphdbg/agent.h"

namespace graphdbg::agent {

// Copies a struct whose size may differ in the caller's version of the
// interface. Fields that the caller does not have are zero.
template <class T>
T CopySized(const T* from) {
  T to{};
  std::memcpy(&to, from, std::min<size_t>(from->struct_size, sizeof(T)));
  to.struct_size = sizeof(T);
  return to;
}

class Host {
 public:
  Host() : host_{} {}
  explicit Host(const graphdbg_host* host)
      : host_(host != nullptr ? CopySized(host) : graphdbg_host{}) {}

  bool can_retain() const { return host_.retain && host_.release; }
  void Retain(void* owner) const { host_.retain(host_.user, owner); }
  void Release(void* owner) const { host_.release(host_.user, owner); }

  void* BeginWait() const {
    return host_.begin_wait ? host_.begin_wait(host_.user) : nullptr;
  }
  void EndWait(void* token) const {
    if (host_.end_wait) host_.end_wait(host_.user, token);
  }
  bool Interrupted(void* token) const {
    return host_.interrupted && host_.interrupted(host_.user, token) != 0;
  }

  // Returns false if the tensor no longer exists. The arrays have room for 64
  // numbers each.
  bool Resolve(void* bound, graphdbg_tensor* out, int64_t* shape,
               int64_t* strides) const {
    *out = graphdbg_tensor{};
    out->struct_size = sizeof(graphdbg_tensor);
    return host_.resolve &&
           host_.resolve(host_.user, bound, out, shape, strides) == 0;
  }

  void SetLevel(int level) const {
    if (host_.set_level) host_.set_level(host_.user, level);
  }

  size_t CaptureStack(graphdbg_source_frame* frames, size_t max) const {
    return host_.capture_stack ? host_.capture_stack(host_.user, frames, max)
                               : 0;
  }

  void* CurrentStream(graphdbg_device device, int32_t device_id) const {
    return host_.current_stream
               ? host_.current_stream(host_.user, device, device_id)
               : nullptr;
  }

  bool can_capture() const { return host_.capture != nullptr; }
  // See graphdbg_host; can_capture() must be true.
  void Capture(uint32_t node, uint32_t slot, uint32_t upstream,
               void (*take)(void* context, const graphdbg_tape* tape),
               void* context) const {
    host_.capture(host_.user, node, slot, upstream, take, context);
  }

  // A JSON object that describes the program's software; empty if unknown. May
  // take the interpreter's lock.
  const char* Environment() const {
    const char* const text =
        host_.environment ? host_.environment(host_.user) : nullptr;
    return text != nullptr ? text : "";
  }

  // See graphdbg_host.
  void SetTape(graphdbg_tape_mode mode, uint64_t budget) const {
    if (host_.set_tape) host_.set_tape(host_.user, mode, budget);
  }
  // A JSON object; empty if unknown. May take the interpreter's lock.
  const char* Training() const {
    const char* const text =
        host_.training ? host_.training(host_.user) : nullptr;
    return text != nullptr ? text : "";
  }

  // See graphdbg_host. Each returns whether it was done, and stores the result,
  // or why not. May take the interpreter's lock.
  bool Experiment(int bundle, const std::string& experiments,
                  std::string* text) const {
    return Done(text, host_.experiment, bundle, experiments.c_str());
  }
  bool Assign(const graphdbg_tensor& view, const std::vector<double>& values,
              std::string* text) const {
    return Done(text, host_.assign, &view, values.data(), values.size());
  }
  bool Change(const graphdbg_change& change, std::string* text) const {
    return Done(text, host_.change, &change);
  }

  // Returns false if the program does not know its rank.
  bool Place(uint32_t* rank, uint32_t* world_size) const {
    return host_.place && host_.place(host_.user, rank, world_size) == 0;
  }

 private:
  template <typename Function, typename... Arguments>
  bool Done(std::string* text, Function function,
            Arguments... arguments) const {
    const char* given = nullptr;
    const bool done =
        function != nullptr && function(host_.user, arguments..., &given) == 0;
    *text = given != nullptr ? given
            : done           ? ""
            : function       ? "the program does not say why"
                             : "this kind of program cannot do that";
    return done;
  }

  graphdbg_host host_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_HOST_H_
