#ifndef AGENT_ADAPTERS_TENSORFLOW_WRAPPING_KERNEL_H_
#define AGENT_ADAPTERS_TENSORFLOW_WRAPPING_KERNEL_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "agent/adapters/tensorflow/op_table.h"
#include "agent/adapters/tensorflow/tensor_view.h"
#include "agent/base/mutex.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace graphdbg::tensorflow {

// A kernel that executes another one and reports what it has computed.
class WrappingKernel : public ::tensorflow::OpKernel {
 public:
  WrappingKernel(::tensorflow::OpKernelConstruction* construction,
                 std::unique_ptr<::tensorflow::OpKernel> inner);

  void Compute(::tensorflow::OpKernelContext* context) override;
  bool IsExpensive() override { return inner_->IsExpensive(); }
  const ::tensorflow::Tensor* const_tensor() const override {
    return inner_->const_tensor();
  }
  std::string TraceString(const ::tensorflow::OpKernelContext& context,
                          bool verbose) const override {
    return inner_->TraceString(context, verbose);
  }

 private:
  // The node that the kernel executes within a function.
  struct Place {
    const OpEntry* op = nullptr;
    std::vector<Producer> inputs;
    // Of the table, when this was found out.
    uint64_t version = 0;
  };

  void Execute(::tensorflow::OpKernelContext* context);
  void ExecuteTraced(::tensorflow::OpKernelContext* context);
  // Whether the op is executed outside of functions.
  bool IsEager(const ::tensorflow::OpKernelContext& context) const;
  // Called when the user has ended the program.
  static void End(::tensorflow::OpKernelContext* context, bool eager);
  const Place& FindPlace();
  std::unique_ptr<Place> MakePlace() const;

  const std::unique_ptr<::tensorflow::OpKernel> inner_;
  const bool may_be_eager_;
  const bool may_count_;
  std::atomic<const Place*> place_{nullptr};
  Mutex mu_;
  // All that place_ has ever been: other threads may still read an earlier one.
  std::vector<std::unique_ptr<Place>> places_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_WRAPPING_KERNEL_H_
