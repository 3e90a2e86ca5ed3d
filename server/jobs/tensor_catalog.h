// Facts about tensors that the server knows without asking an agent.
#ifndef SERVER_JOBS_TENSOR_CATALOG_H_
#define SERVER_JOBS_TENSOR_CATALOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/jobs/job_state_machine.h"
#include "server/jobs/known_statistics.h"
#include "server/model/neighbours.h"
#include "server/model/tensor.h"
#include "server/watch/hit_log.h"

namespace graphdbg::jobs {

// Answers queries from the graph, the known statistics and the hits. Available
// after the job has ended, too. On the job's strand only.
//
// All methods return NOT_FOUND "unknown_node", "unknown_slot" or
// "unknown_rank".
class TensorCatalog {
 public:
  TensorCatalog(const graph::GraphStore& graph,
                const graph::Annotations& annotations,
                const JobStateMachine& machine, const KnownStatistics& known,
                const watch::HitLog& hits);

  // The inputs and outputs of a node.
  absl::StatusOr<std::vector<model::TensorSummary>> List(
      const std::string& node, uint32_t rank) const;
  // The nodes and tensors around a tensor.
  absl::StatusOr<model::Neighbours> FindNeighbours(
      const model::NeighbourQuery& query) const;
  // The known statistics of a tensor.
  absl::StatusOr<model::TensorHistory> History(const std::string& node,
                                               uint32_t slot,
                                               uint32_t rank) const;

 private:
  model::NeighbourTensor Describe(graph::NodeIndex node, uint32_t slot,
                                  uint32_t rank) const;

  const graph::GraphStore& graph_;
  const graph::Annotations& annotations_;
  const JobStateMachine& machine_;
  const KnownStatistics& known_;
  const watch::HitLog& hits_;
};

// The node that produces a tensor. NOT_FOUND "unknown_node" or "unknown_slot".
// A node whose outputs are not known has every slot.
absl::StatusOr<graph::NodeIndex> FindTensor(const graph::GraphStore& graph,
                                            const std::string& node,
                                            uint32_t slot);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TENSOR_CATALOG_H_
