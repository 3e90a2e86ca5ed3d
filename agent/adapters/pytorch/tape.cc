#include "agent/adapters/pytorch/tape.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "agent/adapters/pytorch/torch_compat.h"

namespace graphdbg::pytorch {
namespace {

// Longer steps lose their beginning.
constexpr size_t kMaxTapedOps = 1'000'000;

// The type that autocast converts arguments to on this thread.
c10::ScalarType AutocastTypeOf(c10::DeviceType device) {
  const bool gpu = device == c10::DeviceType::CUDA;
  const auto key =
      gpu ? c10::DispatchKey::AutocastCUDA : c10::DispatchKey::AutocastCPU;
  if ((!gpu && device != c10::DeviceType::CPU) ||
      c10::impl::tls_is_dispatch_key_excluded(key)) {
    return c10::ScalarType::Undefined;
  }
#if GRAPHDBG_TORCH_HAS_AUTOCAST_OF_DEVICE
  return at::autocast::get_autocast_dtype(device);
#else
  return gpu ? at::autocast::get_autocast_gpu_dtype()
             : at::autocast::get_autocast_cpu_dtype();
#endif
}

// The value of a tensor that PyTorch has made of a Python number.
c10::IValue NumberOf(const at::TensorBase& tensor) {
  const void* const data = tensor.unsafeGetTensorImpl()->storage().data();
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Double:
      return *static_cast<const double*>(data);
    case c10::ScalarType::Long:
      return *static_cast<const int64_t*>(data);
    case c10::ScalarType::Bool:
      return *static_cast<const bool*>(data);
    case c10::ScalarType::ComplexDouble:
      return *static_cast<const c10::complex<double>*>(data);
    default:
      return {};
  }
}

bool IsNumber(const at::TensorBase& tensor) {
  return tensor.defined() &&
         tensor.unsafeGetTensorImpl()->is_wrapped_number() &&
         tensor.dim() == 0 && tensor.device().is_cpu() &&
         PlainStorage(tensor) != nullptr;
}

bool IsListOfTensors(const c10::IValue& value) {
  if (value.isTensorList()) return true;
  if (!value.isList()) return false;
  const c10::TypePtr element = value.toList().elementType();
  return element->kind() == c10::TypeKind::TensorType ||
         (element->kind() == c10::TypeKind::OptionalType &&
          element->containedType(0)->kind() == c10::TypeKind::TensorType);
}

// The value of an argument as the tape holds it, without its tensors.
c10::IValue WithoutTensors(const c10::IValue& value) {
  if (value.isTensor()) {
    return IsNumber(value.toTensor()) ? NumberOf(value.toTensor())
                                      : c10::IValue();
  }
  if (IsListOfTensors(value)) {
    return static_cast<int64_t>(value.toListRef().size());
  }
  if (value.isGenerator()) return {};
  return value;
}

StorageRef CopyOf(c10::StorageImpl* storage) {
  const auto bytes = static_cast<int64_t>(storage->nbytes());
  at::Tensor all = at::empty(
      {0}, at::TensorOptions().dtype(at::kByte).device(storage->device()));
  all.set_(c10::Storage(StorageRef::reclaim_copy(storage)), 0, {bytes}, {1});
  return StorageRef::reclaim_copy(
      all.clone().unsafeGetTensorImpl()->storage().unsafeGetStorageImpl());
}

}  // namespace

Tape::Mark Tape::Begin(const OpInfo& info, uint32_t node, bool complete,
                       c10::ArrayRef<c10::IValue> arguments) {
  MutexLock lock(&mu_);
  if (content_.ops.size() == kMaxTapedOps) {
    content_ = Content();
    ++generation_;
  }
  Op op;
  op.info = &info;
  op.node = node;
  op.complete = complete && info.schema != nullptr;
  const auto number = static_cast<uint32_t>(content_.ops.size());
  if (op.complete) {
    AddArguments(arguments, &op);
  } else if (info.returns_nothing) {
    op.tensors = AddTensors(arguments);
  }
  if (!armed_.empty() && armed_.count(node) > 0) {
    CopyOverwritten(info, arguments, number);
  }
  content_.ops.push_back(op);
  return {number, generation_};
}

void Tape::AddArguments(c10::ArrayRef<c10::IValue> arguments, Op* op) {
  op->values.begin = static_cast<uint32_t>(content_.values.size());
  for (const c10::IValue& argument : arguments) {
    content_.values.push_back(WithoutTensors(argument));
  }
  op->values.end = static_cast<uint32_t>(content_.values.size());
  op->tensors = AddTensors(arguments);
  if (op->tensors.begin != op->tensors.end) {
    op->autocast =
        AutocastTypeOf(content_.views[op->tensors.begin].device.type());
  }
}

Tape::Range Tape::AddTensors(c10::ArrayRef<c10::IValue> values) {
  Range range;
  range.begin = static_cast<uint32_t>(content_.views.size());
  for (uint32_t i = 0; i < values.size(); ++i) {
    const c10::IValue& value = values[i];
    if (value.isTensor()) {
      AddView(value.toTensor(), i, -1);
    } else if (value.isTensorList() || value.isList()) {
      if (!IsListOfTensors(value)) continue;
      int32_t element = 0;
      for (const c10::IValue& each : value.toListRef()) {
        if (each.isTensor()) AddView(each.toTensor(), i, element);
        ++element;
      }
    }
  }
  range.end = static_cast<uint32_t>(content_.views.size());
  return range;
}

void Tape::AddView(const at::TensorBase& tensor, uint32_t index,
                   int32_t element) {
  if (!tensor.defined() || IsNumber(tensor)) return;
  c10::StorageImpl* const storage = PlainStorage(tensor);
  if (storage == nullptr) {
    content_.views.push_back(
        {WeakStorage(StorageRef()), 0, 0, 0, c10::ScalarType::Undefined,
         c10::Device(c10::DeviceType::CPU), index, element});
    return;
  }
  const auto dimensions = static_cast<uint32_t>(content_.dimensions.size());
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  content_.dimensions.insert(content_.dimensions.end(), sizes.begin(),
                             sizes.end());
  content_.dimensions.insert(content_.dimensions.end(), strides.begin(),
                             strides.end());
  content_.views.push_back(
      {WeakStorage(StorageRef::reclaim_copy(storage)), tensor.storage_offset(),
       dimensions, static_cast<uint32_t>(sizes.size()), tensor.scalar_type(),
       tensor.device(), index, element});
}

void Tape::CopyOverwritten(const OpInfo& info,
                           c10::ArrayRef<c10::IValue> arguments, uint32_t op) {
  for (size_t i = 0; i < arguments.size() && i < info.written.size(); ++i) {
    if (!info.written[i] || info.out_only[i]) continue;
    const auto copy = [&](const at::TensorBase& tensor) {
      if (c10::StorageImpl* const storage = PlainStorage(tensor)) {
        content_.copies.push_back({op, storage, CopyOf(storage)});
      }
    };
    if (arguments[i].isTensor()) {
      copy(arguments[i].toTensor());
    } else if (IsListOfTensors(arguments[i])) {
      for (const c10::IValue& each : arguments[i].toListRef()) {
        if (each.isTensor()) copy(each.toTensor());
      }
    }
  }
}

void Tape::End(Mark mark, c10::ArrayRef<c10::IValue> results) {
  MutexLock lock(&mu_);
  if (mark.generation != generation_) return;
  Op& op = content_.ops[mark.op];
  op.results = AddTensors(results);
  op.ended = true;
}

void Tape::Arm(uint32_t node) {
  MutexLock lock(&mu_);
  armed_.insert(node);
}

void Tape::Clear() {
  MutexLock lock(&mu_);
  ++generation_;
  // Their memory is used again: the next step will be as long.
  content_.ops.clear();
  content_.values.clear();
  content_.views.clear();
  content_.dimensions.clear();
  content_.copies.clear();
}

}  // namespace graphdbg::pytorch
