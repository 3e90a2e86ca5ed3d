// Arguments and results of an op, as its caller passes them.
#ifndef AGENT_ADAPTERS_PYTORCH_OP_VALUES_H_
#define AGENT_ADAPTERS_PYTORCH_OP_VALUES_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace graphdbg::pytorch {

// Refers to an argument or a result, either of a C++ type or on the
// dispatcher's stack. Tensors are read in place: making an IValue of each takes
// as long as a small op.
class OpValue {
 public:
  // std::optional or, in older versions of PyTorch, its predecessor.
  using OptionalTensor =
      decltype(std::declval<const c10::IValue&>().toOptional<at::Tensor>());

  explicit OpValue(const at::Tensor& tensor)
      : OpValue(Kind::kTensor, &tensor, 1, Boxed<at::Tensor>) {}
  explicit OpValue(const OptionalTensor& tensor)
      : OpValue(Kind::kOther, &tensor, 1, Boxed<OptionalTensor>) {
    if (tensor) *this = OpValue(*tensor);
  }
  explicit OpValue(const at::TensorList& tensors)
      : OpValue(Kind::kTensors, tensors.data(), tensors.size(), BoxedTensors) {}
  explicit OpValue(const std::vector<at::Tensor>& tensors)
      : OpValue(at::TensorList(tensors)) {}
  explicit OpValue(const c10::IValue& value)
      : kind_(Kind::kOther), value_(&value), box_(Boxed<c10::IValue>) {
    if (value.isTensor()) {
      kind_ = Kind::kTensor;
      value_ = &value.toTensor();
      box_ = Boxed<at::Tensor>;
    } else if (value.isList() && HoldsTensors(value)) {
      kind_ = Kind::kBoxedTensors;
    }
  }
  template <class T>
  explicit OpValue(const T& value)
      : OpValue(Kind::kOther, &value, 1, Boxed<T>) {}

  bool is_tensor() const { return kind_ == Kind::kTensor; }
  // Its elements are tensors or, in lists of optional tensors, may be.
  bool is_list_of_tensors() const {
    return kind_ == Kind::kTensors || kind_ == Kind::kBoxedTensors;
  }
  // Requires is_tensor(). May be undefined.
  const at::Tensor& tensor() const {
    return *static_cast<const at::Tensor*>(value_);
  }
  // Requires is_list_of_tensors().
  size_t list_size() const {
    return kind_ == Kind::kTensors ? size_ : BoxedList().size();
  }

  // Calls visit(const at::Tensor&, int32_t) with each tensor and its position
  // in the list, or -1 if it is not in one.
  template <class Visit>
  void ForEachTensor(Visit visit) const {
    if (kind_ == Kind::kTensor) {
      visit(tensor(), -1);
    } else if (kind_ == Kind::kTensors) {
      const auto* const tensors = static_cast<const at::Tensor*>(value_);
      for (size_t i = 0; i < size_; ++i) {
        visit(tensors[i], static_cast<int32_t>(i));
      }
    } else if (kind_ == Kind::kBoxedTensors) {
      const c10::ArrayRef<c10::IValue> list = BoxedList();
      for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].isTensor()) {
          visit(list[i].toTensor(), static_cast<int32_t>(i));
        }
      }
    }
  }

  c10::IValue Box() const { return box_(*this); }

 private:
  enum class Kind : uint8_t { kTensor, kTensors, kBoxedTensors, kOther };
  using BoxFunction = c10::IValue (*)(const OpValue&);

  OpValue(Kind kind, const void* value, size_t size, BoxFunction box)
      : kind_(kind), value_(value), size_(size), box_(box) {}

  static bool HoldsTensors(const c10::IValue& value);
  c10::ArrayRef<c10::IValue> BoxedList() const {
    return static_cast<const c10::IValue*>(value_)->toListRef();
  }
  template <class T>
  static c10::IValue Boxed(const OpValue& value) {
    return c10::IValue(*static_cast<const T*>(value.value_));
  }
  static c10::IValue BoxedTensors(const OpValue& value) {
    return c10::IValue(at::TensorList(
        static_cast<const at::Tensor*>(value.value_), value.size_));
  }

  Kind kind_;
  const void* value_;
  size_t size_ = 1;
  BoxFunction box_;
};

using OpValues = c10::ArrayRef<OpValue>;

// How long arguments can be read: until the kernel runs, which drops those on
// the stack, or until the call has been processed.
enum class ArgumentLifetime : uint8_t { kKernel, kCall };

// The values of a part of the dispatcher's stack, which must outlive them.
class BoxedOpValues {
 public:
  explicit BoxedOpValues(c10::ArrayRef<c10::IValue> values) {
    values_.reserve(values.size());
    for (const c10::IValue& value : values) values_.emplace_back(value);
  }
  operator OpValues() const { return values_; }

 private:
  c10::SmallVector<OpValue, 12> values_;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_VALUES_H_
