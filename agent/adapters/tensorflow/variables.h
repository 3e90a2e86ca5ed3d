#ifndef AGENT_ADAPTERS_TENSORFLOW_VARIABLES_H_
#define AGENT_ADAPTERS_TENSORFLOW_VARIABLES_H_

#include <cstdint>
#include <vector>

#include "agent/base/mutex.h"
#include "graphdbg/agent.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor.h"

namespace graphdbg::tensorflow {

// Reads the program's variables without running ops. Thread-safe.
class Variables {
 public:
  // The variable of a handle that an EagerTensor of Python holds, given as the
  // address of its TFE_TensorHandle. The caller owns a reference. Null for
  // other tensors, and for variables on other devices.
  static ::tensorflow::Var* Find(void* tensor_handle);
  // The first element of a variable of type float32; 0 if it is another one.
  static double ScalarOf(::tensorflow::Var* variable);

  // As host.resolve: describes the current value of a variable of Find(). The
  // value is kept until the next ReleaseResolved().
  int Resolve(void* variable, graphdbg_tensor* out, int64_t* shape);
  void ReleaseResolved();

 private:
  Mutex mu_;
  std::vector<::tensorflow::Tensor> resolved_ GRAPHDBG_GUARDED_BY(mu_);
};

// The value of an EagerTensor, given as the address of its TFE_TensorHandle;
// false if it is not in the host's memory.
bool EagerValue(void* tensor_handle, ::tensorflow::Tensor* value);

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_VARIABLES_H_
