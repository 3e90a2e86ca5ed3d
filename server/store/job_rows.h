// The rows of one job.
#ifndef SERVER_STORE_JOB_ROWS_H_
#define SERVER_STORE_JOB_ROWS_H_

#include <memory>
#include <string>

#include "server/jobs/journal.h"
#include "server/store/writer.h"

namespace graphdbg::store {

// Encodes on the caller's thread, and leaves the rest to the writer.
class JobRows final : public jobs::JobJournal {
 public:
  // `key` is the job's in the tables, which have that many of its frames.
  JobRows(std::shared_ptr<Writer> writer, int64_t key, size_t frames = 0)
      : writer_(std::move(writer)), key_(key), frames_(frames) {}

  // The job itself, which is new.
  void Insert(const std::string& id, const std::string& asked_for,
              int64_t created_at_unix_nano);

  void RecordHello(uint32_t rank, const jobs::AgentHello& hello,
                   bool same_process) override;
  void RecordState(uint32_t rank, const jobs::RunState& run,
                   const jobs::ExitReport* farewell) override;
  void RecordGraph(uint32_t rank, const graph::GraphStore& graph,
                   const graph::GraphChanges& changes) override;
  void RecordLastSteps(const graph::GraphStore& graph) override;
  void RecordWatchpoint(uint32_t id, uint32_t revision,
                        const model::WatchpointSpec* spec) override;
  void RecordHit(const watch::HitRecord& hit, uint64_t number,
                 bool kept) override;
  void RecordStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                        uint64_t step,
                        const model::Statistics& statistics) override;
  void EraseStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                       uint64_t step) override;
  void Forget() override;
  void WhenDurable(std::function<void(absl::Status)> then) override;

 private:
  void PutFrames(const graph::GraphStore& graph);
  void PutNodes(const graph::GraphStore& graph,
                const std::vector<graph::NodeIndex>& nodes);
  void PutScopes(const graph::GraphStore& graph,
                 const std::vector<graph::ScopeIndex>& scopes);

  const std::shared_ptr<Writer> writer_;
  const int64_t key_;
  // Frames of the graph that have rows.
  size_t frames_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_JOB_ROWS_H_
