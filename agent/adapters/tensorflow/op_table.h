#ifndef AGENT_ADAPTERS_TENSORFLOW_OP_TABLE_H_
#define AGENT_ADAPTERS_TENSORFLOW_OP_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/base/mutex.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace graphdbg::tensorflow {

// The output of a node; `node` is 0 if it is not known.
struct Producer {
  uint32_t node = 0;
  uint32_t slot = 0;
};

// An op of a function of the program.
struct OpEntry {
  // 0 if the op is not reported, because it only passes values on.
  uint32_t node = 0;
  // Any of the flags of an execution.
  uint32_t flags = 0;
  // Whether the op counts the steps of an optimizer.
  bool counts_steps = false;
  // For each output, where its value comes from.
  std::vector<Producer> outputs;
};

// The ops of the functions that the program calls, by the names that they have
// in the graphs of Python. Entries are never removed. Thread-safe.
class OpTable {
 public:
  void Add(const std::string& function, const std::string& op, OpEntry entry);
  // Makes `copy` another name of a function.
  void AddCopy(const std::string& function, const std::string& copy);

  // Changes whenever ops have been added.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // The op that a kernel executes. TensorFlow keeps the names of an op and of
  // its function when it inlines the function, except for ops that it makes
  // itself, such as a fused one: those have the name of the last op of the
  // group, after the names of the calls. Null if the kernel belongs to no
  // function of the table.
  const OpEntry* Find(const ::tensorflow::NodeDef& node) const;
  // The output that a kernel's input refers to, in the same graph.
  Producer FindProducer(const ::tensorflow::NodeDef& node,
                        const std::string& input) const;

 private:
  using Function = std::unordered_map<std::string, std::unique_ptr<OpEntry>>;

  const OpEntry* FindByName(const std::string& name) const
      GRAPHDBG_REQUIRES(mu_);

  mutable Mutex mu_;
  std::unordered_map<std::string, std::shared_ptr<Function>> functions_
      GRAPHDBG_GUARDED_BY(mu_);
  // The ops of all functions; of several with the same name, the last.
  std::unordered_map<std::string, const OpEntry*> by_name_
      GRAPHDBG_GUARDED_BY(mu_);
  std::atomic<uint64_t> version_{1};
};

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_OP_TABLE_H_
