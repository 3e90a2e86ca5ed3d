#ifndef AGENT_ADAPTERS_TENSORFLOW_EAGER_OPS_H_
#define AGENT_ADAPTERS_TENSORFLOW_EAGER_OPS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/adapters/tensorflow/op_table.h"
#include "agent/base/mutex.h"
#include "graphdbg/agent.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace graphdbg::tensorflow {

// Names ops that the program executes one by one. The k-th op of a type in a
// scope and step is the same node in each step. Thread-safe.
class EagerOps {
 public:
  // Has `read` describe the Python code that the calling thread runs: it calls
  // AddFrame() for each frame, the innermost first.
  using StackReader = void (*)(void* stack);
  void SetStackReader(StackReader read) { read_stack_ = read; }
  static void AddFrame(void* stack, const char* file, int line,
                       const char* function);

  // Directories whose code is not the user's.
  void SetLibraries(std::vector<std::string> directories);
  // Returns a number for a scope with its full name, such as "forward/net/enc".
  int Scope(const std::string& name, graphdbg_category category);
  // Sets the scope of the ops of this thread, and the node of the op whose
  // gradient they compute, 0 if there is none. Returns the previous scope.
  static int Enter(int scope, uint32_t forward_node);

  // The node of the op that this thread executes. Declares it the first time.
  uint32_t NodeOf(graphdbg_agent* agent,
                  const ::tensorflow::OpKernelContext& context,
                  const std::string& type);
  // The node whose output is at this address.
  Producer ProducerOf(const void* data) const;
  void SetProducer(const void* data, Producer producer);
  void EndStep();

 private:
  struct ScopeInfo {
    std::string name;
    graphdbg_category category;
  };

  uint32_t Declare(graphdbg_agent* agent,
                   const ::tensorflow::OpKernelContext& context,
                   const std::string& name, const std::string& type,
                   graphdbg_category category) GRAPHDBG_REQUIRES(mu_);
  std::vector<::tensorflow::StackFrame> StackOf(
      const ::tensorflow::OpKernelContext& context) const
      GRAPHDBG_REQUIRES(mu_);
  bool IsUsers(const std::string& file) const GRAPHDBG_REQUIRES(mu_);

  StackReader read_stack_ = nullptr;
  mutable Mutex mu_;
  std::vector<std::string> libraries_ GRAPHDBG_GUARDED_BY(mu_);
  std::vector<ScopeInfo> scopes_ GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_map<std::string, int> scope_numbers_ GRAPHDBG_GUARDED_BY(mu_);
  // Ops of the current step, by their name without a number.
  std::unordered_map<std::string, uint32_t> counts_ GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_map<std::string, uint32_t> nodes_ GRAPHDBG_GUARDED_BY(mu_);
  // The stacks of ops, for those of their gradients.
  std::unordered_map<uint32_t, std::vector<::tensorflow::StackFrame>> stacks_
      GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_map<const void*, Producer> producers_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_EAGER_OPS_H_
