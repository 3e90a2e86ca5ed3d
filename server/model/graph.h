// Graphs as the server reports them: nodes, scopes, edges, search results.
#ifndef SERVER_MODEL_GRAPH_H_
#define SERVER_MODEL_GRAPH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/conditions/selector.h"
#include "server/model/tensor.h"

namespace graphdbg::model {

// One frame of the call stack that created a node.
struct SourceLine {
  std::string file;
  uint32_t line = 0;
  std::string function;
  std::string text;
  // The frame is in the user's own code, not in a library.
  bool user = false;

  bool operator==(const SourceLine&) const = default;
};

// A file of the user's code, as it was when the job read it.
struct SourceFile {
  std::string file;
  std::string text;
};

// The kinds of Node in the HTTP API.
enum class NodeKind {
  kScope,
  kOp,
  kParameter,
  kBuffer,
  kConstant,
  kInput,
  // Several similar siblings shown as one node.
  kAggregate
};

// A node's contribution to training. Agents select nodes by it, so they define
// it.
using Category = conditions::Category;

// Whether enabled watchpoints cover a node, or the nodes in a scope.
enum class Watched { kNone, kSome, kAll };

// A node or scope of the graph.
struct Node {
  // Full name: segments joined by "/".
  std::string name;
  // The last segment of the name.
  std::string label;
  NodeKind kind = NodeKind::kOp;
  // For a scope: the module's class, if known.
  std::string op_type;
  Category category = Category::kOther;
  uint32_t child_count = 0;
  uint32_t descendant_count = 0;
  std::vector<Output> outputs;
  // Hits on the node, or on all nodes in the scope.
  uint64_t hit_count = 0;
  Watched watched = Watched::kNone;
  std::optional<SourceLine> source;
  // In results of a search: the frame of the stack by which the node was found.
  std::optional<SourceLine> match;
  // Position in the execution order of a step, from 1. 0: does not execute.
  uint64_t order = 0;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
};

// A node with its connections and its source.
struct NodeDetail {
  Node node;
  // Id of the graph that contains it.
  std::string graph;
  std::vector<Endpoint> inputs;
  // One entry for each outgoing edge.
  std::vector<Endpoint> consumers;
  std::map<std::string, std::string> attributes;
  // Innermost frame first.
  std::vector<SourceLine> stack;
};

enum class EdgeKind { kData, kControl };

// An edge between two children of a scope.
struct Edge {
  std::string from;
  std::string to;
  // The number of op-level edges that this one represents.
  uint32_t tensors = 0;
  EdgeKind kind = EdgeKind::kData;
};

// The children of a scope.
struct ScopeView {
  std::string scope;
  std::vector<Node> nodes;
  // Edges between the children, lifted from the ops inside them. Edges that
  // leave the scope are omitted.
  std::vector<Edge> edges;
};

// One of a job's graphs.
struct GraphSummary {
  std::string id;
  uint64_t node_count = 0;
  uint64_t edge_count = 0;
};

// A whole graph in the format of proto/docs/graph-index.md.
struct GraphFile {
  // Changes whenever the graph does; never shared by two jobs.
  std::string version;
  // The compressed file.
  std::string gzip;
  // Size before compression.
  uint64_t bytes = 0;
};

// Where a search looks for its text.
enum class SearchIn { kNames, kCode };

// Criteria for nodes; a node must match all of them.
struct SearchQuery {
  // Case-insensitive substring of the full name, or of the code or the function
  // name of any frame of the stack. Empty matches every node.
  std::string q;
  // kCode: without the nodes whose name contains `q` and whose own line matches
  // `source`, if that is given. Absent: everywhere.
  std::optional<SearchIn> in;
  std::optional<Category> category;
  std::optional<NodeKind> kind;
  std::string op_type;
  // "file.py" or "file.py:42", compared with the end of the path of any frame
  // of the stack.
  std::string source;
  std::optional<uint32_t> watchpoint;
  uint32_t limit = 100;
  // SearchResult::next_cursor of the previous page. Empty: the first page.
  std::string cursor;
};

// One page of matching nodes.
struct SearchResult {
  std::vector<Node> nodes;
  // Empty on the last page.
  std::string next_cursor;
};

// An edge between two ops.
struct NeighbourEdge {
  std::string from;
  uint32_t slot = 0;
  std::string to;
  // Argument position at the consumer.
  uint32_t position = 0;
  EdgeKind kind = EdgeKind::kData;
};

// A node with everything that a graph export contains.
struct ExportNode {
  Node node;
  std::map<std::string, std::string> attributes;
  // Incoming edges.
  std::vector<NeighbourEdge> inputs;
};

// A page of a graph export, with nodes in the order in which they were
// declared.
struct GraphPage {
  // Id of the graph.
  std::string graph;
  std::vector<ExportNode> nodes;
  // Start of the next page. 0 on the last page.
  uint64_t next = 0;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_GRAPH_H_
