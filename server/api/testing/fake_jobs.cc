#include "server/api/testing/fake_jobs.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/tensor/slice.h"
#include "server/base/error.h"

namespace graphdbg::api::testing {

namespace {

bool IsSameTensor(const model::TensorQuery& a, const model::TensorQuery& b) {
  return a.node == b.node && a.slot == b.slot && a.rank == b.rank &&
         a.version == b.version && a.step == b.step;
}

// The slice that is asked for, if the value is a whole tensor.
model::TensorValue SliceOf(model::TensorValue value,
                           const model::TensorQuery& query) {
  if (!query.want_data) value.data.clear();
  if (value.data.empty()) return value;
  const auto& shape = value.type.shape;
  const TensorView view{value.type.dtype, value.data.data(), shape.size(),
                        shape.data(), nullptr};
  if (view.byte_count() != static_cast<int64_t>(value.data.size()))
    return value;
  const auto slice = ParseSlice(query.slice, shape);
  if (!slice.ok()) return value;
  std::string data;
  SliceReader reader(view, *slice);
  while (!reader.done()) reader.Read(1 << 20, &data);
  value.data = std::move(data);
  value.slice_shape = ShapeOf(*slice);
  return value;
}

}  // namespace

FakeJob::FakeJob(std::string id) { info.id = std::move(id); }

jobs::Task<model::Job> FakeJob::Describe() {
  if (busy) {
    boost::asio::steady_timer never(co_await boost::asio::this_coro::executor);
    never.expires_at(boost::asio::steady_timer::time_point::max());
    co_await never.async_wait(boost::asio::use_awaitable);
  }
  co_return info;
}

std::shared_ptr<const model::Job> FakeJob::LastKnown() const {
  return std::make_shared<const model::Job>(info);
}

jobs::Task<std::string> FakeJob::Control(model::ControlRequest request) {
  asked_control = std::move(request);
  if (!error.ok()) co_return error;
  co_return "command-1";
}

jobs::Task<model::Controller> FakeJob::TakeLease(std::string user) {
  if (!error.ok()) co_return error;
  info.controller = model::Controller{std::move(user), 0};
  co_return *info.controller;
}

jobs::StatusTask FakeJob::ReleaseLease(std::string user) {
  if (error.ok() && info.controller && info.controller->name != user) {
    co_return Error(absl::StatusCode::kFailedPrecondition, "not_controller",
                    "another user controls the job");
  }
  if (error.ok()) info.controller.reset();
  co_return error;
}

jobs::Task<std::vector<model::GraphSummary>> FakeJob::Graphs() {
  if (!error.ok()) co_return error;
  std::vector<model::GraphSummary> graphs = {{"main", 10, 20}};
  co_return graphs;
}

jobs::Task<std::shared_ptr<const model::GraphFile>> FakeJob::Index(
    std::string graph) {
  asked_index = std::move(graph);
  if (!error.ok()) co_return error;
  co_return std::make_shared<const model::GraphFile>(index);
}

jobs::Task<model::GraphPage> FakeJob::Export(std::string graph, uint64_t from) {
  asked_index = std::move(graph);
  if (!error.ok()) co_return error;
  const auto page = pages.find(from);
  if (page == pages.end()) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_graph",
                    "there is no such graph");
  }
  co_return page->second;
}

jobs::Task<model::ScopeView> FakeJob::Scope(
    std::string graph, std::string name,
    std::optional<uint32_t> aggregate_above) {
  asked_aggregates = aggregate_above;
  asked_scope = {std::move(graph), std::move(name)};
  if (!error.ok()) co_return error;
  co_return scope;
}

jobs::Task<model::NodeDetail> FakeJob::Node(std::string name) {
  asked_node = std::move(name);
  if (!error.ok()) co_return error;
  co_return node;
}

jobs::Task<model::SearchResult> FakeJob::Search(model::SearchQuery query) {
  asked_search = std::move(query);
  if (!error.ok()) co_return error;
  co_return found;
}

jobs::Task<model::SourceFile> FakeJob::Source(std::string file) {
  if (!error.ok()) co_return error;
  co_return model::SourceFile{std::move(file), "import torch\n"};
}

jobs::Task<model::Neighbours> FakeJob::Around(model::NeighbourQuery query) {
  asked_neighbours = std::move(query);
  if (!error.ok()) co_return error;
  co_return neighbours;
}

jobs::Task<model::TensorHistory> FakeJob::History(std::string node,
                                                  uint32_t slot,
                                                  uint32_t rank) {
  asked_history = {std::move(node), slot, rank};
  if (!error.ok()) co_return error;
  co_return history;
}

jobs::Task<model::OverviewSummary> FakeJob::Overview(model::OverviewQuery) {
  if (!error.ok()) co_return error;
  co_return overview;
}

jobs::Task<model::OverviewMatrix> FakeJob::OverviewValues(
    model::OverviewQuery, model::OverviewMeasure) {
  if (!error.ok()) co_return error;
  co_return overview_values;
}

jobs::Task<std::vector<model::OverviewPoint>> FakeJob::OverviewOf(uint32_t,
                                                                  std::string) {
  if (!error.ok()) co_return error;
  co_return overview_points;
}

jobs::Task<model::OverviewOps> FakeJob::OverviewOpsOf(uint32_t,
                                                      std::optional<uint64_t>) {
  if (!error.ok()) co_return error;
  co_return overview_ops;
}

jobs::Task<std::vector<model::Watchpoint>> FakeJob::Watchpoints() {
  if (!error.ok()) co_return error;
  std::vector<model::Watchpoint> list;
  for (const auto& [id, watchpoint] : watchpoints) list.push_back(watchpoint);
  co_return list;
}

jobs::Task<model::Watchpoint> FakeJob::GetWatchpoint(uint32_t id) {
  if (!error.ok()) co_return error;
  auto it = watchpoints.find(id);
  if (it == watchpoints.end()) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_watchpoint",
                    "there is no such watchpoint");
  }
  co_return it->second;
}

jobs::Task<model::Watchpoint> FakeJob::AddWatchpoint(
    model::WatchpointSpec spec) {
  if (!error.ok()) co_return error;
  model::Watchpoint made;
  made.id = static_cast<uint32_t>(watchpoints.size()) + 1;
  made.spec = std::move(spec);
  watchpoints[made.id] = made;
  co_return made;
}

jobs::Task<model::SelectionPreview> FakeJob::PreviewWatchpoint(
    model::WatchpointSpec spec) {
  if (!error.ok()) co_return error;
  model::SelectionPreview preview;
  preview.node_count = spec.selection.nodes.size();
  preview.examples = spec.selection.nodes;
  co_return preview;
}

jobs::Task<model::Watchpoint> FakeJob::ChangeWatchpoint(
    uint32_t id, model::WatchpointChange change) {
  if (!error.ok()) co_return error;
  model::WatchpointSpec& spec = watchpoints.at(id).spec;
  if (change.condition) spec.condition = *change.condition;
  if (change.selection) spec.selection = *change.selection;
  if (change.pause) spec.pause = *change.pause;
  if (change.enabled) spec.enabled = *change.enabled;
  co_return watchpoints.at(id);
}

jobs::StatusTask FakeJob::RemoveWatchpoint(uint32_t id) {
  if (!error.ok()) co_return error;
  if (watchpoints.erase(id) == 0) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_watchpoint",
                    "there is no such watchpoint");
  }
  co_return absl::OkStatus();
}

jobs::Task<model::RecommendedSet> FakeJob::AddRecommended() {
  if (!error.ok()) co_return error;
  co_return recommended;
}

jobs::Task<model::HitPage> FakeJob::Hits(model::HitQuery query) {
  asked_hits = std::move(query);
  if (!error.ok()) co_return error;
  co_return hits;
}

jobs::Task<std::vector<model::Hit>> FakeJob::NewestHits(uint32_t limit) {
  if (!error.ok()) co_return error;
  std::vector<model::Hit> newest = hits.hits;
  if (newest.size() > limit) newest.erase(newest.begin(), newest.end() - limit);
  co_return newest;
}

jobs::Task<model::Diagnosis> FakeJob::Diagnose(uint64_t hit) {
  asked_hit = hit;
  if (!error.ok()) co_return error;
  co_return diagnosis;
}

jobs::Task<model::IncidentPage> FakeJob::Incidents(uint32_t limit) {
  asked_limit = limit;
  if (!error.ok()) co_return error;
  co_return incidents;
}

jobs::Task<std::vector<model::TensorSummary>> FakeJob::Tensors(std::string node,
                                                               uint32_t rank) {
  asked_tensors = {std::move(node), rank};
  if (!error.ok()) co_return error;
  co_return tensors;
}

jobs::Task<model::TensorValue> FakeJob::Tensor(model::TensorQuery query) {
  asked_tensor = query;
  tensor_queries.push_back(std::move(query));
  if (!error.ok()) co_return error;
  if (other_tensor && !IsSameTensor(*asked_tensor, tensor_queries.front())) {
    co_return SliceOf(*other_tensor, *asked_tensor);
  }
  const bool second = second_tensor && tensor_queries.size() > 1;
  co_return SliceOf(second ? *second_tensor : tensor, *asked_tensor);
}

jobs::Task<std::string> FakeJob::StepStatistics(uint32_t rank) {
  asked_step_statistics = rank;
  if (!error.ok()) co_return error;
  co_return step_statistics;
}

jobs::StatusTask FakeJob::CatchTensors(std::string node, uint32_t rank,
                                       std::string) {
  asked_catch = {std::move(node), rank};
  co_return error;
}

jobs::Task<model::JobRecording> FakeJob::GetRecording() {
  if (!error.ok()) co_return error;
  co_return recording;
}

jobs::Task<model::JobRecording> FakeJob::SetRecording(
    model::RecordingSpec spec) {
  asked_recording = std::move(spec);
  if (!error.ok()) co_return error;
  co_return recording;
}

jobs::StatusTask FakeJob::KeepRules(model::KeptRules) {
  co_return absl::OkStatus();
}

jobs::Task<model::KeptRules> FakeJob::Rules() { co_return model::KeptRules(); }

jobs::StatusTask FakeJob::PublishFinding(model::Finding) {
  co_return absl::OkStatus();
}

jobs::StatusTask FakeJob::PublishLog(uint32_t, std::string, std::string) {
  co_return absl::OkStatus();
}

std::shared_ptr<FakeJob> FakeDirectory::Add(const std::string& id) {
  auto job = std::make_shared<FakeJob>(id);
  absl::MutexLock lock(&mu_);
  jobs_[id] = job;
  return job;
}

void FakeDirectory::Emit(model::Event event) {
  std::vector<std::shared_ptr<jobs::EventSink>> sinks;
  {
    absl::MutexLock lock(&mu_);
    event.seq = ++seqs_[event.job];
    for (const auto& weak : sinks_) {
      if (auto sink = weak.lock()) sinks.push_back(sink);
    }
  }
  auto shared = std::make_shared<const model::Event>(std::move(event));
  for (const auto& sink : sinks) (*sink)(shared);
}

std::vector<std::shared_ptr<jobs::Job>> FakeDirectory::Jobs() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::shared_ptr<jobs::Job>> jobs;
  for (const auto& [id, job] : jobs_) jobs.push_back(job);
  return jobs;
}

std::shared_ptr<jobs::Job> FakeDirectory::Find(const std::string& id) const {
  absl::MutexLock lock(&mu_);
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second;
}

jobs::StatusTask FakeDirectory::Forget(std::string id) {
  {
    absl::MutexLock lock(&mu_);
    auto it = jobs_.find(id);
    if (it == jobs_.end()) co_return absl::NotFoundError("no such job");
    if (it->second->info.state != model::JobState::kFinished) {
      co_return Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
                      "the job is alive");
    }
    jobs_.erase(it);
  }
  model::Event event;
  event.type = model::Event::Type::kJob;
  event.job = id;
  Emit(std::move(event));
  co_return absl::OkStatus();
}

std::shared_ptr<void> FakeDirectory::Subscribe(jobs::EventSink sink) {
  auto shared = std::make_shared<jobs::EventSink>(std::move(sink));
  absl::MutexLock lock(&mu_);
  sinks_.push_back(shared);
  return shared;
}

}  // namespace graphdbg::api::testing
