// The graphs of one rank of a dump.
#ifndef SERVER_RUNS_MINDSPORE_DUMP_GRAPH_H_
#define SERVER_RUNS_MINDSPORE_DUMP_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/graph/agent_ids.h"
#include "server/graph/graph_store.h"
#include "server/mindspore/node_table.h"
#include "server/runs/files.h"
#include "server/runs/mindspore/dump_layout.h"
#include "server/runs/mindspore/node_names.h"
#include "server/runs/mindspore/step_files.h"

namespace graphdbg::dumps {

// Not thread safe; a copy may be read on another thread.
class DumpGraph {
 public:
  // Adds the graphs in `graphs/`, in the order of `execution_order/`, to the
  // graph of the run.
  void Read(const recorded::Folder& rank, graph::GraphStore& graph,
            Damage& damage);
  // Adds nodes for files of ops that no graph has, as in dumps without graphs.
  // They have no edges. `orphans`: such files, and rows of statistic.csv.
  struct Orphan {
    std::string name;
    std::string op_type;
    uint64_t time_us = 0;
    // Types are usually not known.
    std::map<uint32_t, model::TensorType> outputs;
  };
  using Orphans = std::map<std::pair<uint32_t, std::string>, Orphan>;
  void AddOrphans(const Orphans& orphans, graph::GraphStore& graph,
                  Damage& damage);

  const NodeNames& names() const { return names_; }
  const graph::AgentIds& ids() const { return ids_; }
  // kNoNode if the rank does not have the node.
  graph::NodeIndex NodeOf(uint32_t id) const { return ids_.Find(id); }
  // The tensor that has the values of an output: that of another op, if the
  // node only selects one. Node 0 if the rank does not have the node.
  TensorKey KeyOf(graph::NodeIndex node, uint32_t slot) const;
  // Who reads the tensor: node and position.
  std::vector<TensorKey> ReadersOf(TensorKey tensor) const;
  // The tensor that a node reads at a position; node 0 if it is not known.
  TensorKey ReadBy(TensorKey reader) const;

 private:
  void ReadOne(const recorded::Folder& rank, const recorded::Folder& graphs,
               const std::string& file, uint32_t number,
               graph::GraphStore& graph, Damage& damage);
  void Apply(const graph::GraphPatch& patch, uint32_t number,
             const std::string& path, graph::GraphStore& graph, Damage& damage);

  mindspore::NodeTable table_;
  NodeNames names_;
  graph::AgentIds ids_;
  std::vector<std::string> graph_names_;
  // The inverse of ids_.
  absl::flat_hash_map<graph::NodeIndex, uint32_t> numbers_;
  absl::flat_hash_map<TensorKey, std::vector<TensorKey>> readers_;
  absl::flat_hash_map<TensorKey, TensorKey> read_by_;
};

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_DUMP_GRAPH_H_
