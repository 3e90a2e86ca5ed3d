// Which tensors are recorded: the configuration's collections.
#ifndef AGENT_CORE_COLLECTIONS_H_
#define AGENT_CORE_COLLECTIONS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/core/execution.h"
#include "agent/core/node_table.h"
#include "agent/core/record_settings.h"
#include "agent/core/segmented_array.h"

namespace graphdbg::agent {

// A set of collections: bit i is the one at place i of the settings, or of
// those that were added later.
using CollectionMask = uint64_t;

// The predefined collection for the scalars that a program saves.
constexpr absl::string_view kMetricsCollection = "metrics";

// Bits behind those of the settings, for values that the program saves to a
// collection without settings: their statistics, and the values too.
inline constexpr CollectionMask kSavedStatistics = CollectionMask{1} << 62;
inline constexpr CollectionMask kSavedTensors = CollectionMask{1} << 63;
inline constexpr CollectionMask kSavedByProgram =
    kSavedStatistics | kSavedTensors;
static_assert(kMaxCollections <= 62);

// Some collections are known from a node's declaration: by its name, kind and
// category. Others depend on how its first execution fits into the graph, and
// are decided at the end of the step in which that was: `layers` and `outputs`
// (no op of the module reads the tensor), `losses` (it was declared as one or,
// while none was, a backward pass started from it), `optimizer_state` (an op of
// the optimizer writes it in place), and what `read_by` selects. These contain
// a node's first output only.
//
// Any thread.
class Collections {
 public:
  // Both must outlive this. A line for each regular expression that is wrong is
  // added to `problems`; its collection selects nothing by it.
  Collections(const NodeTable* nodes, const RecordSettings* settings,
              std::vector<std::string>* problems);
  ~Collections();

  // A node was declared. Returns the collections that contain it, or may do so.
  // Called again for the same node, it considers the collections that were
  // added since.
  CollectionMask AddNode(uint32_t node) GRAPHDBG_EXCLUDES(mu_);

  // Adds collections behind those of the settings, and returns them.
  // RESOURCE_EXHAUSTED if there are too many; INVALID_ARGUMENT if a regular
  // expression is wrong. Then nothing is added.
  absl::StatusOr<CollectionMask> Add(std::vector<CollectionSettings> added)
      GRAPHDBG_EXCLUDES(mu_);

  // The program saves the node's output to this collection.
  void AddSaved(uint32_t node, absl::string_view collection)
      GRAPHDBG_EXCLUDES(mu_);

  // The collections that contain an output of the node, as far as it is
  // decided. Takes no lock.
  CollectionMask Of(uint32_t node, uint32_t slot) const;
  // Collections that are still to be decided for the node. Takes no lock.
  CollectionMask Undecided(uint32_t node) const;

  // Whether executions decide which nodes some of them contain. Takes no lock.
  bool DecidedByGraph(CollectionMask collections) const {
    return (by_graph_ & collections) != 0;
  }

  // Whether the node is a part of an optimizer's step. Takes no lock.
  bool InOptimizer(uint32_t node) const;

  // Observes the execution of a node that is undecided, or has never executed.
  // `pass` differs for each backward pass of a program.
  void Observe(const Execution& execution, uint64_t pass)
      GRAPHDBG_EXCLUDES(mu_);
  // Decides about nodes that were observed. `decided` is called for each, with
  // the collections that now contain its first output.
  void Decide(const std::function<void(uint32_t node, CollectionMask)>& decided)
      GRAPHDBG_EXCLUDES(mu_);

  // Lines for collections.jsonl about nodes selected since the last call.
  std::vector<std::string> TakeLines() GRAPHDBG_EXCLUDES(mu_);
  // The collections that have selected nothing.
  std::vector<const CollectionSettings*> EmptyOnes() const
      GRAPHDBG_EXCLUDES(mu_);

 private:
  struct Compiled;
  struct Member {
    // Members with every output, and with the first one.
    std::atomic<CollectionMask> all_slots{0};
    std::atomic<CollectionMask> first_slot{0};
    std::atomic<CollectionMask> undecided{0};
    // All that have been undecided so far. Under the lock.
    CollectionMask considered = 0;
    std::atomic<bool> in_optimizer{false};
  };
  // The observed properties of a node.
  struct Observed {
    // Collections whose `read_by` has an op that reads the first output.
    CollectionMask readers = 0;
    bool read_in_scope = false;
    bool read_by_model = false;
    bool starts_backward = false;
    bool writes_state = false;
    // Whatever it computes, it is no result of its module: memory that was not
    // written to yet, or a buffer that is updated.
    bool no_result = false;
    bool executed = false;
  };

  static std::unique_ptr<Compiled> Compile(const CollectionSettings* settings,
                                           std::vector<std::string>* problems);
  // Returns the collection's bit.
  CollectionMask Append(std::unique_ptr<Compiled> compiled)
      GRAPHDBG_REQUIRES(mu_);
  CollectionMask Bit(const char* predefined) const GRAPHDBG_REQUIRES(mu_);
  // Collections that contain what ops of this type read.
  CollectionMask ReadBy(const std::string& op_type) const
      GRAPHDBG_REQUIRES(mu_);
  CollectionMask Declared(const Compiled& collection, CollectionMask bit,
                          const NodeTable::Info& info) const;
  CollectionMask DecideOne(uint32_t node, const Observed& observed) const
      GRAPHDBG_REQUIRES(mu_);
  void Select(uint32_t node, CollectionMask all_slots,
              CollectionMask first_slot) GRAPHDBG_REQUIRES(mu_);

  const NodeTable* const nodes_;
  // Those that are decided by executions.
  std::atomic<CollectionMask> by_graph_{0};

  SegmentedArray<Member> members_;
  mutable Mutex mu_;
  // The settings of collections that were added later.
  std::deque<CollectionSettings> added_ GRAPHDBG_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Compiled>> compiled_ GRAPHDBG_GUARDED_BY(mu_);
  // By name.
  std::map<std::string, CollectionMask> bits_ GRAPHDBG_GUARDED_BY(mu_);
  std::map<uint32_t, Observed> observed_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t last_pass_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  bool losses_are_declared_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // By place of the collection: new members since the last TakeLines.
  std::vector<std::vector<uint32_t>> selected_ GRAPHDBG_GUARDED_BY(mu_);
  // The same for collections without settings, by name.
  std::map<std::string, std::vector<uint32_t>> saved_ GRAPHDBG_GUARDED_BY(mu_);
  CollectionMask used_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_COLLECTIONS_H_
