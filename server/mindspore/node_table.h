// The nodes of one training process: their names in the job and on the wire,
// and what is known about their tensors.
#ifndef SERVER_MINDSPORE_NODE_TABLE_H_
#define SERVER_MINDSPORE_NODE_TABLE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/mindspore/values.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"

namespace graphdbg::mindspore {

struct NodeEntry {
  // The node's id in the job, counted from 1.
  uint32_t id = 0;
  // The full name in the job.
  std::string name;
  // The name in watchpoints and views. May contain arbitrary bytes.
  std::string wire_name;
  // Whether `wire_name` and `graph` are valid UTF-8. Commands cannot contain
  // other names.
  bool has_utf8_name = true;
  // MindSpore's name for the graph.
  std::string graph;
  model::NodeKind kind = model::NodeKind::kOp;
  model::Category category = model::Category::kOther;
  std::string op_type;
  std::vector<model::Output> outputs;
  // The position in the graph's execution order; 0 if the node does not
  // execute.
  uint64_t order = 0;
  std::optional<model::SourceLine> source;
  // The value of a constant, if the graph contains it.
  std::optional<Value> value;
  // If the node represents an output of another node and has no tensor of its
  // own, the id of that node; otherwise 0.
  uint32_t alias_of = 0;
  uint32_t alias_slot = 0;
};

// Not thread-safe. Ids and addresses are stable; nodes are never removed.
class NodeTable {
 public:
  // Returns the node with this name on the wire. Creates it if necessary, with
  // a full name derived from `name`.
  NodeEntry& Ensure(const std::string& graph, const std::string& wire_name,
                    std::string_view name);

  // These return null if there is no such node.
  const NodeEntry* ById(uint32_t id) const;
  const NodeEntry* ByName(std::string_view name) const;
  // Searches all graphs.
  const NodeEntry* ByWireName(std::string_view wire_name) const;
  // Resolves aliases: returns the node that has the tensor. Updates `slot`
  // accordingly.
  const NodeEntry& OwnerOf(const NodeEntry& node, uint32_t& slot) const;

  const std::deque<NodeEntry>& nodes() const { return nodes_; }

  // The graph's id in the job. The first graph is the job's main graph.
  std::string GraphId(const std::string& graph);

 private:
  std::string FreeName(const std::string& graph, std::string_view name) const;

  std::deque<NodeEntry> nodes_;
  std::vector<std::string> graphs_;
  // Keyed by graph, a NUL byte, and name on the wire.
  absl::flat_hash_map<std::string, uint32_t> by_key_;
  absl::flat_hash_map<std::string, uint32_t> by_name_;
  absl::flat_hash_map<std::string, uint32_t> by_wire_name_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_NODE_TABLE_H_
