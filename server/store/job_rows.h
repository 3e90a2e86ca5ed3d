// Writes the rows of one job.
#ifndef SERVER_STORE_JOB_ROWS_H_
#define SERVER_STORE_JOB_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/journal.h"
#include "server/store/writer.h"

namespace graphdbg::store {

// Encodes records on the caller's thread; the writer stores them.
class JobRows final : public jobs::JobJournal {
 public:
  // `key` identifies the job in the tables, which already contain this many of
  // its frames.
  JobRows(std::shared_ptr<Writer> writer, int64_t key, size_t frames = 0)
      : writer_(std::move(writer)), key_(key), frames_(frames) {}

  // Adds the row of a new job.
  void Insert(const std::string& id, const std::string& asked_for,
              int64_t created_at_unix_nano);

  void RecordHello(uint32_t rank, const jobs::AgentHello& hello,
                   bool same_process) override;
  void RecordState(uint32_t rank, const jobs::RunState& run,
                   const jobs::ExitReport* exit_report,
                   int64_t now_unix_nano) override;
  void RecordGraph(uint32_t rank, const graph::GraphStore& graph,
                   const graph::GraphChanges& changes) override;
  void RecordLastSteps(const graph::GraphStore& graph) override;
  void RecordWatchpoint(uint32_t id, uint32_t revision,
                        const model::WatchpointSpec* spec) override;
  void RecordRules(const model::KeptRules& rules) override;
  void EraseRevision(uint32_t id, uint32_t revision) override;
  void RecordHit(const watch::HitRecord& record, uint64_t number,
                 bool kept) override;
  void RecordStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                        uint64_t step,
                        const model::Statistics& statistics) override;
  void EraseStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                       uint64_t step) override;
  void RecordOrigin(const jobs::SavedOrigin& origin) override;
  void EraseOrigins(uint64_t step) override;
  void Forget() override;
  void WhenDurable(std::function<void(absl::Status)> then) override;
  void OnceDurable(std::function<void(absl::Status)> then) override;
  absl::Status status() const override;
  bool full() const override { return writer_->full(); }

 private:
  // `bytes` is the size of the records in `write`.
  void Put(Writer::Write write, size_t bytes = 0,
           Writer::Kind kind = Writer::Kind::kRecord) ABSL_LOCKS_EXCLUDED(mu_);
  Writer::GroupPtr group() const ABSL_LOCKS_EXCLUDED(mu_);
  void PutNumbered(const char* sql,
                   std::vector<std::pair<int64_t, std::string>> rows);
  void PutFrames(const graph::GraphStore& graph);
  void PutNodes(const graph::GraphStore& graph,
                const std::vector<graph::NodeIndex>& nodes);
  void PutScopes(const graph::GraphStore& graph,
                 const std::vector<graph::ScopeIndex>& scopes);
  void PutFiles(const graph::GraphStore& graph,
                const std::vector<std::string>& files);

  const std::shared_ptr<Writer> writer_;
  const int64_t key_;

  // Orders the removal of the job before or after each record.
  mutable absl::Mutex mu_;
  bool forgotten_ ABSL_GUARDED_BY(mu_) = false;
  Writer::GroupPtr group_ ABSL_GUARDED_BY(mu_) =
      std::make_shared<Writer::Group>();

  // The number of the graph's frames that have rows.
  size_t frames_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_JOB_ROWS_H_
