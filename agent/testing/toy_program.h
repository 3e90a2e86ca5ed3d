// A program with two ops and a parameter, and the host side of the agent's
// interface: a minimal adapter.
//
//   forward/log      y = f(x), whose values the test chooses
//   forward/sum      the sum of y
//   forward/weight   a parameter
#ifndef AGENT_TESTING_TOY_PROGRAM_H_
#define AGENT_TESTING_TOY_PROGRAM_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/include/graphdbg/agent.h"

namespace graphdbg::agent {

// The functions of the C interface, linked or loaded at run time.
struct AgentFunctions {
  decltype(&graphdbg_open) open;
  decltype(&graphdbg_close) close;
  decltype(&graphdbg_declare_node) declare_node;
  decltype(&graphdbg_declare_scope) declare_scope;
  decltype(&graphdbg_bind_tensor) bind_tensor;
  decltype(&graphdbg_interest) interest;
  decltype(&graphdbg_interests) interests;
  decltype(&graphdbg_start) start;
  decltype(&graphdbg_executed) executed;
  decltype(&graphdbg_step_end) step_end;
  decltype(&graphdbg_last_error) last_error;
};

// Callbacks that count their calls.
class ToyHost {
 public:
  graphdbg_host host();

  // The number of owners that are currently retained.
  int retained() const { return retained_; }
  int waits() const { return waits_; }
  int level() const { return level_; }
  void Interrupt() { interrupted_ = true; }

  // The stream that all threads use from now on, on every device.
  void SetStream(void* stream) { stream_ = stream; }
  // The values of the tensor with this handle.
  void SetBound(void* handle, std::vector<float>* values);

 private:
  static void Retain(void* user, void* owner);
  static void Release(void* user, void* owner);
  static void* BeginWait(void* user);
  static void EndWait(void* user, void* token);
  static int Interrupted(void* user, void* token);
  static int Resolve(void* user, void* bound, graphdbg_tensor* out,
                     int64_t* shape, int64_t* strides);
  static void SetLevel(void* user, int level);
  static void* CurrentStream(void* user, graphdbg_device device,
                             int32_t device_id);
  static int Assign(void* user, const graphdbg_tensor* view,
                    const double* values, size_t count, const char** text);
  static int Change(void* user, const graphdbg_change* change,
                    const char** text);
  static size_t CaptureStack(void* user, graphdbg_source_frame* out,
                             size_t max);

  std::atomic<int> retained_{0};
  std::atomic<int> waits_{0};
  std::atomic<int> level_{-1};
  std::atomic<void*> stream_{nullptr};
  std::atomic<bool> interrupted_{false};
  Mutex mu_;
  std::map<void*, std::vector<float>*> bound_ GRAPHDBG_GUARDED_BY(mu_);
};

// A one-dimensional float32 tensor over `values`, which must outlive it.
graphdbg_tensor TensorOf(const std::vector<float>& values, const int64_t* shape,
                         uint64_t storage_id = 0);

class ToyProgram {
 public:
  explicit ToyProgram(const AgentFunctions& functions);

  // Returns GRAPHDBG_DETACHED if debugging is off.
  graphdbg_status Open();
  graphdbg_status Start() { return functions_.start(agent_); }
  // The ops of a step, as an adapter reports them.
  graphdbg_status Log();
  graphdbg_status Sum();
  graphdbg_status EndStep() { return functions_.step_end(agent_); }
  // A whole step. Stops at the first call that does not return GRAPHDBG_OK.
  graphdbg_status Step();
  graphdbg_status Close(int exit_code = 0);

  graphdbg_agent* agent() const { return agent_; }
  ToyHost& host() { return host_; }
  // The output of forward/log.
  std::vector<float>& y() { return y_; }
  std::vector<float>& weight() { return weight_; }
  int executed() const { return executed_; }

 private:
  graphdbg_status Execute(uint32_t node, const std::vector<float>& input,
                          uint32_t input_node,
                          const std::vector<float>& output);

  const AgentFunctions functions_;
  ToyHost host_;
  graphdbg_agent* agent_ = nullptr;
  uint32_t log_ = 0;
  uint32_t sum_ = 0;
  uint32_t weight_node_ = 0;
  std::vector<float> x_ = {1, 2, 3, 4};
  std::vector<float> y_ = {0, 1, 2, 3};
  std::vector<float> total_ = {6};
  std::vector<float> weight_ = {0.5f, -0.5f};
  int executed_ = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_TESTING_TOY_PROGRAM_H_
