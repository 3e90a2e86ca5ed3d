#include "agent/adapters/pytorch/typed_kernels.h"

#include <ATen/Operators.h>
#include <torch/library.h>

#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "agent/adapters/pytorch/dispatch_call.h"
#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_values.h"
#include "agent/adapters/pytorch/torch_compat.h"

namespace graphdbg::pytorch {
namespace {

template <class Result>
std::array<OpValue, 1> ResultValuesOf(const Result& result) {
  return {OpValue(result)};
}

template <class... Results>
std::array<OpValue, sizeof...(Results)> ResultValuesOf(
    const std::tuple<Results...>& results) {
  return std::apply(
      [](const auto&... each) {
        return std::array<OpValue, sizeof...(Results)>{OpValue(each)...};
      },
      results);
}

// `Op` is a struct of at::_ops.
template <class Op, class Schema>
class TypedKernel;

template <class Op, class Result, class... Arguments>
class TypedKernel<Op, Result(Arguments...)> {
 public:
  static void Register(torch::Library* library) {
    std::string name = Op::name;
    std::string overload = Op::overload_name;
    const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
    if (!op) return;
    info_ = FindOp(*op);
    // It has a fall-through.
    if (info_->IsNeverNode()) return;
    if (!overload.empty()) name += '.' + overload;
    library->impl(name.c_str(), torch::CppFunction::makeFromUnboxedFunction(
                                    &TypedKernel::Call));
  }

 private:
  static Result Call(c10::DispatchKeySet keys, Arguments... arguments) {
    // Arguments are not moved, because a failure is reported with them.
    const auto kernel = [&]() -> Result {
      return Op::redispatch(KeysBelowDebugger(keys), arguments...);
    };
    const Route route = RouteOf(*info_, keys);
    if (route == Route::kPassed) return kernel();
    if (route == Route::kPython) {
      const RecordOpsThatBypass python(kDebuggerKey, dispatch_tracing.tracer);
      return kernel();
    }
    const std::array<OpValue, sizeof...(Arguments)> values{
        OpValue(arguments)...};
    LeafCall call(*info_, values, ArgumentLifetime::kCall);
    const auto argument_values = [&] { return OpValues(values); };
    if constexpr (std::is_void_v<Result>) {
      call.Run(kernel, argument_values);
      if (call.traced()) call.End({});
    } else {
      Result result = call.Run(kernel, argument_values);
      if (call.traced()) call.End(ResultValuesOf(result));
      return result;
    }
  }

  static inline const OpInfo* info_ = nullptr;
};

template <class Op>
void RegisterTyped(torch::Library* library) {
  TypedKernel<Op, typename Op::schema>::Register(library);
}

}  // namespace

void RegisterTypedKernels() {
  // Never destroyed: threads may run ops during process exit.
  static auto* const library = new torch::Library(
      torch::Library::IMPL, "aten", kDebuggerKey, __FILE__, __LINE__);
#define GRAPHDBG_OP(op) RegisterTyped<at::_ops::op>(library);
#include "agent/adapters/pytorch/typed_ops.inc"
#undef GRAPHDBG_OP
}

}  // namespace graphdbg::pytorch
