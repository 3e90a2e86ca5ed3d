// The graph as far as this process knows it.
#ifndef AGENT_CORE_NODE_TABLE_H_
#define AGENT_CORE_NODE_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/conditions/selector.h"
#include "agent/core/execution.h"
#include "agent/core/intentional_nodes.h"
#include "agent/core/segmented_array.h"
#include "agent/core/string_pool.h"
#include "agent/include/graphdbg/agent.h"
#include "proto/graphdbg/v1/graph.pb.h"

namespace graphdbg::agent {

// Reasons to follow a node's execution.
enum NodeFlag : uint8_t {
  // Set for every node, so that one flag can ask for all.
  kAnyNode = 1,
  kNeverExecuted = 2,
  kWatched = 4,
  // The user runs until this node.
  kAwaited = 8,
  // Its op writes to an input.
  kWrites = 16,
  // The program passes non-finite numbers to it explicitly.
  kExplicitNonFinite = 32,
  // A user inspects its values.
  kRequested = 64,
  // Some collection of the recording contains it, or may do so.
  kRecorded = 128,
};

// The state of a node that the hot path uses.
struct NodeFacts {
  // The node's name, which never moves.
  std::atomic<const std::string*> name{nullptr};
  std::atomic<uint8_t> flags{0};
  // A GRAPHDBG_INPUT.
  std::atomic<bool> is_input{false};
  // Hashes of its outputs and inputs as last seen; 0 before.
  std::atomic<uint64_t> signature{0};
  std::atomic<uint64_t> input_signature{0};
  // How many executions have passed since they changed whose inputs the host
  // would describe if asked.
  std::atomic<uint32_t> not_described{0};
  // The step in which infinities in its outputs are intentional; kAlways: every
  // step.
  std::atomic<uint64_t> intentional_infinities_in_step{0};
  // The user has declared all infinities in its outputs to be intentional.
  std::atomic<bool> intentional{false};
  // The modes in which it executed: one bit for each graphdbg_mode.
  std::atomic<uint8_t> modes{0};
  // The factor by which gradients in its newest outputs are scaled.
  std::atomic<double> grad_scale{1};
  // The step in which its outputs overflowed because the loss was scaled.
  std::atomic<uint64_t> overflowed_in_step{0};
  // The step in which its outputs are memory that was not written to yet.
  std::atomic<uint64_t> uninitialized_in_step{UINT64_MAX};
  // The step in which all its outputs were last found to be finite, plus 1; 0
  // if they were not, or were not checked.
  std::atomic<uint64_t> finite_in_step{0};
  // The newest step in which an execution was followed, and its place there.
  std::atomic<uint64_t> last_step{0};
  std::atomic<uint64_t> last_order{0};

  static constexpr uint64_t kAlways = UINT64_MAX;

  void RecordFinite(bool finite, uint64_t step) {
    finite_in_step.store(finite ? step + 1 : 0, std::memory_order_relaxed);
  }
  bool WasFinite(uint64_t step) const {
    return finite_in_step.load(std::memory_order_relaxed) == step + 1;
  }

  bool InfinitiesAreIntentional(uint64_t step) const {
    const uint64_t marked = intentional_infinities_in_step.load();
    return intentional.load(std::memory_order_relaxed) || marked == kAlways ||
           (marked == step && step != 0);
  }

  bool has(NodeFlag flag) const {
    return (flags.load(std::memory_order_relaxed) & flag) != 0;
  }
  void Set(NodeFlag flag, bool on) {
    // Most are as they should be, and writing takes longer than reading.
    if (has(flag) == on) return;
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
    // The forward op of a backward op; 0 for other nodes.
    uint32_t forward_node = 0;
    // The adapter knows that its first output is the loss.
    bool loss = false;
    // The user's line as UserFrameOf has it; exists as long as the table.
    absl::string_view file = {};
    absl::string_view function = {};
    uint32_t line = 0;

    conditions::NodeDescription description() const {
      return {name, category, op_type, file, line, kind == GRAPHDBG_OP};
    }
  };

  // A frame of a source stack; its strings exist as long as the table.
  struct StackFrame {
    absl::string_view file;
    absl::string_view function;
    uint32_t line = 0;
    // Of the user's own code.
    bool user = false;
  };

  // The scope that contains a node directly.
  struct Scope {
    std::string name;
    // Empty if it is not a module.
    std::string type;
    // It is a module, and none of its scopes is.
    bool leaf = false;
  };

  // The producer of an input.
  struct Endpoint {
    uint32_t node;
    uint32_t slot;
  };
  // The newest execution.
  struct LastExecution {
    // In the step of that execution.
    uint64_t order = 0;
    uint32_t flags = 0;
    std::vector<Endpoint> inputs;
  };

  // Returns the id of the node. INVALID_ARGUMENT if the name or kind is
  // invalid, RESOURCE_EXHAUSTED if there are too many nodes or graphs.
  absl::StatusOr<uint32_t> Declare(const graphdbg_node_info& info);
  // RESOURCE_EXHAUSTED if there are too many graphs.
  absl::Status DeclareScope(absl::string_view graph, absl::string_view name,
                            absl::string_view type);

  // Null if there is no such node.
  NodeFacts* Facts(uint32_t id) const {
    return id == 0 ? nullptr : facts_.Find(id);
  }

  // Exists as long as the table; empty if there is no such node.
  absl::string_view NameOf(uint32_t id) const {
    const NodeFacts* const facts = Facts(id);
    return facts == nullptr ? absl::string_view() : *facts->name.load();
  }

  uint32_t size() const;
  // 0 if there is none.
  uint32_t Find(absl::string_view name) const;
  // The node must exist.
  Info InfoOf(uint32_t id) const;
  // Everything that is known of a node, which must exist.
  v1::Node NodeOf(uint32_t id) const;
  // The node must exist.
  Scope ScopeOf(uint32_t id) const;
  // All scopes that contain it, outermost first, without `leaf`.
  std::vector<Scope> ScopesOf(uint32_t id) const;
  // The innermost frame in the user's code from which the node was declared, or
  // for a backward op its forward op. Without a file if there is none.
  v1::SourceFrame UserFrameOf(uint32_t id) const;
  // The stack from which the node was declared, innermost frame first, with the
  // same exception. Empty if no frame is in the user's code. The node must
  // exist.
  std::vector<StackFrame> StackOf(uint32_t id) const;
  bool executes(uint32_t id) const;
  // The node must exist. Inputs with unknown producers are endpoints of node 0.
  LastExecution LastExecutionOf(uint32_t id) const;
  // Whether it is part of an optimizer's step.
  bool IsOptimizerNode(uint32_t id) const;

  // Learns inputs and outputs at the first execution and when they change, and
  // takes a lock only then.
  // Inputs that the host describes only when they are needed are looked at in
  // some executions; in those that somebody looks at, LearnInputs follows.
  void Learn(const Execution& execution, uint64_t order, uint64_t step);
  void LearnInputs(const Execution& execution, uint64_t order, uint64_t step);

  // Who receives the graph, each by updates of its own.
  enum Reader : size_t { kServer = 0, kRecording = 1 };
  static constexpr size_t kReaders = 2;

  // Has the server's next updates include which nodes executed since the last
  // report.
  void ReportLastSteps();

  // Appends what changed in one graph since the reader's last update, up to
  // about `max_bytes`. Returns false if nothing changed in any graph.
  bool TakeUpdate(size_t max_bytes, v1::GraphUpdate* update,
                  Reader reader = kServer);
  // Has the server's next updates include everything, for a new peer.
  void ResendAll();

  // `on_change` is called, without a lock held, when there is something for
  // TakeUpdate. Set before the table is used.
  // Called before nodes are declared.
  void set_intentional(IntentionalNodes nodes) {
    intentional_ = std::move(nodes);
  }
  void set_on_change(std::function<void()> on_change) {
    on_change_ = std::move(on_change);
  }
  // A recording begins to receive updates, with everything that is known, and
  // receives none from now on. The server always does.
  void StartReader(Reader reader);
  void StopReader(Reader reader);

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
    bool loss = false;
    uint32_t forward_node = 0;
    // By reader: it is among the nodes of the reader's next updates.
    std::array<bool, kReaders> changed{};
    uint32_t flags = 0;
    uint64_t order = 0;
    uint64_t first_step = 0;
    uint64_t reported_last_step = 0;
    std::vector<Frame> stack;
    std::vector<Endpoint> inputs;
    std::vector<OutputType> outputs;
    std::vector<std::pair<const std::string*, const std::string*>> attributes;
  };

  // Changes that a reader has not received yet.
  struct Changes {
    std::deque<uint32_t> nodes;
    std::deque<ScopeKey> scopes;
  };

  static constexpr uint32_t kNothingToReport = UINT32_MAX;

  absl::Status AddGraph(const std::string& graph) GRAPHDBG_REQUIRES(mu_);
  const std::string* NextGraph(const Changes& changes) const
      GRAPHDBG_REQUIRES(mu_);
  uint32_t Add(const graphdbg_node_info& info, std::string name)
      GRAPHDBG_REQUIRES(mu_);
  void AddDeclaredInputs(const graphdbg_node_info& info, uint32_t id,
                         Record* record) GRAPHDBG_REQUIRES(mu_);
  void AddAttributes(const graphdbg_node_info& info, Record* record)
      GRAPHDBG_REQUIRES(mu_);
  void AddStack(const graphdbg_node_info& info, Record* record)
      GRAPHDBG_REQUIRES(mu_);
  void SetInputs(const InputArray& inputs, Record* record)
      GRAPHDBG_REQUIRES(mu_);
  void SetOutputs(const TensorArray& tensors, Record* record)
      GRAPHDBG_REQUIRES(mu_);
  void MarkChanged(uint32_t id) GRAPHDBG_REQUIRES(mu_);
  void MarkChanged(const ScopeKey& scope) GRAPHDBG_REQUIRES(mu_);
  size_t readers() const GRAPHDBG_REQUIRES(mu_) { return recorded_ ? 2 : 1; }
  // Has the next updates of a reader include everything.
  void ChangeAll(Reader reader) GRAPHDBG_REQUIRES(mu_);
  static bool LearnsInputs(const InputArray& inputs, NodeFacts* facts);
  void LearnAll(const Execution& execution, uint64_t order, uint64_t step,
                uint64_t signature) GRAPHDBG_EXCLUDES(mu_);
  void LearnMode(const Execution& execution, NodeFacts* facts)
      GRAPHDBG_EXCLUDES(mu_);
  void Fill(uint32_t id, v1::Node* node) const GRAPHDBG_REQUIRES(mu_);
  // Returns the number of bytes added.
  size_t TakeLastSteps(size_t max_bytes, v1::GraphUpdate* update)
      GRAPHDBG_REQUIRES(mu_);
  // The stack from which the node was declared, or for a backward op its
  // forward op, if it has frames in the user's code.
  const std::vector<Frame>* UserStackOf(uint32_t id) const
      GRAPHDBG_REQUIRES(mu_);
  // Null if there is none.
  const Frame* UserLineOf(uint32_t id) const GRAPHDBG_REQUIRES(mu_);
  const Record& At(uint32_t id) const GRAPHDBG_REQUIRES(mu_) {
    return records_[id - 1];
  }

  IntentionalNodes intentional_;
  std::function<void()> on_change_;
  // Without a recording, there is no need to remember what it has not read.
  bool recorded_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // Grows with mu_ held; read without a lock.
  SegmentedArray<NodeFacts> facts_;

  mutable Mutex mu_;
  // Ids by name. The strings of records point to these keys, which never move,
  // or to pool_.
  std::unordered_map<std::string, uint32_t> names_ GRAPHDBG_GUARDED_BY(mu_);
  std::deque<Record> records_ GRAPHDBG_GUARDED_BY(mu_);
  // Graphs with their positions in the order in which they were declared.
  std::map<std::string, size_t> graphs_ GRAPHDBG_GUARDED_BY(mu_);
  std::map<ScopeKey, std::string> scope_types_ GRAPHDBG_GUARDED_BY(mu_);
  StringPool pool_ GRAPHDBG_GUARDED_BY(mu_);
  // The content of the next updates, by reader.
  std::array<Changes, kReaders> changes_ GRAPHDBG_GUARDED_BY(mu_);
  // The next node whose last step may have to be reported.
  uint32_t next_to_report_ GRAPHDBG_GUARDED_BY(mu_) = kNothingToReport;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NODE_TABLE_H_
