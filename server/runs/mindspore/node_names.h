// Finds the node that a file of a dump belongs to.
#ifndef SERVER_RUNS_MINDSPORE_NODE_NAMES_H_
#define SERVER_RUNS_MINDSPORE_NODE_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/runs/mindspore/dump_name.h"

namespace graphdbg::dumps {

// Files name an op by the last part of its full name, or by all of it with
// other separators, so each node is known by both.
class NodeNames {
 public:
  // `graph` is the number in the name of the graph's file.
  void Add(uint32_t id, uint32_t graph, const std::string& full_name,
           const std::string& op_type);

  // The node's id, preferably in this graph and with the op type that the name
  // has; 0 if there is none.
  uint32_t Find(const DumpName& name, uint32_t graph) const;

 private:
  struct Entry {
    uint32_t id = 0;
    uint32_t graph = 0;
    std::string op_type;
  };

  absl::flat_hash_map<std::string, std::vector<Entry>> entries_;
};

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_NODE_NAMES_H_
