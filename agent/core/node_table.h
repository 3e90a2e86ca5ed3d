// The graph as this process has learned it.
#ifndef AGENT_CORE_NODE_TABLE_H_
#define AGENT_CORE_NODE_TABLE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/selector.h"
#include "agent/core/execution.h"
#include "agent/core/segmented_array.h"
#include "agent/core/string_pool.h"
#include "agent/include/graphdbg/agent.h"
#include "proto/graphdbg/v1/graph.pb.h"

namespace graphdbg::agent {

// Reasons to look at a node's execution.
enum NodeFlag : uint8_t {
  // Set for every node, so that one flag can ask for all.
  kAnyNode = 1,
  kNeverExecuted = 2,
  kWatched = 4,
  // A user runs until it.
  kAwaited = 8,
  // Has written into an input.
  kWrites = 16,
  // Has been told a non-finite number by the program.
  kExplicitNonFinite = 32,
  // Somebody looks at its values.
  kRequested = 64,
};

// What the hot path knows of a node.
struct NodeFacts {
  std::atomic<uint8_t> flags{0};
  // Of inputs and outputs as last seen.
  std::atomic<uint64_t> signature{0};
  // The infinities of this step's outputs are meant; kAlways: in every step.
  std::atomic<uint64_t> intentional_infinities_in_step{0};
  // What its executions were for: a bit for each graphdbg_mode.
  std::atomic<uint8_t> modes{0};
  // What gradients in its newest outputs are multiplied with; 1: nothing.
  std::atomic<double> grad_scale{1};
  // Its outputs of this step overflowed because the loss was scaled.
  std::atomic<uint64_t> overflowed_in_step{0};
  // Nothing was written yet into its outputs of this step.
  std::atomic<uint64_t> uninitialized_in_step{UINT64_MAX};
  // The step in which all its outputs were last seen to be finite, plus 1; 0:
  // they were not, or nobody looked.
  std::atomic<uint64_t> finite_in_step{0};
  // The newest step in which an execution was looked at.
  std::atomic<uint64_t> last_step{0};

  static constexpr uint64_t kAlways = UINT64_MAX;

  void RecordFinite(bool finite, uint64_t step) {
    finite_in_step.store(finite ? step + 1 : 0, std::memory_order_relaxed);
  }
  bool WasFinite(uint64_t step) const {
    return finite_in_step.load(std::memory_order_relaxed) == step + 1;
  }

  bool has(NodeFlag flag) const {
    return (flags.load(std::memory_order_relaxed) & flag) != 0;
  }
  void Set(NodeFlag flag, bool on) {
    if (on) {
      flags.fetch_or(flag, std::memory_order_relaxed);
    } else {
      flags.fetch_and(static_cast<uint8_t>(~flag), std::memory_order_relaxed);
    }
  }
};

// Nodes by id, dense from 1, and by name. Any thread; Facts takes no lock.
class NodeTable {
 public:
  struct Info {
    std::string name;
    std::string op_type;
    graphdbg_node_kind kind = GRAPHDBG_OP;
    conditions::Category category = conditions::Category::kOther;
  };

  // An input's producer.
  struct Endpoint {
    uint32_t node;
    uint32_t slot;
  };
  // An execution as NodeTable learned it.
  struct LastExecution {
    uint64_t order = 0;
    uint32_t flags = 0;
    std::vector<Endpoint> inputs;
  };

  // INVALID_ARGUMENT if the name or kind is none, RESOURCE_EXHAUSTED if there
  // are too many nodes or graphs.
  absl::StatusOr<uint32_t> Declare(const graphdbg_node_info& info);
  // RESOURCE_EXHAUSTED if there are too many graphs.
  absl::Status DeclareScope(absl::string_view graph, absl::string_view name,
                            absl::string_view type);

  // Null if there is no such node.
  NodeFacts* Facts(uint32_t id) const {
    return id == 0 ? nullptr : facts_.Find(id);
  }

  uint32_t size() const;
  // 0 if there is none.
  uint32_t Find(absl::string_view name) const;
  // Of an existing node.
  Info InfoOf(uint32_t id) const;
  // The innermost frame in the user's code of the declaration, of the forward
  // op for a backward op. Without a file if there is none.
  v1::SourceFrame UserFrameOf(uint32_t id) const;
  bool executes(uint32_t id) const;
  // Of an existing node; inputs of unknown producers are endpoints of node 0.
  LastExecution LastExecutionOf(uint32_t id) const;
  // Whether it is a part of an optimizer's step.
  bool IsOptimizerNode(uint32_t id) const;

  // Learns inputs and outputs at the first execution and when they change.
  // Takes a lock then only.
  void Learn(const Execution& execution, uint64_t order, uint64_t step);

  // From now on there is to take, too, which nodes executed since that was
  // last told.
  void ReportLastSteps();

  // Appends what changed in one graph since it was last taken, up to about
  // `max_bytes`. False if nothing did in any.
  bool TakeUpdate(size_t max_bytes, v1::GraphUpdate* update);
  // A new peer knows nothing.
  void ResendAll();

  // Called, without a lock, when TakeUpdate would have something to take.
  // Set before the table is used.
  void set_on_change(std::function<void()> on_change) {
    on_change_ = std::move(on_change);
  }

 private:
  struct Frame {
    const std::string* file;
    const std::string* function;
    uint32_t line;
    bool user;
  };
  struct OutputType {
    graphdbg_dtype dtype;
    const std::string* framework_dtype;
    std::vector<int64_t> shape;
  };
  // A scope's graph and name.
  using ScopeKey = std::pair<std::string, std::string>;
  struct Record {
    const std::string* graph;
    const std::string* name;
    const std::string* op_type;
    graphdbg_node_kind kind;
    conditions::Category category;
    bool recomputed = false;
    uint32_t forward_node = 0;
    bool changed = false;
    uint32_t flags = 0;
    uint64_t order = 0;
    uint64_t first_step = 0;
    uint64_t reported_last_step = 0;
    std::vector<Frame> stack;
    std::vector<Endpoint> inputs;
    std::vector<OutputType> outputs;
    std::vector<std::pair<const std::string*, const std::string*>> attributes;
  };

  static constexpr uint32_t kNothingToReport = UINT32_MAX;

  // With mu_ held.
  absl::Status AddGraph(const std::string& graph);
  const std::string* NextGraph() const;
  uint32_t Add(const graphdbg_node_info& info, std::string name);
  void SetOutputs(const TensorArray& tensors, Record* record);
  void MarkChanged(uint32_t id);
  void LearnMode(const Execution& execution, NodeFacts* facts);
  void Fill(uint32_t id, Record* record, v1::Node* node) const;
  // The bytes that were added.
  size_t TakeLastSteps(size_t max_bytes, v1::GraphUpdate* update);
  const Record& At(uint32_t id) const { return records_[id - 1]; }

  std::function<void()> on_change_;
  SegmentedArray<NodeFacts> facts_;

  mutable std::mutex mu_;
  // All below guarded by mu_. Names are those of names_, which never move.
  std::unordered_map<std::string, uint32_t> names_;
  std::deque<Record> records_;
  // With their places in the order in which they came.
  std::map<std::string, size_t> graphs_;
  std::map<ScopeKey, std::string> scope_types_;
  StringPool pool_;
  std::deque<uint32_t> changed_nodes_;
  std::deque<ScopeKey> changed_scopes_;
  // The next node whose last step may have to be told.
  uint32_t next_to_report_ = kNothingToReport;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NODE_TABLE_H_
