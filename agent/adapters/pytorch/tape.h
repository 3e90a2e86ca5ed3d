#ifndef AGENT_ADAPTERS_PYTORCH_TAPE_H_
#define AGENT_ADAPTERS_PYTORCH_TAPE_H_

#include <ATen/core/TensorBase.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/adapters/pytorch/op_info.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "agent/base/mutex.h"

namespace graphdbg::pytorch {

// The ops of the current step in order: what each was called with, and which
// storages it read and wrote. From it, a bundle of the ops that led to a hit is
// made (see bundle_tape.h).
//
// Holds no tensors: storages are weak references, whose data may be freed but
// whose addresses are not reused. A copy is made only of what an op in place
// overwrites, for nodes that Arm() has named.
//
// Thread-safe.
class Tape {
 public:
  using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

  // A view of a storage; sizes and strides are 2 * `ndim` numbers of
  // Snapshot::dimensions. `storage` is null if the tensor has no plain memory.
  struct View {
    WeakStorage storage;
    int64_t offset;
    uint32_t dimensions;
    uint32_t ndim;
    c10::ScalarType dtype;
    c10::Device device;
    // The argument or result that it belongs to, and the position in it if that
    // is a list, otherwise -1.
    uint32_t index;
    int32_t element;

    c10::StorageImpl* address() const { return storage._unsafe_get_target(); }
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

  struct Content {
    std::vector<Op> ops;
    std::vector<c10::IValue> values;
    std::vector<View> views;
    std::vector<int64_t> dimensions;
    std::vector<Copy> copies;
  };

  // Identifies an op that has begun.
  struct Mark {
    uint32_t op = 0;
    uint32_t generation = 0;
  };

  // Called before an op runs and after it has. `complete`: the op may become
  // part of a bundle. Otherwise only its results are recorded, as writes.
  Mark Begin(const OpInfo& info, uint32_t node, bool complete,
             c10::ArrayRef<c10::IValue> arguments) GRAPHDBG_EXCLUDES(mu_);
  void End(Mark mark, c10::ArrayRef<c10::IValue> results)
      GRAPHDBG_EXCLUDES(mu_);

  // From now on, copies are made of what this node overwrites.
  void Arm(uint32_t node) GRAPHDBG_EXCLUDES(mu_);
  // The step is over.
  void Clear() GRAPHDBG_EXCLUDES(mu_);

  // Calls `read(const Content&)` while nothing is added.
  template <typename Read>
  auto Use(Read read) const GRAPHDBG_EXCLUDES(mu_) {
    MutexLock lock(&mu_);
    return read(std::as_const(content_));
  }

 private:
  void AddArguments(c10::ArrayRef<c10::IValue> arguments, Op* op)
      GRAPHDBG_REQUIRES(mu_);
  Range AddTensors(c10::ArrayRef<c10::IValue> values) GRAPHDBG_REQUIRES(mu_);
  void AddView(const at::TensorBase& tensor, uint32_t index, int32_t element)
      GRAPHDBG_REQUIRES(mu_);
  void CopyOverwritten(const OpInfo& info, c10::ArrayRef<c10::IValue> arguments,
                       uint32_t op) GRAPHDBG_REQUIRES(mu_);

  mutable Mutex mu_;
  Content content_ GRAPHDBG_GUARDED_BY(mu_);
  uint32_t generation_ GRAPHDBG_GUARDED_BY(mu_) = 1;
  std::unordered_set<uint32_t> armed_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_TAPE_H_
