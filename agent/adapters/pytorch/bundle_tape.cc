#include "agent/adapters/pytorch/bundle_tape.h"

#include <ATen/core/function_schema.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "agent/adapters/pytorch/tape_text.h"

namespace graphdbg::pytorch {
namespace {

using TapedOp = Tape::Op;
using TapedView = Tape::View;

// How many ops may have to be repeated because they, or ops behind them,
// overwrote their inputs.
constexpr size_t kMaxRepeated = 64;
// Readers refuse longer tapes.
constexpr size_t kMaxStepOps = 100'000;
// Leaves begin at multiples of this, which the sizes of all types divide.
constexpr int64_t kLeafAlignment = 16;

// Whether a type of the schema is a tensor or a list of tensors, of which each
// may be optional.
bool IsTensorType(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::TensorType ||
         (type->kind() == c10::TypeKind::OptionalType &&
          IsTensorType(type->containedType(0)));
}

bool IsTensorListType(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::OptionalType) {
    return IsTensorListType(type->containedType(0));
  }
  return type->kind() == c10::TypeKind::ListType &&
         IsTensorType(type->containedType(0));
}

std::string GibibytesOf(uint64_t bytes) {
  char text[40];
  if (bytes == UINT64_MAX) return "an unknown number of GiB";
  std::snprintf(text, sizeof(text), "%.3g GiB",
                static_cast<double>(bytes) / (uint64_t{1} << 30));
  return text;
}

class TapeCut {
 public:
  TapeCut(const Tape::Content& content,
          const std::function<TapedNode(uint32_t)>& describe)
      : content_(content), describe_(describe) {
    FindWriters();
    for (const Tape::Copy& copy : content.copies) {
      copies_[copy.storage].push_back(&copy);
    }
    for (const Tape::RandomState& state : content.random) {
      random_[state.op] = &state;
    }
  }

  void Run(uint32_t node, uint32_t slot, uint32_t upstream, BundleTape* out);

 private:
  // The memory that stands for a storage in the tape. The same storage is other
  // memory once an op that is not repeated has written to it.
  enum class Kind { kLeaf, kMade, kBlank };
  struct Memory {
    Kind kind;
    c10::StorageImpl* storage;
    // The op that made it, or the last one before that wrote to it.
    int64_t op;
    bool operator<(const Memory& other) const {
      return std::tie(kind, storage, op) <
             std::tie(other.kind, other.storage, other.op);
    }
  };
  struct Extent {
    int64_t begin = INT64_MAX;
    int64_t end = 0;
    c10::Device device = c10::Device(c10::DeviceType::CPU);
    StorageRef source;
  };

  template <typename Body>
  void ForEach(Tape::Range range, Body body) const {
    for (uint32_t i = range.begin; i < range.end; ++i) body(content_.views[i]);
  }
  static bool Overwritten(const TapedOp& op, const TapedView& view) {
    return view.Overwritten(*op.info);
  }
  bool Has(const TapedOp& op, c10::StorageImpl* storage,
           bool overwritten) const {
    bool found = false;
    ForEach(op.tensors, [&](const TapedView& view) {
      found |=
          view.address() == storage && Overwritten(op, view) == overwritten;
    });
    return found;
  }

  void FindWriters();
  // The last op before `op` that wrote to the storage, -1 if none.
  int64_t WriterBefore(c10::StorageImpl* storage, int64_t op) const;
  bool WrittenBetween(c10::StorageImpl* storage, int64_t begin,
                      int64_t end) const;
  // The memory that still has the value which `op` read; null if it is gone.
  StorageRef ValueAt(const TapedView& view, int64_t op) const;
  bool IsRepeated(int64_t op) const { return op >= 0 && repeated_.count(op); }
  bool IsGiven(const TapedView& view, int64_t op) const {
    return IsRepeated(WriterBefore(view.address(), op)) ||
           ValueAt(view, op) != nullptr;
  }
  // Why the op cannot be written to a tape; empty if it can.
  std::string WhyNot(const TapedOp& op) const;
  bool GivesTheSame(int64_t op) const;
  bool Repeat(int64_t op);
  // Has all ops of the step repeated on which the target depends. Returns why
  // they cannot be; empty if they can.
  std::string RepeatStep(int64_t target);
  std::string WhyNotStep(int64_t target);
  // Writes the tape once it is known what is repeated.
  void Write(int64_t target, uint32_t slot, BundleTape* out);
  // Has up to `upstream` ops before the last one repeated as well.
  void Extend(size_t upstream);
  // The newest op that made a value which would be saved; -1 if there is none.
  int64_t NewestWriter(const std::set<int64_t>& refused) const;
  // Whether an op can be repeated with at most `room` ops, which are added.
  bool CanRepeat(int64_t number, size_t room, std::set<int64_t>* added) const;
  void Fail(int64_t op, const TapedView& view);

  Memory MemoryRead(c10::StorageImpl* storage, int64_t op) const;
  Memory MemoryAfter(c10::StorageImpl* storage, int64_t op) const;
  void Measure(const Memory& memory, const TapedView& view, int64_t op);
  void MeasureAll();
  // Whether the program has freed or shrunk memory that would be saved.
  bool IsFreed() const;
  std::string ViewText(const Memory& memory, const TapedView& view);
  std::string ArgumentText(int64_t number, size_t index);
  std::string OpText(int64_t number);
  void SetExpected(int64_t target, const TapedView& view, BundleTape* out);
  std::vector<const TapedView*> SlotsOf(const TapedOp& op) const;

  const Tape::Content& content_;
  const std::function<TapedNode(uint32_t)>& describe_;
  std::unordered_map<c10::StorageImpl*, std::vector<int64_t>> writers_;
  std::unordered_map<c10::StorageImpl*, std::vector<const Tape::Copy*>> copies_;
  // By the number of the op.
  std::unordered_map<int64_t, const Tape::RandomState*> random_;
  bool whole_step_ = false;
  std::set<int64_t> repeated_;
  std::map<Memory, Extent> extents_;
  std::map<Memory, size_t> numbers_;
  std::string error_;
  std::string reason_;
};

void TapeCut::FindWriters() {
  std::unordered_set<c10::StorageImpl*> seen;
  for (size_t i = 0; i < content_.ops.size(); ++i) {
    const TapedOp& op = content_.ops[i];
    std::unordered_set<c10::StorageImpl*> written;
    std::unordered_set<c10::StorageImpl*> read;
    ForEach(op.tensors, [&](const TapedView& view) {
      read.insert(view.address());
      if (view.Written(*op.info)) written.insert(view.address());
    });
    ForEach(op.results, [&](const TapedView& view) {
      const bool made = op.complete ? read.count(view.address()) == 0
                                    : seen.count(view.address()) == 0;
      const bool overwrote =
          !op.complete && (op.info->in_place || op.info->has_out);
      if (made || overwrote) written.insert(view.address());
      seen.insert(view.address());
    });
    seen.insert(read.begin(), read.end());
    for (c10::StorageImpl* const storage : written) {
      writers_[storage].push_back(static_cast<int64_t>(i));
    }
  }
}

int64_t TapeCut::WriterBefore(c10::StorageImpl* storage, int64_t op) const {
  const auto found = writers_.find(storage);
  if (found == writers_.end()) return -1;
  const std::vector<int64_t>& all = found->second;
  const auto after = std::lower_bound(all.begin(), all.end(), op);
  return after == all.begin() ? -1 : *std::prev(after);
}

bool TapeCut::WrittenBetween(c10::StorageImpl* storage, int64_t begin,
                             int64_t end) const {
  return WriterBefore(storage, end) >= begin;
}

StorageRef TapeCut::ValueAt(const TapedView& view, int64_t op) const {
  c10::StorageImpl* const storage = view.address();
  if (!WrittenBetween(storage, op, INT64_MAX)) return view.Lock();
  const auto found = copies_.find(storage);
  if (found == copies_.end()) return {};
  for (const Tape::Copy* const copy : found->second) {
    if (copy->op >= op && !WrittenBetween(storage, op, copy->op)) {
      return copy->copy;
    }
  }
  return {};
}

std::string TapeCut::WhyNot(const TapedOp& op) const {
  const std::string name = describe_(op.node).name;
  if (!op.complete) {
    return name +
           " was not followed when it ran, so that what it was called "
           "with is not known";
  }
  if (op.info->schema == nullptr) return name + " is compiled code";
  std::string why;
  ForEach(op.tensors, [&](const TapedView& view) {
    if (view.address() == nullptr) {
      why = name + " was called with a tensor that has no plain memory";
    }
  });
  const auto& arguments = op.info->schema->arguments();
  for (uint32_t i = op.values.begin; i < op.values.end; ++i) {
    const c10::TypePtr& type = arguments[i - op.values.begin].real_type();
    if (IsTensorType(type) || IsTensorListType(type)) continue;
    if (!ValueText(content_.values[i], type)) {
      why = name + " was called with a value of type " +
            content_.values[i].tagKind();
    }
  }
  return why;
}

bool TapeCut::GivesTheSame(int64_t number) const {
  const TapedOp& op = content_.ops[number];
  if (!op.ended || op.info->collective ||
      (op.info->flags & GRAPHDBG_UNINITIALIZED) != 0) {
    return false;
  }
  if (whole_step_) {
    return !op.kept && (!op.info->random || random_.count(number) > 0) &&
           WhyNot(op).empty();
  }
  return !op.info->random && !op.info->has_out && WhyNot(op).empty();
}

void TapeCut::Fail(int64_t number, const TapedView& view) {
  if (!error_.empty()) return;
  const TapedOp& op = content_.ops[number];
  const std::string name = describe_(op.node).name;
  const bool by_itself = view.Written(*op.info);
  reason_ = kInputOverwritten;
  error_ =
      "input of " + name + " was overwritten by " +
      (by_itself ? "the op itself" : "a later op") +
      "; it is kept when the op runs next, so capture the hit then, or set "
      "the action \"capture\" to keep a tape from the next step on";
}

bool TapeCut::Repeat(int64_t number) {
  if (!repeated_.insert(number).second) return true;
  const TapedOp& op = content_.ops[number];
  for (uint32_t i = op.tensors.begin; i < op.tensors.end; ++i) {
    const TapedView& view = content_.views[i];
    if (Overwritten(op, view) || IsGiven(view, number)) continue;
    const int64_t writer = WriterBefore(view.address(), number);
    if (writer < 0 || repeated_.size() > kMaxRepeated ||
        !GivesTheSame(writer)) {
      Fail(number, view);
      return false;
    }
    if (!Repeat(writer)) {
      return false;
    }
  }
  return true;
}

std::string TapeCut::RepeatStep(int64_t target) {
  std::vector<int64_t> pending = {target};
  repeated_ = {target};
  while (!pending.empty()) {
    const int64_t number = pending.back();
    pending.pop_back();
    const TapedOp& op = content_.ops[number];
    if (repeated_.size() > kMaxStepOps) return "the step has too many ops";
    for (uint32_t i = op.tensors.begin; i < op.tensors.end; ++i) {
      const TapedView& view = content_.views[i];
      if (Overwritten(op, view)) continue;
      const int64_t writer = WriterBefore(view.address(), number);
      if (writer >= 0 && GivesTheSame(writer)) {
        if (repeated_.insert(writer).second) pending.push_back(writer);
      } else if (ValueAt(view, number) == nullptr) {
        const std::string what = "an input of " + describe_(op.node).name +
                                 " was overwritten, and there is no copy of it";
        return content_.mode == GRAPHDBG_TAPE_FORWARD_BACKWARD
                   ? what + " (tape: forward_backward)"
                   : what;
      }
    }
  }
  return "";
}

std::string TapeCut::WhyNotStep(int64_t target) {
  if (content_.over_budget()) {
    return "the step needs more than the tape_budget of " +
           GibibytesOf(content_.budget) + ", " + GibibytesOf(content_.bytes) +
           " up to here";
  }
  if (content_.ops[target].info->random && random_.count(target) == 0) {
    return "the state of the random number generator is not known";
  }
  whole_step_ = true;
  std::string why = RepeatStep(target);
  if (!why.empty()) return why;
  MeasureAll();
  if (IsFreed()) return "the program has freed memory that the step began with";
  uint64_t bytes = 0;
  for (const auto& [memory, extent] : extents_) {
    if (memory.kind == Kind::kLeaf && extent.end > 0) {
      bytes += static_cast<uint64_t>(extent.end - extent.begin);
    }
  }
  if (bytes <= content_.budget) return "";
  return "bundle needs " + GibibytesOf(bytes) + ", tape_budget is " +
         GibibytesOf(content_.budget) + ": wrote the op alone";
}

int64_t TapeCut::NewestWriter(const std::set<int64_t>& refused) const {
  int64_t newest = -1;
  for (const int64_t number : repeated_) {
    const TapedOp& op = content_.ops[number];
    ForEach(op.tensors, [&](const TapedView& view) {
      if (Overwritten(op, view)) return;
      const int64_t writer = WriterBefore(view.address(), number);
      if (IsRepeated(writer) || refused.count(writer) > 0) return;
      newest = std::max(newest, writer);
    });
  }
  return newest;
}

bool TapeCut::CanRepeat(int64_t number, size_t room,
                        std::set<int64_t>* added) const {
  if (IsRepeated(number) || added->count(number) > 0) return true;
  const TapedOp& op = content_.ops[number];
  if (added->size() == room || op.info->fills ||
      op.tensors.begin == op.tensors.end || !GivesTheSame(number)) {
    return false;
  }
  added->insert(number);
  bool can = true;
  ForEach(op.tensors, [&](const TapedView& view) {
    if (!can || ValueAt(view, number) != nullptr) return;
    const int64_t writer = WriterBefore(view.address(), number);
    can = !view.Written(*op.info) && writer >= 0 &&
          CanRepeat(writer, room, added);
  });
  return can;
}

void TapeCut::Extend(size_t upstream) {
  std::set<int64_t> refused;
  while (repeated_.size() <= upstream) {
    const int64_t next = NewestWriter(refused);
    if (next < 0) return;
    std::set<int64_t> added;
    if (CanRepeat(next, upstream + 1 - repeated_.size(), &added)) {
      repeated_.insert(added.begin(), added.end());
    } else {
      refused.insert(next);
    }
  }
}

TapeCut::Memory TapeCut::MemoryRead(c10::StorageImpl* storage,
                                    int64_t op) const {
  const int64_t writer = WriterBefore(storage, op);
  if (IsRepeated(writer)) return MemoryAfter(storage, writer);
  return {Kind::kLeaf, storage, writer};
}

TapeCut::Memory TapeCut::MemoryAfter(c10::StorageImpl* storage,
                                     int64_t op) const {
  const TapedOp& writer = content_.ops[op];
  if (Has(writer, storage, /*overwritten=*/false))
    return MemoryRead(storage, op);
  if (Has(writer, storage, /*overwritten=*/true)) {
    return {Kind::kBlank, storage, op};
  }
  return {Kind::kMade, storage, op};
}

void TapeCut::Measure(const Memory& memory, const TapedView& view, int64_t op) {
  numbers_.emplace(memory, numbers_.size());
  if (memory.kind == Kind::kMade) return;
  Extent& extent = extents_[memory];
  extent.device = view.device;
  if (extent.source == nullptr && memory.kind == Kind::kLeaf) {
    extent.source = ValueAt(view, op);
  }
  int64_t last = 0;
  for (uint32_t i = 0; i < view.ndim; ++i) {
    const int64_t size = content_.dimensions[view.dimensions + i];
    const int64_t stride = content_.dimensions[view.dimensions + view.ndim + i];
    if (size == 0) return;
    last += (size - 1) * stride;
  }
  const auto item = static_cast<int64_t>(c10::elementSize(view.dtype));
  const int64_t begin = view.offset * item;
  extent.begin = std::min(extent.begin, begin - begin % kLeafAlignment);
  extent.end = std::max(extent.end, (view.offset + last + 1) * item);
}

void TapeCut::MeasureAll() {
  for (const int64_t number : repeated_) {
    const TapedOp& op = content_.ops[number];
    ForEach(op.tensors, [&](const TapedView& view) {
      const Memory memory = Overwritten(op, view)
                                ? MemoryAfter(view.address(), number)
                                : MemoryRead(view.address(), number);
      Measure(memory, view, number);
    });
    ForEach(op.results, [&](const TapedView& view) {
      if (view.address() == nullptr) return;
      Measure(MemoryAfter(view.address(), number), view, number);
    });
  }
}

bool TapeCut::IsFreed() const {
  return std::any_of(extents_.begin(), extents_.end(), [](const auto& entry) {
    const auto& [memory, extent] = entry;
    return memory.kind == Kind::kLeaf && extent.end > 0 &&
           (extent.source == nullptr ||
            static_cast<uint64_t>(extent.end) > extent.source->nbytes());
  });
}

std::string TapeCut::ViewText(const Memory& memory, const TapedView& view) {
  int64_t offset = view.offset;
  const auto extent = extents_.find(memory);
  if (extent != extents_.end() && extent->second.end > 0) {
    offset -= extent->second.begin /
              static_cast<int64_t>(c10::elementSize(view.dtype));
  }
  const int64_t* const sizes = content_.dimensions.data() + view.dimensions;
  return "{\"tensor\":{\"storage\":" + std::to_string(numbers_.at(memory)) +
         ",\"dtype\":" + Quoted(ShortDtype(view.dtype)) +
         ",\"sizes\":" + Numbers(sizes, view.ndim) +
         ",\"strides\":" + Numbers(sizes + view.ndim, view.ndim) +
         ",\"offset\":" + std::to_string(offset) + "}}";
}

std::string TapeCut::ArgumentText(int64_t number, size_t index) {
  const TapedOp& op = content_.ops[number];
  const c10::IValue& value = content_.values[op.values.begin + index];
  const c10::TypePtr& type = op.info->schema->arguments()[index].real_type();
  const auto text_of = [&](const TapedView& view) {
    return ViewText(Overwritten(op, view) ? MemoryAfter(view.address(), number)
                                          : MemoryRead(view.address(), number),
                    view);
  };
  std::map<int32_t, std::string> tensors;
  ForEach(op.tensors, [&](const TapedView& view) {
    if (view.index == index) tensors[view.element] = text_of(view);
  });
  if (IsTensorListType(type) && value.isInt()) {
    std::string out = "{\"list\":[";
    for (int32_t i = 0; i < value.toInt(); ++i) {
      if (i > 0) out += ',';
      const auto found = tensors.find(i);
      out += found == tensors.end() ? "null" : found->second;
    }
    return out + "]}";
  }
  if (!tensors.empty()) return tensors.begin()->second;
  return ValueText(value, type).value_or("null");
}

std::string RandomName(int64_t op) { return "r" + std::to_string(op); }

std::string TapeCut::OpText(int64_t number) {
  const TapedOp& op = content_.ops[number];
  const c10::FunctionSchema& schema = *op.info->schema;
  const TapedNode node = describe_(op.node);
  std::string name = schema.name();
  if (!schema.overload_name().empty()) name += "." + schema.overload_name();
  std::string out = "{\"op\":" + Quoted(name) +
                    ",\"node\":" + Quoted(node.name) + ",\"source\":";
  out += node.file.empty() ? "null"
                           : "{\"file\":" + Quoted(node.file) +
                                 ",\"line\":" + std::to_string(node.line) + "}";
  out += ",\"autocast\":";
  out += op.autocast == c10::ScalarType::Undefined
             ? "null"
             : Quoted(ShortDtype(op.autocast));
  out += std::string(",\"grad\":") + (op.grad ? "true" : "false");
  out += std::string(",\"random\":") + (op.info->random ? "true" : "false");
  if (random_.count(number) > 0) {
    out += ",\"state\":" + Quoted(RandomName(number));
  }
  out += ",\"arguments\":[";
  for (size_t i = 0; i < op.values.end - op.values.begin; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (i > 0) out += ',';
    out += "{\"name\":" + Quoted(argument.name()) +
           ",\"keyword\":" + (argument.kwarg_only() ? "true" : "false") +
           ",\"value\":" + ArgumentText(number, i) + "}";
  }
  out += "],\"results\":[";
  bool first = true;
  ForEach(op.results, [&](const TapedView& view) {
    if (!first) out += ',';
    first = false;
    out += view.address() == nullptr
               ? "null"
               : ViewText(MemoryAfter(view.address(), number), view);
  });
  return out + "]}";
}

// The outputs as the graph numbers them.
std::vector<const TapedView*> TapeCut::SlotsOf(const TapedOp& op) const {
  std::vector<const TapedView*> slots;
  if (op.info->returns_nothing) {
    ForEach(op.tensors, [&](const TapedView& view) {
      if (view.Written(*op.info) && view.address() != nullptr) {
        slots.push_back(&view);
      }
    });
    return slots;
  }
  ForEach(op.results, [&](const TapedView& view) {
    if (view.address() == nullptr) return;
    if (op.info->has_auxiliary_results && view.index > 0) return;
    slots.push_back(&view);
  });
  return slots;
}

void TapeCut::SetExpected(int64_t target, const TapedView& view,
                          BundleTape* out) {
  if (WrittenBetween(view.address(), target + 1, INT64_MAX)) return;
  out->expected = view.Lock();
  out->expected_offset = view.offset;
  out->expected_dtype = view.dtype;
  out->expected_device = view.device;
  const auto first = content_.dimensions.begin() + view.dimensions;
  out->expected_sizes.assign(first, first + view.ndim);
  out->expected_strides.assign(first + view.ndim, first + 2 * view.ndim);
}

void TapeCut::Run(uint32_t node, uint32_t slot, uint32_t upstream,
                  BundleTape* out) {
  int64_t target = static_cast<int64_t>(content_.ops.size()) - 1;
  while (target >= 0 &&
         (content_.ops[target].node != node || !content_.ops[target].ended)) {
    --target;
  }
  if (target < 0) {
    out->reason = "value_gone";
    out->error =
        describe_(node).name + " is not an op that was followed in this step";
    return;
  }
  const TapedOp& op = content_.ops[target];
  out->error = WhyNot(op);
  if (out->error.empty() && op.info->collective) {
    out->error = describe_(node).name +
                 " communicates with other ranks, and cannot be repeated alone";
  }
  const std::vector<const TapedView*> slots = SlotsOf(op);
  if (out->error.empty() && slot >= slots.size()) {
    out->error = describe_(node).name + " has no such output";
  }
  if (!out->error.empty()) {
    out->reason = "not_repeatable";
    return;
  }
  if (content_.mode != GRAPHDBG_TAPE_OFF) {
    out->why_not_step = WhyNotStep(target);
    out->whole_step = out->why_not_step.empty();
  }
  if (!out->whole_step) {
    whole_step_ = false;
    repeated_.clear();
    numbers_.clear();
    extents_.clear();
    if (!Repeat(target)) {
      out->error = error_;
      out->reason = reason_;
      return;
    }
    Extend(upstream);
    MeasureAll();
    if (IsFreed()) {
      out->reason = "value_gone";
      out->error = "the program has freed an input of " + describe_(node).name;
      return;
    }
  }
  Write(target, slot, out);
}

void TapeCut::Write(int64_t target, uint32_t slot, BundleTape* out) {
  const std::vector<const TapedView*> slots = SlotsOf(content_.ops[target]);
  std::string text = "{\"format\":1,\"framework\":\"pytorch\",\"version\":" +
                     Quoted(TORCH_VERSION) + ",\"ops\":[";
  std::string ops;
  size_t position = 0;
  for (const int64_t number : repeated_) {
    if (!ops.empty()) ops += ",\n";
    ops += OpText(number);
    if (number < target) ++position;
    const auto state = random_.find(number);
    if (state == random_.end()) continue;
    out->random.push_back({state->second->state, RandomName(number), 0,
                           static_cast<int64_t>(state->second->state->nbytes()),
                           c10::Device(c10::DeviceType::CPU)});
  }
  text += ops + "],\n\"target\":{\"op\":" + std::to_string(position) +
          ",\"slot\":" + std::to_string(slot) + ",\"output\":" +
          ViewText(MemoryAfter(slots[slot]->address(), target), *slots[slot]) +
          "},\n\"storages\":[";
  std::vector<const Memory*> by_number(numbers_.size());
  for (const auto& [memory, number] : numbers_) by_number[number] = &memory;
  for (size_t i = 0; i < by_number.size(); ++i) {
    if (i > 0) text += ',';
    if (by_number[i]->kind == Kind::kMade) {
      text += "null";
      continue;
    }
    const Extent& extent = extents_[*by_number[i]];
    const int64_t begin = extent.end == 0 ? 0 : extent.begin;
    const std::string name = "s" + std::to_string(i);
    const bool leaf = by_number[i]->kind == Kind::kLeaf;
    text += "{\"leaf\":" + (leaf ? Quoted(name) : "null") +
            ",\"bytes\":" + std::to_string(extent.end - begin) +
            ",\"device\":" + Quoted(extent.device.str());
    // The result of an op that the replay does not repeat.
    const int64_t maker = by_number[i]->op;
    if (whole_step_ && leaf && maker >= 0) {
      const TapedOp& made = content_.ops[maker];
      text += ",\"after\":{\"op\":" + Quoted(made.info->full_name) +
              ",\"node\":" + Quoted(describe_(made.node).name) + "}";
    }
    text += "}";
    if (!leaf) continue;
    out->leaves.push_back(
        {extent.source, name, begin, extent.end - begin, extent.device});
  }
  out->text = text + "]}\n";
  SetExpected(target, *slots[slot], out);
}

}  // namespace

BundleTape CutTape(const Tape::Content& content, uint32_t node, uint32_t slot,
                   uint32_t upstream,
                   const std::function<TapedNode(uint32_t)>& describe) {
  BundleTape tape;
  TapeCut(content, describe).Run(node, slot, upstream, &tape);
  return tape;
}

}  // namespace graphdbg::pytorch
