#include "agent/adapters/tensorflow/kernel_creator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "agent/adapters/tensorflow/tensor_view.h"
#include "agent/adapters/tensorflow/wrapping_kernel.h"
#include "tensorflow/compiler/jit/xla_kernel_creator.h"
#include "tensorflow/core/common_runtime/executor.h"
#include "tensorflow/core/framework/function.h"

namespace tensorflow {

// Exported, but declared in no header.
void RegisterDefaultCustomKernelCreator(CustomKernelCreator* creator);

}  // namespace tensorflow

namespace graphdbg::tensorflow {
namespace {

// Ops that compute nothing: they pass values on, read variables, or hold
// constants.
constexpr std::array<std::string_view, 26> kNotReported = {
    "Const",         "Enter",    "Exit",        "HostConst",      "HostRecv",
    "HostSend",      "Identity", "IdentityN",   "LoopCond",       "Merge",
    "NextIteration", "NoOp",     "Placeholder", "ReadVariableOp", "Recv",
    "RefEnter",      "RefMerge", "RefSwitch",   "Send",           "Switch",
    "VarHandleOp",   "_Arg",     "_EagerConst", "_Recv",          "_Retval",
    "_Send",
};

// Whether the op may set the number of an optimizer's steps, which is an
// integer.
bool MayCountSteps(const ::tensorflow::NodeProperties& properties) {
  const std::string& op = properties.node_def.op();
  if (op != "AssignVariableOp" && op != "AssignAddVariableOp") return false;
  const auto& attributes = properties.node_def.attr();
  const auto dtype = attributes.find("dtype");
  return dtype != attributes.end() &&
         ::tensorflow::DataTypeIsInteger(dtype->second.type());
}

bool IsReported(const ::tensorflow::NodeProperties& properties) {
  const std::string& op = properties.node_def.op();
  if (MayCountSteps(properties)) return true;
  if (std::find(kNotReported.begin(), kNotReported.end(), op) !=
      kNotReported.end()) {
    return false;
  }
  const auto& outputs = properties.output_types;
  return std::any_of(outputs.begin(), outputs.end(), IsFloating) &&
         std::none_of(outputs.begin(), outputs.end(), ::tensorflow::IsRefType);
}

class KernelCreator : public ::tensorflow::CustomKernelCreator {
 public:
  bool CanCreateKernel(
      const ::tensorflow::FunctionLibraryRuntime& runtime,
      const std::shared_ptr<const ::tensorflow::NodeProperties>& properties)
      const override {
    return xla_.CanCreateKernel(runtime, properties) ||
           (IsReported(*properties) && IsPrimitive(runtime, *properties));
  }

  absl::Status CreateKernel(
      ::tensorflow::FunctionLibraryRuntime* runtime,
      const std::shared_ptr<const ::tensorflow::NodeProperties>& properties,
      std::unique_ptr<::tensorflow::OpKernel>* kernel) const override {
    if (xla_.CanCreateKernel(*runtime, properties)) {
      return xla_.CreateKernel(runtime, properties, kernel);
    }
    ::tensorflow::OpKernel* made = nullptr;
    const absl::Status status = ::tensorflow::CreateNonCachedKernel(
        runtime->device(), runtime, properties, runtime->graph_def_version(),
        &made);
    if (!status.ok()) return status;
    kernel->reset(made);
    // Those are seen by the kernels that they start.
    if (made->AsAsync() != nullptr) return absl::OkStatus();
    return Wrap(runtime, properties, kernel);
  }

 private:
  static bool IsPrimitive(const ::tensorflow::FunctionLibraryRuntime& runtime,
                          const ::tensorflow::NodeProperties& properties) {
    const auto* const library = runtime.GetFunctionLibraryDefinition();
    return library == nullptr ||
           library->Find(properties.node_def.op()) == nullptr;
  }

  // The memory types are those of the kernel: on other devices than the host's,
  // those of an op depend on the kernel.
  static absl::Status Wrap(
      ::tensorflow::FunctionLibraryRuntime* runtime,
      const std::shared_ptr<const ::tensorflow::NodeProperties>& properties,
      std::unique_ptr<::tensorflow::OpKernel>* kernel) {
    ::tensorflow::Device* const device = runtime->device();
    absl::Status status;
    ::tensorflow::OpKernelConstruction construction(
        ::tensorflow::DeviceType(device->device_type()), device,
        device->GetAllocator(::tensorflow::AllocatorAttributes()), runtime,
        device->resource_manager(), properties, (*kernel)->input_memory_types(),
        (*kernel)->output_memory_types(), runtime->graph_def_version(),
        &status);
    *kernel =
        std::make_unique<WrappingKernel>(&construction, std::move(*kernel));
    return status;
  }

  const ::tensorflow::XlaKernelCreator xla_;
};

}  // namespace

void InstallKernelCreator() {
  // TensorFlow owns it.
  ::tensorflow::RegisterDefaultCustomKernelCreator(new KernelCreator);
}

}  // namespace graphdbg::tensorflow
