#include "agent/adapters/pytorch/intentional_fill.h"

#include <cmath>

#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

bool HoldsInfinity(const at::TensorBase& tensor) {
  c10::StorageImpl* const storage = PlainStorage(tensor);
  if (storage == nullptr || tensor.dim() != 0 || !tensor.device().is_cpu()) {
    return false;
  }
  graphdbg_tensor description;
  DescribeTensor(tensor, storage, &description);
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Float:
      return std::isinf(*static_cast<const float*>(description.data));
    case c10::ScalarType::Double:
      return std::isinf(*static_cast<const double*>(description.data));
    case c10::ScalarType::Half:
      return std::isinf(
          static_cast<float>(*static_cast<const c10::Half*>(description.data)));
    case c10::ScalarType::BFloat16:
      return std::isinf(static_cast<float>(
          *static_cast<const c10::BFloat16*>(description.data)));
    default:
      return false;
  }
}

}  // namespace

bool HasIntentionalNonFinite(OpValues arguments) {
  for (const OpValue& value : arguments) {
    const c10::IValue argument = value.Box();
    if (argument.isDouble() && !std::isfinite(argument.toDouble())) return true;
    if (argument.isTensor() && HoldsInfinity(argument.toTensor())) return true;
  }
  return false;
}

}  // namespace graphdbg::pytorch
