#ifndef AGENT_ADAPTERS_PYTORCH_TAPE_H_
#define AGENT_ADAPTERS_PYTORCH_TAPE_H_

#include <ATen/core/TensorBase.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/intrusive_ptr.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/op_values.h"
#include "agent/adapters/pytorch/storage_copies.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "agent/base/mutex.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The ops of the current step in order: what each was called with, and which
// storages it read and wrote. From it, a bundle of the ops that led to a hit is
// made (see bundle_tape.h).
//
// Holds no tensors, and storages by weak references: their data may be freed,
// but their addresses are not reused. A copy is made only of what an op in
// place overwrites, for nodes that Arm() has named.
//
// With a mode, all ops of the step can be repeated. Then the memory that no
// repeatable op of the step has made is kept until the step ends: by reference,
// and as a copy once an op overwrites it. The same holds for the states of
// random number generators.
//
// Thread-safe.
class Tape {
 public:
  using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

  // A view of a storage; sizes and strides are 2 * `ndim` numbers of
  // Content::dimensions. `storage` is null if the tensor has no plain memory.
  struct View {
    c10::StorageImpl* storage = nullptr;
    int64_t offset = 0;
    uint32_t dimensions = 0;
    uint32_t ndim = 0;
    c10::ScalarType dtype = c10::ScalarType::Undefined;
    c10::Device device = c10::Device(c10::DeviceType::CPU);
    // All of the storage.
    bool whole = false;
    // The argument or result that it belongs to, and the position in it if that
    // is a list, otherwise -1.
    uint32_t index = 0;
    int32_t element = -1;

    c10::StorageImpl* address() const { return storage; }
    // Null if the storage has been freed.
    StorageRef Lock() const {
      return WeakStorage::reclaim_copy(storage).lock();
    }
    // For an argument: whether the op writes to it.
    bool Written(const OpInfo& op) const {
      return index < op.written.size() && op.written[index];
    }
    // For an argument: whether the op writes all of the storage without
    // reading it.
    bool Overwritten(const OpInfo& op) const {
      return whole && index < op.out_only.size() &&
             (op.out_only[index] || (op.overwrites && index == 0));
    }
  };

  // Half-open ranges of Content's vectors.
  struct Range {
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  struct Op {
    const OpInfo* info = nullptr;
    uint32_t node = 0;
    // Whether arguments were recorded; if not, only what it wrote is known.
    bool complete = false;
    bool ended = false;
    // It cannot be repeated, so its results are kept.
    bool kept = false;
    // Autograd recorded ops: some kernels then make what their backward needs.
    bool grad = false;
    // Converts its arguments to this type; Undefined: it does not.
    c10::ScalarType autocast = c10::ScalarType::Undefined;
    // Arguments that are not tensors. Tensors are null here, and lists of
    // tensors are their length.
    Range values;
    Range tensors;
    Range results;
  };

  // A copy of a storage as it was before an op overwrote it.
  struct Copy {
    uint32_t op;
    c10::StorageImpl* storage;
    StorageRef copy;
  };

  // The state of the generator from which an op took random numbers.
  struct RandomState {
    uint32_t op;
    StorageRef state;
  };

  struct Content {
    graphdbg_tape_mode mode = GRAPHDBG_TAPE_OFF;
    // Limit of the memory that is kept, and how much a complete tape needs.
    uint64_t budget = 0;
    uint64_t bytes = 0;
    std::vector<Op> ops;
    std::vector<c10::IValue> values;
    std::vector<View> views;
    // Has all storages of views, so that their addresses are not reused.
    std::vector<WeakStorage> held;
    // Its size may exceed what is used.
    std::vector<int64_t> dimensions;
    size_t dimensions_used = 0;
    std::vector<Copy> copies;
    std::vector<RandomState> random;

    bool over_budget() const { return bytes > budget; }
  };

  // Where an op runs.
  struct OpPlace {
    uint32_t node = 0;
    bool in_optimizer = false;
  };

  // Identifies an op that has begun.
  struct Mark {
    uint32_t op = 0;
    uint32_t generation = 0;
  };

  // Called before an op runs and after it has. `complete`: the op may become
  // part of a bundle. Otherwise, unless there is a mode, only its results are
  // recorded, as writes.
  Mark Begin(const OpInfo& info, const OpPlace& place, bool complete,
             OpValues arguments) GRAPHDBG_EXCLUDES(mu_);
  void End(Mark mark, OpValues results) GRAPHDBG_EXCLUDES(mu_);
  // Instead of both, once an op has run that began when keeps_inputs() was
  // false.
  void Add(const OpInfo& info, const OpPlace& place, bool complete,
           OpValues arguments, OpValues results) GRAPHDBG_EXCLUDES(mu_);
  // Whether something is kept of what ops overwrite.
  bool keeps_inputs() const {
    return keeps_inputs_.load(std::memory_order_relaxed);
  }

  // From now on, copies are made of what this node overwrites.
  void Arm(uint32_t node) GRAPHDBG_EXCLUDES(mu_);
  // The step is over: forgets it, and applies the mode that was set.
  void Clear() GRAPHDBG_EXCLUDES(mu_);
  // From the next step on; see graphdbg_host.set_tape.
  void SetMode(graphdbg_tape_mode mode, uint64_t budget) GRAPHDBG_EXCLUDES(mu_);
  // Whether all ops of the step are to be repeated.
  bool HasMode() const GRAPHDBG_EXCLUDES(mu_);

  // Calls `read(const Content&)` while nothing is added.
  template <typename Read>
  auto Use(Read read) const GRAPHDBG_EXCLUDES(mu_) {
    MutexLock lock(&mu_);
    return read(std::as_const(content_));
  }

 private:
  uint32_t BeginLocked(const OpInfo& info, const OpPlace& place, bool complete,
                       OpValues arguments) GRAPHDBG_REQUIRES(mu_);
  void EndLocked(uint32_t number, OpValues results) GRAPHDBG_REQUIRES(mu_);
  void AddArguments(OpValues arguments, Op* op) GRAPHDBG_REQUIRES(mu_);
  void AddTensorArgument(const at::Tensor& tensor, uint32_t index)
      GRAPHDBG_REQUIRES(mu_);
  Range AddTensors(OpValues values) GRAPHDBG_REQUIRES(mu_);
  void AddTensorsOf(const OpValue& value, uint32_t index)
      GRAPHDBG_REQUIRES(mu_);
  void AddView(const at::TensorBase& tensor, uint32_t index, int32_t element)
      GRAPHDBG_REQUIRES(mu_);
  uint32_t AddDimensions(c10::IntArrayRef sizes, c10::IntArrayRef strides)
      GRAPHDBG_REQUIRES(mu_);
  void Hold(c10::StorageImpl* storage) GRAPHDBG_REQUIRES(mu_);
  void CopyOverwritten(const OpInfo& info, OpValues arguments, uint32_t op)
      GRAPHDBG_REQUIRES(mu_);

  // Where a storage's content came from: made by ops that can be repeated, or
  // there before them; kUnread if no op has read it yet.
  enum class Origin : uint8_t { kMade, kUnread, kGiven };
  struct Known {
    Origin origin = Origin::kMade;
    // Null if it was made, so that the program can free it.
    StorageRef held;
  };
  using KnownStorages = ska::flat_hash_map<c10::StorageImpl*, Known>;

  // Keeps what the op that begins overwrites, and notes what it reads.
  void KeepInputs(const Op& op, uint32_t number, bool in_optimizer)
      GRAPHDBG_REQUIRES(mu_);
  // Keeps what an op has made if it cannot be repeated.
  void KeepResults(const Op& op) GRAPHDBG_REQUIRES(mu_);
  // Returns whether an op that takes random numbers can be repeated.
  bool KeepRandomState(OpValues arguments, const Op& op, uint32_t number)
      GRAPHDBG_REQUIRES(mu_);
  bool CanBeRepeated(const Op& op) const GRAPHDBG_REQUIRES(mu_);
  // Returns whether there is room for so many bytes.
  bool Spend(uint64_t bytes) GRAPHDBG_REQUIRES(mu_);

  static constexpr size_t kRecentlyHeld = 256;

  std::atomic<bool> keeps_inputs_{false};
  mutable Mutex mu_;
  Content content_ GRAPHDBG_GUARDED_BY(mu_);
  // Some of the storages that content_ holds, by their addresses: most are seen
  // several times in a step, and each reference takes an atomic operation.
  std::array<c10::StorageImpl*, kRecentlyHeld> recently_held_
      GRAPHDBG_GUARDED_BY(mu_) = {};
  KnownStorages known_ GRAPHDBG_GUARDED_BY(mu_);
  // The table of the step before, whose memory is used again.
  KnownStorages empty_ GRAPHDBG_GUARDED_BY(mu_);
  // The copies of the step before, whose memory is used again.
  SpareStorages spare_ GRAPHDBG_GUARDED_BY(mu_);
  graphdbg_tape_mode next_mode_ GRAPHDBG_GUARDED_BY(mu_) = GRAPHDBG_TAPE_OFF;
  uint64_t next_budget_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint32_t generation_ GRAPHDBG_GUARDED_BY(mu_) = 1;
  std::unordered_set<uint32_t> armed_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_TAPE_H_
