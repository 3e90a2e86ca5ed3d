// The graph of one job as its agents report it: nodes, the tree of scopes that
// their names form, and edges.
//
// The cost of a query about a scope is proportional to the size of its answer.
// When an edge between nodes is added, it is stored in the only scope whose
// view shows it: the innermost scope that contains both ends.
//
//   forward/conv1/conv2d ──► forward/relu     is stored in "forward"
//                                             as conv1 ──► relu
//
// Not thread safe. Patches that would exceed a limit are refused.
#ifndef SERVER_GRAPH_GRAPH_STORE_H_
#define SERVER_GRAPH_GRAPH_STORE_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/graph/agent_ids.h"
#include "server/graph/node_record.h"
#include "server/graph/source_pool.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"

namespace graphdbg::graph {

using ScopeIndex = uint32_t;

// The id that clients use for the graph that agents call "".
inline constexpr std::string_view kMainGraph = "main";

// A child of a scope: a scope or a node.
struct Child {
  bool is_scope = false;
  uint32_t index = 0;

  bool operator==(const Child&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const Child& c) {
    return H::combine(std::move(h), c.is_scope, c.index);
  }
};

struct LiftedEdge {
  Child from;
  Child to;
  bool control = false;

  bool operator==(const LiftedEdge&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const LiftedEdge& e) {
    return H::combine(std::move(h), e.from, e.to, e.control);
  }
};

struct Scope {
  std::string name;
  // The root of a graph is its own parent.
  ScopeIndex parent = 0;
  uint32_t depth = 0;
  // The module's class; empty if unknown.
  std::string type;
  std::vector<ScopeIndex> scopes;
  std::vector<NodeIndex> nodes;
  // Number of nodes in the scope, at any depth.
  uint32_t descendants = 0;
  // The smallest order of the nodes in it that execute. 0: none of them does.
  uint64_t order = 0;
  absl::flat_hash_map<LiftedEdge, uint32_t> edges;
};

struct Input {
  // kNoNode if the producer is not known, or not known yet.
  NodeIndex node = kNoNode;
  uint32_t slot = 0;
  bool control = false;
  // The index of this input in the producer's `consumers`, so that the entry is
  // found without a search. Not part of the input's value.
  uint32_t link = 0;

  bool operator==(const Input& other) const {
    return node == other.node && slot == other.slot && control == other.control;
  }
};

struct Consumer {
  NodeIndex node = 0;
  // Argument position at the consumer.
  uint32_t position = 0;

  auto operator<=>(const Consumer&) const = default;
};

struct Node {
  std::string name;
  ScopeIndex scope = 0;
  uint32_t graph = 0;
  model::NodeKind kind = model::NodeKind::kOp;
  model::Category category = model::Category::kOther;
  std::string op_type;
  NodeIndex forward = kNoNode;
  uint64_t order = 0;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
  std::vector<Input> inputs;
  // Counts changes of `inputs`.
  uint32_t inputs_revision = 0;
  // In no particular order.
  std::vector<Consumer> consumers;
  std::vector<model::Output> outputs;
  std::vector<FrameIndex> stack;
  std::map<std::string, std::string> attributes;
  uint64_t weight_bytes = 0;
  // Number of inputs in the newest report, including unknown ones.
  uint32_t declared_inputs = 0;
  // By which agents offer this content. 0: they cannot.
  Digest digest = 0;
};

struct Graph {
  std::string id;
  ScopeIndex root = 0;
  uint64_t node_count = 0;
  uint64_t edge_count = 0;
  // Keys are the names of the scopes.
  absl::flat_hash_map<std::string_view, ScopeIndex> scopes;
};

struct GraphLimits {
  uint32_t max_nodes = 1'000'000;
  // Inputs of all nodes, whether or not their producers are known.
  uint64_t max_edges = 4'000'000;
  uint32_t max_scopes = 1'000'000;
  uint32_t max_graphs = 1'000;
  // Segments of a name.
  uint32_t max_depth = 64;
  uint32_t max_name_bytes = 4'096;
  uint32_t max_attribute_bytes = 64 << 10;
  // Of the source files of all ranks together.
  uint32_t max_files = 1'000;
  uint32_t max_file_bytes = 32 << 20;
  uint64_t max_bytes = uint64_t{2} << 30;
};

// The changes that a patch made, for the journal.
struct GraphChanges {
  // Nodes that are new or changed in more than their last step; ascending.
  std::vector<NodeIndex> nodes;
  // Scopes whose type changed.
  std::vector<ScopeIndex> scopes;
  // Names of source files that are new or changed.
  std::vector<std::string> files;
  // The sender's ids that are new, with their nodes.
  std::vector<std::pair<uint32_t, NodeIndex>> ids;
};

class GraphStore {
 public:
  explicit GraphStore(GraphLimits limits = {}) : limits_(limits) {}

  // Adds and replaces nodes. `ids` belongs to the sender and to this store. A
  // node keeps its index forever; nodes of several agents with the same name
  // are one node. INVALID_ARGUMENT and RESOURCE_EXHAUSTED name the node at
  // which the patch was refused; the part before it, and nothing else, has been
  // applied and is in `changes`.
  absl::Status Apply(const GraphPatch& patch, AgentIds& ids,
                     GraphChanges* changes = nullptr);

  // The node with this content; kNoNode if there is none.
  NodeIndex FindDigest(Digest digest) const;
  // The sender has this node, whose content is known, under this id, which must
  // be new or that of this node. Adds other nodes that this completes.
  void AddKnown(uint32_t id, NodeIndex node, AgentIds& ids,
                GraphChanges& changes);
  // Whether the text of the file has this digest.
  bool HasFile(std::string_view file, Digest digest) const;

  // Restore an empty store. The vectors are in the order of indices. Patches
  // may exceed the limits by a tenth, so that what was accepted can always be
  // restored; errors are those of Apply.
  absl::Status RestorePatches(const std::vector<GraphPatch>& patches);
  void RestoreFrames(const std::vector<model::SourceLine>& frames);
  void RestoreLastSteps(const std::vector<uint64_t>& steps);

  // Number of patches that changed more than last steps.
  uint64_t version() const { return version_; }

  size_t node_count() const { return nodes_.size(); }
  const Node& node(NodeIndex i) const { return nodes_[i]; }
  size_t scope_count() const { return scopes_.size(); }
  const Scope& scope(ScopeIndex i) const { return scopes_[i]; }
  const std::vector<Graph>& graphs() const { return graphs_; }

  // kNoNode if no node has this name.
  NodeIndex FindNode(std::string_view name) const;
  // Null if no graph has this id. "" means the main graph, or the first one if
  // there is no main graph.
  const Graph* FindGraph(std::string_view id) const;
  // "" is the root. NOT_FOUND "unknown_graph" or "unknown_scope".
  absl::StatusOr<ScopeIndex> FindScope(std::string_view graph,
                                       std::string_view name) const;

  size_t frame_count() const { return frames_.size(); }
  const model::SourceLine& frame(FrameIndex i) const {
    return frames_.frame(i);
  }
  // The text of a source file; null if it is unknown.
  const std::string* FileText(std::string_view file) const;
  // Length of the names of all nodes.
  uint64_t name_bytes() const { return name_bytes_; }
  // Approximate memory that the store uses.
  uint64_t bytes() const { return bytes_ + frames_.bytes(); }
  // The stack that shows where a node comes from: for a backward op, that of
  // its forward op, if it is known.
  const std::vector<FrameIndex>& StackOf(NodeIndex i) const;
  // The user's own line; for a backward op, that of its forward op. Null if it
  // is unknown.
  const model::SourceLine* SourceOf(NodeIndex i) const;

 private:
  absl::StatusOr<uint32_t> EnsureGraph(const std::string& id);
  absl::StatusOr<ScopeIndex> EnsureScope(uint32_t graph, std::string_view name);
  // Files that would exceed the limits are left out.
  void AddFiles(const std::vector<FileRecord>& files, GraphChanges& changes);
  absl::Status ApplyTo(uint32_t graph, const GraphPatch& patch, AgentIds& ids,
                       GraphChanges& changes);
  absl::StatusOr<NodeIndex> EnsureNode(uint32_t graph, const NodeRecord& record,
                                       AgentIds& ids, GraphChanges& changes);
  void Fill(NodeIndex index, const NodeRecord& record, AgentIds& ids,
            GraphChanges& changes);
  // Checks the limits for the parts of one node.
  absl::Status CheckRecord(const NodeRecord& record) const;
  // Counts the edges that end at the node once it has been filled.
  void CountInputs(Node& node, size_t count);
  // RESOURCE_EXHAUSTED if the store cannot grow by this many bytes.
  absl::Status CheckSize(std::string_view name, uint64_t growth) const;
  absl::Status TooLarge(std::string_view name) const;
  // The number of the patch's first nodes that can be added without exceeding
  // the limit on bytes. Scopes and frames that the nodes share are counted for
  // each of them, so the limit is reached a little early.
  size_t CountFitting(uint32_t graph, const GraphPatch& patch,
                      const AgentIds& ids) const;
  // An upper bound for the bytes that a node adds.
  uint64_t GrowthFor(uint32_t graph, const NodeRecord& record,
                     const AgentIds& ids) const;
  // Returns false if the inputs are the same as before.
  bool SetInputs(NodeIndex index, std::vector<Input> inputs);
  // Adds or removes the edge that ends at this input.
  void Link(NodeIndex consumer, uint32_t position);
  void Unlink(NodeIndex consumer, uint32_t position);
  void CountEdge(NodeIndex from, NodeIndex to, bool control, int by);
  void RecordOrder(ScopeIndex scope, uint64_t order);
  void ResolveWaiting(AgentIds& ids, uint32_t agent_id, NodeIndex index,
                      GraphChanges& changes);
  // `changed`: in something else. Returns whether the digest has changed.
  bool SetDigest(NodeIndex index, const NodeRecord& record, bool changed);

  GraphLimits limits_;
  std::vector<Graph> graphs_;
  // Deques, because the maps' keys point to the names.
  std::deque<Scope> scopes_;
  std::deque<Node> nodes_;
  absl::flat_hash_map<std::string_view, NodeIndex> by_name_;
  SourcePool frames_;
  NodeIdPages id_pages_;
  absl::flat_hash_map<Digest, NodeIndex> by_digest_;
  struct File {
    std::string text;
    Digest digest = 0;
  };
  absl::flat_hash_map<std::string, File> files_;
  uint64_t version_ = 0;
  uint64_t bytes_ = 0;
  uint64_t name_bytes_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t edge_count_ = 0;
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_GRAPH_STORE_H_
