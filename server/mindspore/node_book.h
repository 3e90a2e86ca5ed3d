// The nodes of one training process: what people call them, what the wire calls
// them, and what is known of their tensors.
#ifndef SERVER_MINDSPORE_NODE_BOOK_H_
#define SERVER_MINDSPORE_NODE_BOOK_H_

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

struct BookNode {
  // The session's number of it, from 1.
  uint32_t id = 0;
  // Full name in the session.
  std::string name;
  // How watchpoints and views name it. Bytes of any kind.
  std::string wire_name;
  // Whether these are UTF-8: other names cannot be said in commands.
  bool sayable = true;
  // MindSpore's name of the graph.
  std::string graph;
  model::NodeKind kind = model::NodeKind::kOp;
  model::Category category = model::Category::kOther;
  std::string op_type;
  std::vector<model::Output> outputs;
  // Place in the graph's order of execution; 0: does not execute.
  uint64_t order = 0;
  std::optional<model::SourceLine> source;
  // Of a constant that the graph has with its value.
  std::optional<Value> value;
  // Stands for an output of another node and has no tensor of its own: that
  // node's id, else 0.
  uint32_t alias_of = 0;
  uint32_t alias_slot = 0;
};

// Not thread safe. Ids and addresses stay; nodes are never taken out.
class NodeBook {
 public:
  // The node that the wire calls so in that graph; a new one if there is none,
  // with an id and a full name made of `name`.
  BookNode& Ensure(const std::string& graph, const std::string& wire_name,
                   std::string_view name);

  // Null if there is none. Ids from 1.
  const BookNode* ById(uint32_t id) const;
  const BookNode* ByName(std::string_view name) const;
  // In any graph.
  const BookNode* ByWireName(std::string_view wire_name) const;
  // The node whose output it is, and the slot there, through aliases.
  const BookNode& OwnerOf(const BookNode& node, uint32_t& slot) const;

  const std::deque<BookNode>& nodes() const { return nodes_; }

  // Under which id people find this graph: the first is the job's main graph.
  std::string GraphId(const std::string& graph);

 private:
  std::string FreeName(const std::string& graph, std::string_view name) const;

  std::deque<BookNode> nodes_;
  std::vector<std::string> graphs_;
  // Keys are graph, a zero byte, name on the wire.
  absl::flat_hash_map<std::string, uint32_t> by_key_;
  absl::flat_hash_map<std::string, uint32_t> by_name_;
  absl::flat_hash_map<std::string, uint32_t> by_wire_name_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_NODE_BOOK_H_
