// Jobs with scripted answers, for tests of handlers.
#ifndef SERVER_API_TESTING_FAKE_JOBS_H_
#define SERVER_API_TESTING_FAKE_JOBS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/viewers.h"

namespace graphdbg::api::testing {

// Returns the values that a test has set and records its arguments. Set the
// values before the first request.
class FakeJob : public jobs::Job {
 public:
  explicit FakeJob(std::string id);

  const std::string& id() const override { return info.id; }
  jobs::Task<model::Job> Describe() override;
  std::shared_ptr<const model::Job> LastKnown() const override;
  jobs::Task<std::string> Control(model::ControlRequest request) override;
  jobs::Task<model::Controller> TakeLease(std::string user) override;
  jobs::StatusTask ReleaseLease(std::string user) override;
  jobs::Task<std::vector<model::GraphSummary>> Graphs() override;
  jobs::Task<std::shared_ptr<const model::GraphFile>> Index(
      std::string graph) override;
  jobs::Task<model::GraphPage> Export(std::string graph,
                                      uint64_t from) override;
  jobs::Task<model::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) override;
  jobs::Task<model::NodeDetail> Node(std::string name) override;
  jobs::Task<model::SearchResult> Search(model::SearchQuery query) override;
  jobs::Task<model::SourceFile> Source(std::string file) override;
  jobs::Task<model::Neighbours> Around(model::NeighbourQuery query) override;
  jobs::Task<std::vector<model::Watchpoint>> Watchpoints() override;
  jobs::Task<model::Watchpoint> GetWatchpoint(uint32_t id) override;
  jobs::Task<model::Watchpoint> AddWatchpoint(
      model::WatchpointSpec spec) override;
  jobs::Task<model::SelectionPreview> PreviewWatchpoint(
      model::WatchpointSpec spec) override;
  jobs::Task<model::Watchpoint> ChangeWatchpoint(
      uint32_t id, model::WatchpointChange change) override;
  jobs::StatusTask RemoveWatchpoint(uint32_t id) override;
  jobs::Task<model::RecommendedSet> AddRecommended() override;
  jobs::Task<model::HitPage> Hits(model::HitQuery query) override;
  jobs::Task<std::vector<model::Hit>> NewestHits(uint32_t limit) override;
  jobs::Task<model::Diagnosis> Diagnose(uint64_t hit) override;
  jobs::Task<model::IncidentPage> Incidents(uint32_t limit) override;
  jobs::Task<std::vector<model::TensorSummary>> Tensors(std::string node,
                                                        uint32_t rank) override;
  jobs::Task<model::TensorValue> Tensor(model::TensorQuery query) override;
  jobs::Task<model::TensorHistory> History(std::string node, uint32_t slot,
                                           uint32_t rank) override;
  jobs::Task<std::string> StepStatistics(uint32_t rank) override;
  jobs::StatusTask CatchTensors(std::string node, uint32_t rank,
                                std::string capture) override;
  jobs::Task<model::OverviewSummary> Overview(
      model::OverviewQuery query) override;
  jobs::Task<model::OverviewMatrix> OverviewValues(
      model::OverviewQuery query, model::OverviewMeasure measure) override;
  jobs::Task<std::vector<model::OverviewPoint>> OverviewOf(
      uint32_t rank, std::string module) override;
  jobs::Task<model::OverviewOps> OverviewOpsOf(
      uint32_t rank, std::optional<uint64_t> step) override;
  jobs::Task<model::JobRecording> GetRecording() override;
  jobs::Task<model::JobRecording> SetRecording(
      model::RecordingSpec spec) override;
  jobs::StatusTask KeepRules(model::KeptRules rules) override;
  jobs::Task<model::KeptRules> Rules() override;
  jobs::StatusTask PublishFinding(model::Finding finding) override;
  jobs::StatusTask PublishLog(uint32_t rank, std::string level,
                              std::string message) override;

  model::Job info;
  // The job is busy: only LastKnown returns.
  bool busy = false;
  // If not OK, every function but Describe and LastKnown returns it.
  absl::Status error;
  model::GraphFile index;
  // Keyed by their positions.
  std::map<uint64_t, model::GraphPage> pages;
  model::ScopeView scope;
  model::NodeDetail node;
  model::SearchResult found;
  model::Neighbours neighbours;
  model::TensorHistory history;
  model::OverviewSummary overview;
  model::OverviewMatrix overview_values;
  std::vector<model::OverviewPoint> overview_points;
  model::OverviewOps overview_ops;
  std::string step_statistics;
  // Keyed by id.
  std::map<uint32_t, model::Watchpoint> watchpoints;
  model::RecommendedSet recommended;
  model::HitPage hits;
  model::Diagnosis diagnosis;
  model::IncidentPage incidents;
  std::vector<model::TensorSummary> tensors;
  model::TensorValue tensor;
  model::JobRecording recording;
  // If set, returned from the second request on.
  std::optional<model::TensorValue> second_tensor;
  // If set, returned for another tensor than that of the first query.
  std::optional<model::TensorValue> other_tensor;

  std::optional<model::ControlRequest> asked_control;
  std::optional<model::SearchQuery> asked_search;
  std::optional<model::HitQuery> asked_hits;
  std::optional<uint64_t> asked_hit;
  std::optional<uint32_t> asked_limit;
  std::optional<model::NeighbourQuery> asked_neighbours;
  // Node, slot and rank.
  std::tuple<std::string, uint32_t, uint32_t> asked_history;
  // The last query, and all of them.
  std::optional<model::TensorQuery> asked_tensor;
  std::vector<model::TensorQuery> tensor_queries;
  std::string asked_index;
  std::optional<uint32_t> asked_aggregates;
  // Graph and name.
  std::pair<std::string, std::string> asked_scope;
  std::string asked_node;
  // Node and rank.
  std::pair<std::string, uint32_t> asked_tensors;
  std::pair<std::string, uint32_t> asked_catch;
  // Rank.
  std::optional<uint32_t> asked_step_statistics;
  std::optional<model::RecordingSpec> asked_recording;
};

class FakeDirectory : public jobs::Directory {
 public:
  std::shared_ptr<FakeJob> Add(const std::string& id);

  // Assigns the event its seq and notifies the subscribers.
  void Emit(model::Event event);

  std::vector<std::shared_ptr<jobs::Job>> Jobs() const override;
  std::shared_ptr<jobs::Job> Find(const std::string& id) const override;
  jobs::StatusTask Forget(std::string id) override;
  std::shared_ptr<void> Subscribe(jobs::EventSink sink) override;
  std::shared_ptr<void> AddViewer(std::string job) override {
    return viewers_->Add(std::move(job));
  }
  uint32_t CountViewers() const override { return viewers_->Count(); }

 private:
  mutable absl::Mutex mu_;
  std::map<std::string, std::shared_ptr<FakeJob>> jobs_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, uint64_t> seqs_ ABSL_GUARDED_BY(mu_);
  const std::shared_ptr<jobs::Viewers> viewers_ =
      std::make_shared<jobs::Viewers>();
  std::vector<std::weak_ptr<jobs::EventSink>> sinks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::api::testing

#endif  // SERVER_API_TESTING_FAKE_JOBS_H_
