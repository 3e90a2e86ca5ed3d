#include "agent/adapters/pytorch/op_values.h"

namespace graphdbg::pytorch {

bool OpValue::HoldsTensors(const c10::IValue& value) {
  if (value.isTensorList()) return true;
  const c10::TypePtr element = value.toList().elementType();
  return element->kind() == c10::TypeKind::TensorType ||
         (element->kind() == c10::TypeKind::OptionalType &&
          element->containedType(0)->kind() == c10::TypeKind::TensorType);
}

}  // namespace graphdbg::pytorch
