// One rank of a dump: its graphs, iterations and values.
#ifndef SERVER_RUNS_MINDSPORE_DUMP_RANK_H_
#define SERVER_RUNS_MINDSPORE_DUMP_RANK_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/model/tensor.h"
#include "server/runs/mindspore/dump_graph.h"
#include "server/runs/mindspore/dump_layout.h"
#include "server/runs/mindspore/step_files.h"
#include "server/runs/tensor_files.h"

namespace graphdbg::dumps {

// Iterations count from 0, steps from 1.
inline uint64_t StepOf(uint64_t iteration) { return iteration + 1; }

// The properties of an iteration that are known without reading values.
struct StepInfo {
  std::vector<GraphFolder> folders;
  // Tensors, or files with all tensors of an op.
  uint64_t files = 0;
  // Unix time in microseconds, from names of files; 0 if they have none.
  uint64_t first_us = 0;
  uint64_t last_us = 0;
};

// Not thread safe; a copy reads the same files, on another thread.
class DumpRank {
 public:
  // `memory` may be null.
  DumpRank(uint32_t number, recorded::Folder dump,
           std::shared_ptr<MemoryBudget> memory);

  // Uses what a scan has found, and adds the nodes of new files to the graph.
  void Update(const RankLayout& layout, graph::GraphStore& graph);

  uint32_t number() const { return number_; }
  const std::string& net() const { return net_; }
  const DumpGraph& graph() const { return graph_; }
  // By number, ascending.
  const std::map<uint64_t, StepInfo>& steps() const { return steps_; }
  // How many times graphs ran in a step, as far as it was dumped; 0 if unknown.
  uint32_t ExecutionsIn(uint64_t step) const;
  const std::string& version() const { return version_; }
  const std::string& device() const { return device_; }
  // Steps that have files of the overflow detection, ascending.
  const std::set<uint64_t>& overflow_steps() const { return overflow_steps_; }
  const Damage& damage() const { return damage_; }

  // The listing of a step; null if it was not dumped.
  std::shared_ptr<const StepFiles> Files(uint64_t step);
  // Where the values of an output are; absent if they were not dumped. An
  // output that was not dumped itself is found as an input of another op.
  // DATA_LOSS and UNIMPLEMENTED name the file.
  using Found = recorded::TensorFiles::Found;
  absl::StatusOr<std::optional<Found>> Find(uint64_t step, TensorKey key);
  // Statistics from statistic.csv; null if it has none.
  std::shared_ptr<const StatisticRow> FindRow(uint64_t step, TensorKey key);
  // All outputs of which a step has values or statistics. Opens the files that
  // have all tensors of an op.
  std::vector<TensorKey> Dumped(uint64_t step);
  // The nearest steps at which the tensor has values.
  recorded::TensorFiles::Nearest FindNearest(uint64_t step, TensorKey key);
  // The steps at which the tensor has values, ascending.
  std::vector<uint64_t> SavedSteps(TensorKey key);

  // Measured, or from statistic.csv. Reads values only while `budget`, a number
  // of bytes, lasts. Absent if nothing is known.
  std::optional<model::Statistics> Statistics(uint64_t step, TensorKey key,
                                              uint64_t& budget);

 private:
  void ReadMetadata(const recorded::Folder& rank);
  void ReadHistory(const recorded::Folder& rank);
  void AddOrphan(const DumpName& name, uint32_t graph,
                 const model::TensorType& type,
                 DumpGraph::Orphans& orphans) const;
  // The outputs are those in the file.
  void AddOrphanMessage(const DumpFile& file,
                        DumpGraph::Orphans& orphans) const;
  absl::StatusOr<std::optional<Found>> Open(const StepFiles& files,
                                            const KeptFile& file,
                                            bool is_output, uint32_t slot);
  void AddDamage(const std::string& path, const absl::Status& status);
  // Drops the listing of a step.
  void Forget(uint64_t step);

  uint32_t number_;
  recorded::Folder dump_;
  std::shared_ptr<MemoryBudget> memory_;
  bool has_graphs_ = false;
  std::string net_;
  std::string version_;
  std::string device_;
  DumpGraph graph_;
  std::map<uint64_t, StepInfo> steps_;
  std::vector<GraphFolder> constant_folders_;
  std::shared_ptr<const StepFiles> constants_;
  std::map<uint64_t, uint32_t> executions_;
  std::set<uint64_t> overflow_steps_;
  // Newest first.
  std::list<std::pair<uint64_t, std::shared_ptr<const StepFiles>>> files_;
  uint64_t files_bytes_ = 0;
  // By step and tensor.
  absl::flat_hash_map<std::pair<uint64_t, TensorKey>, model::Statistics>
      measured_;
  Damage damage_;
};

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_DUMP_RANK_H_
