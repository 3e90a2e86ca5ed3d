#include "agent/adapters/tensorflow/variables.h"

#include <cstring>
#include <utility>

#include "agent/adapters/tensorflow/tensor_view.h"
#include "tensorflow/c/eager/immediate_execution_tensor_handle.h"
#include "tensorflow/c/tf_tensor_internal.h"
#include "tensorflow/core/framework/resource_handle.h"

namespace graphdbg::tensorflow {
bool EagerValue(void* tensor_handle, ::tensorflow::Tensor* value) {
  if (tensor_handle == nullptr) return false;
  auto* const handle =
      static_cast<::tensorflow::ImmediateExecutionTensorHandle*>(tensor_handle);
  absl::Status status;
  // Values of other devices would be copied.
  const char* const device = handle->BackingDeviceName(&status);
  if (!status.ok() || std::strstr(device, "/device:CPU:") == nullptr) {
    return false;
  }
  ::tensorflow::AbstractTensorInterface* const tensor =
      handle->Resolve(&status);
  if (!status.ok() || tensor == nullptr) return false;
  *value = static_cast<::tensorflow::TensorInterface*>(tensor)->Tensor();
  tensor->Release();
  return true;
}

::tensorflow::Var* Variables::Find(void* tensor_handle) {
  ::tensorflow::Tensor value;
  if (!EagerValue(tensor_handle, &value) ||
      value.dtype() != ::tensorflow::DT_RESOURCE || value.NumElements() != 1) {
    return nullptr;
  }
  const auto& handle = value.flat<::tensorflow::ResourceHandle>()(0);
  if (!handle.IsRefCounting()) return nullptr;
  const auto variable = handle.GetResource<::tensorflow::Var>();
  if (!variable.ok()) return nullptr;
  (*variable)->Ref();
  return *variable;
}

double Variables::ScalarOf(::tensorflow::Var* variable) {
  ::tensorflow::tf_shared_lock lock(*variable->mu());
  const ::tensorflow::Tensor& value = *variable->tensor();
  if (value.dtype() != ::tensorflow::DT_FLOAT || value.NumElements() != 1) {
    return 0;
  }
  return value.flat<float>()(0);
}

int Variables::Resolve(void* bound, graphdbg_tensor* out, int64_t* shape) {
  auto* const variable = static_cast<::tensorflow::Var*>(bound);
  ::tensorflow::Tensor value;
  {
    ::tensorflow::tf_shared_lock lock(*variable->mu());
    if (!variable->is_initialized) return 1;
    value = *variable->tensor();
  }
  DescribeTensor(value, /*on_host=*/true, shape, out);
  MutexLock lock(&mu_);
  resolved_.push_back(std::move(value));
  return out->data == nullptr ? 1 : 0;
}

void Variables::ReleaseResolved() {
  MutexLock lock(&mu_);
  resolved_.clear();
}

}  // namespace graphdbg::tensorflow
