#ifndef AGENT_ADAPTERS_TENSORFLOW_KERNEL_EXECUTION_H_
#define AGENT_ADAPTERS_TENSORFLOW_KERNEL_EXECUTION_H_

#include <cstdint>
#include <vector>

#include "agent/adapters/tensorflow/op_table.h"
#include "agent/adapters/tensorflow/tensor_view.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace graphdbg::tensorflow {

// One execution of a kernel, as it is reported to the agent.
class KernelExecution {
 public:
  // `flags` are any of the flags of an execution.
  KernelExecution(uint32_t node, uint32_t flags) : node_(node), flags_(flags) {}

  // Describes the inputs, before the kernel is executed. No references are
  // held, so that it can write its output into the memory of an input.
  // `producers` are those of the inputs; null for an op outside functions.
  void AddInputs(const ::tensorflow::OpKernelContext& context,
                 const std::vector<Producer>* producers);
  // Reports the execution after it, and waits if the program has to stop here.
  void Report(::tensorflow::OpKernelContext* context);

 private:
  struct Input {
    int index = 0;
    Producer producer;
    TensorView view;
  };

  void FinishInputs(const ::tensorflow::OpKernelContext& context);
  void AddOutputs(::tensorflow::OpKernelContext* context);

  const uint32_t node_;
  uint32_t flags_;
  bool eager_ = false;
  std::vector<Input> inputs_;
  std::vector<TensorView> outputs_;
};

// Reports a value of ops outside of functions as the output of this node, too,
// and waits if the program has to stop here.
void ReportPassedOn(uint32_t node, const ::tensorflow::Tensor& value);

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_KERNEL_EXECUTION_H_
