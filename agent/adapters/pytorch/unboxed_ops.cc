#include <torch/library.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>

// One header for each op is a hundredth of all of them.
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/_unsafe_view_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addcdiv_ops.h>
#include <ATen/ops/addcmul_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/detach_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/expand_ops.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/nll_loss_backward_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>
#include <ATen/ops/permute_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/t_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <ATen/ops/transpose_ops.h>
#include <ATen/ops/unsqueeze_ops.h>
#include <ATen/ops/view_ops.h>
#include <ATen/ops/zero_ops.h>

#include "agent/adapters/pytorch/dispatch_engine.h"

namespace graphdbg::pytorch {
namespace {

const OpInfo& InfoOfOp(const char* name, const char* overload) {
  return *FindOp(
      c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

std::array<c10::IValue, 1> ValuesOf(const at::Tensor& result) {
  return {c10::IValue(result)};
}

template <typename... Tensors>
std::array<c10::IValue, sizeof...(Tensors)> ValuesOf(
    const std::tuple<Tensors...>& results) {
  return std::apply(
      [](const Tensors&... each) {
        return std::array<c10::IValue, sizeof...(Tensors)>{
            c10::IValue(each)...};
      },
      results);
}

// The engine's kernel for one op: what its fallback does, but the op itself is
// called with its arguments as they are. They are boxed for the tracer only,
// and not before it needs them.
template <typename Op, typename Schema>
struct UnboxedKernel;

template <typename Op, typename Result, typename... Arguments>
struct UnboxedKernel<Op, Result(Arguments...)> {
  static Result Call(c10::DispatchKeySet keys, Arguments... arguments) {
    const auto run = [&]() -> Result {
      return Op::redispatch(KeysAfterEngine(keys), arguments...);
    };
    if (!FollowsThread()) return run();
    static const OpInfo& info = InfoOfOp(Op::name, Op::overload_name);
    switch (WayOf(info, keys)) {
      case DispatchedCall::kFollowed: {
        const auto boxed = [&] {
          return std::array<c10::IValue, sizeof...(Arguments)>{
              c10::IValue(arguments)...};
        };
        FollowedOp followed(info, boxed());
        Result result = followed.Call(run, boxed);
        followed.End(ValuesOf(result));
        return result;
      }
      case DispatchedCall::kByPython: {
        const RecordOpsThatBypass python(kEngineKey, DispatchTracer());
        return run();
      }
      case DispatchedCall::kUnfollowed:
        break;
    }
    return run();
  }
};

template <typename... Ops>
void RegisterKernels(torch::Library* library) {
  const auto add = [library](const char* name, const char* overload,
                             torch::CppFunction kernel) {
    const std::string full_name =
        *overload == '\0' ? name : std::string(name) + '.' + overload;
    library->impl(full_name.c_str(), std::move(kernel));
  };
  (add(Ops::name, Ops::overload_name,
       torch::CppFunction(
           TORCH_FN((UnboxedKernel<Ops, typename Ops::schema>::Call)))),
   ...);
}

}  // namespace

void RegisterUnboxedOps() {
  // Never destroyed: threads may run ops during process exit.
  static auto* const library = new torch::Library(
      torch::Library::IMPL, "aten", kEngineKey, __FILE__, __LINE__);
  RegisterKernels<
      at::_ops::_log_softmax, at::_ops::_log_softmax_backward_data,
      at::_ops::_softmax, at::_ops::_softmax_backward_data,
      at::_ops::_unsafe_view, at::_ops::add_Tensor, at::_ops::add__Tensor,
      at::_ops::add_Scalar, at::_ops::add__Scalar, at::_ops::addcdiv_,
      at::_ops::addcmul_, at::_ops::addmm, at::_ops::bmm, at::_ops::clone,
      at::_ops::convolution, at::_ops::convolution_backward, at::_ops::detach,
      at::_ops::div_Tensor, at::_ops::div_Scalar, at::_ops::div__Tensor,
      at::_ops::div__Scalar, at::_ops::embedding, at::_ops::expand,
      at::_ops::gelu, at::_ops::gelu_backward, at::_ops::lerp__Scalar,
      at::_ops::max_pool2d_with_indices,
      at::_ops::max_pool2d_with_indices_backward, at::_ops::mean,
      at::_ops::mean_dim, at::_ops::mm, at::_ops::mul_Tensor,
      at::_ops::mul__Tensor, at::_ops::mul_Scalar, at::_ops::mul__Scalar,
      at::_ops::native_batch_norm, at::_ops::native_batch_norm_backward,
      at::_ops::native_layer_norm, at::_ops::native_layer_norm_backward,
      at::_ops::nll_loss_backward, at::_ops::nll_loss_forward,
      at::_ops::permute, at::_ops::relu, at::_ops::sqrt, at::_ops::sub_Tensor,
      at::_ops::sum, at::_ops::sum_dim_IntList, at::_ops::t,
      at::_ops::threshold_backward, at::_ops::transpose_int,
      at::_ops::unsqueeze, at::_ops::view, at::_ops::zero_>(library);
}

}  // namespace graphdbg::pytorch
