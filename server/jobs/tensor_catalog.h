// Facts about tensors that the server knows without asking an agent.
#ifndef SERVER_JOBS_TENSOR_CATALOG_H_
#define SERVER_JOBS_TENSOR_CATALOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/graph/annotations.h"
#include "server/graph/graph_store.h"
#include "server/model/neighbours.h"
#include "server/model/tensor.h"
#include "server/watch/hit_log.h"

namespace graphdbg::jobs {

// The statistics that are known of a job's tensors.
class KnownTensors {
 public:
  virtual ~KnownTensors() = default;

  // NOT_FOUND "unknown_rank".
  virtual absl::Status CheckRank(uint32_t rank) const = 0;
  // The newest step. Absent if nothing is known.
  virtual std::optional<model::StatisticsPoint> Newest(uint32_t rank,
                                                       graph::NodeIndex node,
                                                       uint32_t slot) const = 0;
  // All known steps, ascending.
  virtual std::vector<model::StatisticsPoint> History(uint32_t rank,
                                                      graph::NodeIndex node,
                                                      uint32_t slot) const = 0;
};

// Answers queries from the graph, the known statistics and the hits. Available
// after the job has ended, too. On the job's strand only.
//
// All methods return NOT_FOUND "unknown_node", "unknown_slot" or
// "unknown_rank".
class TensorCatalog {
 public:
  TensorCatalog(const graph::GraphStore& graph,
                const graph::Annotations& annotations,
                const KnownTensors& known, const watch::HitLog& hits);

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
  const KnownTensors& known_;
  const watch::HitLog& hits_;
};

// The node that produces a tensor. NOT_FOUND "unknown_node" or "unknown_slot".
// A node whose outputs are not known has every slot.
absl::StatusOr<graph::NodeIndex> FindTensor(const graph::GraphStore& graph,
                                            const std::string& node,
                                            uint32_t slot);

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TENSOR_CATALOG_H_
