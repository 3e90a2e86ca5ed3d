#include "agent/adapters/pytorch/tape.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <mutex>

#include "agent/adapters/pytorch/torch_compat.h"

namespace graphdbg::pytorch {
namespace {

// Longer steps lose their beginning.
constexpr size_t kMaxTapedOps = 1'000'000;
// Tables with fewer entries than one in so many slots are not used again.
constexpr size_t kMaxSparseness = 16;

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

// The value of an argument that is not a tensor as the tape holds it, without
// the tensors in it.
c10::IValue TapedValueOf(const OpValue& value) {
  if (value.is_list_of_tensors()) {
    return static_cast<int64_t>(value.list_size());
  }
  c10::IValue boxed = value.Box();
  return boxed.isGenerator() ? c10::IValue() : boxed;
}

// Whether the tensor is all of its storage, each element once.
bool IsWhole(const at::TensorBase& tensor, const c10::StorageImpl& storage) {
  return tensor.storage_offset() == 0 &&
         tensor.numel() * tensor.itemsize() == storage.nbytes() &&
         tensor.is_non_overlapping_and_dense();
}

// The generator that an op takes its numbers from if it is called on a device.
at::Generator GeneratorOf(OpValues arguments, c10::Device device) {
  for (const OpValue& value : arguments) {
    if (value.is_tensor() || value.is_list_of_tensors()) continue;
    const c10::IValue argument = value.Box();
    if (argument.isGenerator()) return argument.toGenerator();
    if (argument.isDevice()) device = argument.toDevice();
  }
  return at::globalContext().defaultGenerator(device);
}

}  // namespace

Tape::Mark Tape::Begin(const OpInfo& info, const OpPlace& place, bool complete,
                       OpValues arguments) {
  MutexLock lock(&mu_);
  const uint32_t number = BeginLocked(info, place, complete, arguments);
  return {number, generation_};
}

uint32_t Tape::BeginLocked(const OpInfo& info, const OpPlace& place,
                           bool complete, OpValues arguments) {
  const bool whole_step = content_.mode != GRAPHDBG_TAPE_OFF;
  if (content_.ops.size() == kMaxTapedOps) {
    Content empty;
    // The step cannot be repeated any more.
    empty.bytes = UINT64_MAX;
    empty.mode = content_.mode;
    content_ = std::move(empty);
    recently_held_ = {};
    ++generation_;
  }
  const auto number = static_cast<uint32_t>(content_.ops.size());
  Op& op = content_.ops.emplace_back();
  op.info = &info;
  op.node = place.node;
  op.grad = c10::GradMode::is_enabled();
  op.complete = (complete || whole_step) && info.schema != nullptr;
  if (op.complete) {
    AddArguments(arguments, &op);
  } else if (info.returns_nothing) {
    op.tensors = AddTensors(arguments);
  }
  if (!armed_.empty() && armed_.count(place.node) > 0) {
    CopyOverwritten(info, arguments, number);
  }
  if (whole_step) {
    op.kept = !CanBeRepeated(op) ||
              (info.random && !KeepRandomState(arguments, op, number));
    KeepInputs(op, number, place.in_optimizer);
  }
  return number;
}

bool Tape::CanBeRepeated(const Op& op) const {
  if (!op.complete || op.info->only_here ||
      (op.info->flags & GRAPHDBG_UNINITIALIZED) != 0) {
    return false;
  }
  for (uint32_t i = op.tensors.begin; i < op.tensors.end; ++i) {
    if (content_.views[i].address() == nullptr) return false;
  }
  return true;
}

bool Tape::KeepRandomState(OpValues arguments, const Op& op, uint32_t number) {
  const c10::Device device = op.tensors.begin != op.tensors.end
                                 ? content_.views[op.tensors.begin].device
                                 : c10::Device(c10::DeviceType::CPU);
  at::Tensor state;
  try {
    at::Generator generator = GeneratorOf(arguments, device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    state = generator.get_state();
  } catch (const std::exception&) {
    // While a graph of CUDA is captured, for example.
    return false;
  }
  if (!Spend(state.nbytes())) return false;
  content_.random.push_back(
      {number, StorageRef::reclaim_copy(state.unsafeGetTensorImpl()
                                            ->unsafe_storage()
                                            .unsafeGetStorageImpl())});
  return true;
}

void Tape::KeepInputs(const Op& op, uint32_t number, bool in_optimizer) {
  for (uint32_t i = op.tensors.begin; i < op.tensors.end; ++i) {
    const View& view = content_.views[i];
    if (view.address() == nullptr) continue;
    const auto [entry, is_new] = known_.emplace(view.address(), Known());
    Known& known = entry->second;
    if (is_new) {
      known = {Origin::kUnread, StorageRef::reclaim_copy(view.address())};
    }
    if (known.origin == Origin::kUnread && !view.Overwritten(*op.info)) {
      known.origin = Origin::kGiven;
    }
  }
  if (!op.info->writes) return;
  const bool copies =
      content_.mode == GRAPHDBG_TAPE_WHOLE_STEP || !in_optimizer;
  for (uint32_t i = op.tensors.begin; i < op.tensors.end; ++i) {
    const View& view = content_.views[i];
    if (view.address() == nullptr || !view.Written(*op.info)) continue;
    Known& known = known_[view.address()];
    if (known.origin == Origin::kGiven && copies &&
        Spend(view.address()->nbytes())) {
      content_.copies.push_back(
          {number, view.address(), spare_.CopyOf(view.address())});
    }
    // The op itself refers to it.
    known = Known();
  }
}

void Tape::KeepResults(const Op& op) {
  const auto keep = [this](const View& view) {
    Known& known = known_[view.address()];
    if (!Spend(view.address()->nbytes())) return;
    known = {Origin::kUnread, view.Lock()};
  };
  for (uint32_t i = op.results.begin; i < op.results.end; ++i) {
    const View& view = content_.views[i];
    if (view.address() == nullptr) continue;
    const bool is_new = known_.emplace(view.address(), Known()).second;
    if (is_new && op.kept) keep(view);
  }
  if (!op.kept) return;
  for (uint32_t i = op.tensors.begin; i < op.tensors.end; ++i) {
    const View& view = content_.views[i];
    if (view.address() != nullptr && view.Written(*op.info)) keep(view);
  }
}

bool Tape::Spend(uint64_t bytes) {
  // Counted beyond the budget, too: a tape with gaps cannot be used.
  content_.bytes += std::min(bytes, UINT64_MAX - content_.bytes);
  return !content_.over_budget();
}

void Tape::AddArguments(OpValues arguments, Op* op) {
  op->values.begin = static_cast<uint32_t>(content_.values.size());
  op->tensors.begin = static_cast<uint32_t>(content_.views.size());
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_tensor()) {
      AddTensorArgument(arguments[i].tensor(), i);
    } else {
      content_.values.push_back(TapedValueOf(arguments[i]));
      AddTensorsOf(arguments[i], i);
    }
  }
  op->values.end = static_cast<uint32_t>(content_.values.size());
  op->tensors.end = static_cast<uint32_t>(content_.views.size());
  if (op->tensors.begin != op->tensors.end) {
    op->autocast =
        AutocastTypeOf(content_.views[op->tensors.begin].device.type());
  }
}

void Tape::AddTensorArgument(const at::Tensor& tensor, uint32_t index) {
  if (IsNumber(tensor)) {
    content_.values.push_back(NumberOf(tensor));
  } else {
    content_.values.emplace_back();
    AddView(tensor, index, -1);
  }
}

Tape::Range Tape::AddTensors(OpValues values) {
  Range range;
  range.begin = static_cast<uint32_t>(content_.views.size());
  for (uint32_t i = 0; i < values.size(); ++i) AddTensorsOf(values[i], i);
  range.end = static_cast<uint32_t>(content_.views.size());
  return range;
}

void Tape::AddTensorsOf(const OpValue& value, uint32_t index) {
  value.ForEachTensor([&](const at::Tensor& tensor, int32_t element) {
    if (!IsNumber(tensor)) AddView(tensor, index, element);
  });
}

void Tape::AddView(const at::TensorBase& tensor, uint32_t index,
                   int32_t element) {
  if (!tensor.defined()) return;
  // In place: copying what was just written field by field takes longer.
  View& view = content_.views.emplace_back();
  view.index = index;
  view.element = element;
  view.storage = PlainStorage(tensor);
  if (view.storage != nullptr) {
    Hold(view.storage);
    view.offset = tensor.storage_offset();
    view.ndim = static_cast<uint32_t>(tensor.dim());
    view.dimensions = AddDimensions(tensor.sizes(), tensor.strides());
    view.dtype = tensor.scalar_type();
    view.device = tensor.device();
    view.whole = IsWhole(tensor, *view.storage);
  }
}

uint32_t Tape::AddDimensions(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  const size_t begin = content_.dimensions_used;
  const size_t end = begin + 2 * sizes.size();
  // The vector does not shrink: setting numbers to 0 first takes time.
  if (end > content_.dimensions.size()) content_.dimensions.resize(2 * end);
  content_.dimensions_used = end;
  // Mostly two or three, for which calling memcpy takes longer.
  int64_t* next = content_.dimensions.data() + begin;
  for (const int64_t size : sizes) *next++ = size;
  for (const int64_t stride : strides) *next++ = stride;
  return static_cast<uint32_t>(begin);
}

void Tape::Hold(c10::StorageImpl* storage) {
  // Storages are at least 64 bytes large.
  c10::StorageImpl*& recent =
      recently_held_[reinterpret_cast<uintptr_t>(storage) / 64 % kRecentlyHeld];
  if (recent == storage) return;
  recent = storage;
  content_.held.push_back(WeakStorage::reclaim_copy(storage));
}

void Tape::CopyOverwritten(const OpInfo& info, OpValues arguments,
                           uint32_t op) {
  for (size_t i = 0; i < arguments.size() && i < info.written.size(); ++i) {
    if (!info.written[i] || info.out_only[i]) continue;
    arguments[i].ForEachTensor([&](const at::Tensor& tensor, int32_t) {
      if (c10::StorageImpl* const storage = PlainStorage(tensor)) {
        content_.copies.push_back({op, storage, spare_.CopyOf(storage)});
      }
    });
  }
}

void Tape::End(Mark mark, OpValues results) {
  MutexLock lock(&mu_);
  if (mark.generation == generation_) EndLocked(mark.op, results);
}

void Tape::Add(const OpInfo& info, const OpPlace& place, bool complete,
               OpValues arguments, OpValues results) {
  MutexLock lock(&mu_);
  // It began in the step before, whose end has set the mode.
  if (content_.mode != GRAPHDBG_TAPE_OFF) return;
  EndLocked(BeginLocked(info, place, complete, arguments), results);
}

void Tape::EndLocked(uint32_t number, OpValues results) {
  Op& op = content_.ops[number];
  op.results = AddTensors(results);
  op.ended = true;
  if (content_.mode != GRAPHDBG_TAPE_OFF) KeepResults(op);
}

void Tape::Arm(uint32_t node) {
  MutexLock lock(&mu_);
  armed_.insert(node);
  keeps_inputs_ = true;
}

void Tape::Clear() {
  // Freed without the lock: some memory belongs to Python, whose lock a thread
  // may hold that waits for this one.
  KnownStorages known;
  {
    MutexLock lock(&mu_);
    ++generation_;
    known.swap(known_);
    known_.swap(empty_);
    // Vectors keep their memory: the next step will be as long.
    spare_.ReleaseUnused();
    if (next_mode_ != GRAPHDBG_TAPE_OFF) {
      for (Copy& copy : content_.copies) spare_.GiveBack(std::move(copy.copy));
    }
    content_.copies.clear();
    content_.random.clear();
    content_.ops.clear();
    content_.values.clear();
    content_.views.clear();
    content_.held.clear();
    recently_held_ = {};
    content_.dimensions_used = 0;
    content_.bytes = 0;
    content_.mode = next_mode_;
    keeps_inputs_ = next_mode_ != GRAPHDBG_TAPE_OFF || !armed_.empty();
    content_.budget = next_budget_;
  }
  // Clearing takes as long as the table is large.
  if (known.bucket_count() > kMaxSparseness * known.size()) return;
  known.clear();
  MutexLock lock(&mu_);
  empty_.swap(known);
}

void Tape::SetMode(graphdbg_tape_mode mode, uint64_t budget) {
  MutexLock lock(&mu_);
  next_mode_ = mode;
  next_budget_ = budget;
}

bool Tape::HasMode() const {
  MutexLock lock(&mu_);
  return content_.mode != GRAPHDBG_TAPE_OFF;
}

}  // namespace graphdbg::pytorch
