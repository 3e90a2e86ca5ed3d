#include "server/jobs/live_job.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/diagnosis/diagnose.h"
#include "server/diagnosis/facts.h"
#include "server/graph/graph_view.h"
#include "server/graph/search.h"
#include "server/jobs/job_description.h"
#include "server/jobs/job_restoration.h"
#include "server/jobs/strand_call.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

uint64_t Generation(const JobOptions& options) {
  return options.journal == nullptr ? 0 : options.journal->generation();
}

// Numbers of events and commands start above those of earlier servers. They
// stay below 2^53, the largest integer that JSON readers represent exactly.
uint64_t FirstNumber(const JobOptions& options) {
  return Generation(options) << 32;
}

// A restarted server counts the versions of a graph from the beginning, so its
// generation is part of the version.
std::string GraphVersionPrefix(int64_t created_at_unix_nano,
                               const JobOptions& options) {
  return absl::StrCat(absl::Hex(created_at_unix_nano), "-", Generation(options),
                      "-");
}

// All ranks of the job have paused, and some may have to move on to be together
// with the others.
void ShowAsPausing(model::Job& job) {
  if (job.state != model::JobState::kPaused) return;
  job.state = model::JobState::kPausing;
  job.pause_reason = model::PauseReason::kNone;
  job.node.clear();
  job.stopped_by.clear();
}

bool IsAccelerator(const std::string& device) {
  return !device.empty() && !absl::EqualsIgnoreCase(device, "cpu");
}

}  // namespace

LiveJob::LiveJob(std::string id, int64_t created_at_unix_nano,
                 std::unique_ptr<JobJournal> journal,
                 boost::asio::any_io_executor executor,
                 std::shared_ptr<const JobOptions> options,
                 std::shared_ptr<EventBus> bus,
                 std::shared_ptr<const Viewers> viewers)
    : id_(std::move(id)),
      options_(std::move(options)),
      viewers_(std::move(viewers)),
      created_at_unix_nano_(created_at_unix_nano),
      strand_(std::move(executor)),
      memory_(options_->memory->Count(MemoryAccount::kJobs)),
      machine_([this](const JobStateMachine::Change& change) {
        OnStateChange(change);
      }),
      watch_table_(graph_),
      hits_(graph_),
      replicas_(graph_),
      origins_(graph_, recorder_),
      events_(id_, FirstNumber(*options_), std::move(bus),
              [this](const ListedRanks& listed) {
                Refresh();
                return DescribeOnStrand(listed);
              }),
      recorder_(std::move(journal), *this,
                [this](const absl::Status& failure) {
                  events_.PublishLog(
                      0, "error",
                      absl::StrCat("the server cannot store what happens: ",
                                   std::string(failure.message())));
                }),
      states_(machine_, recorder_, events_, *this, options_->now_unix_nano,
              [this] { return group_.AreTogether(); }),
      commands_(machine_, FirstNumber(*options_)),
      group_(machine_, commands_, *this, options_->end_deadline),
      lease_(*this, options_->control_lease,
             [this] {
               if (!retired_) events_.PublishJob(machine_.first_rank());
             }),
      dispatcher_(machine_, commands_, group_, graph_, unchecked_, events_),
      watchpoints_(watch_table_, hits_, machine_, recorder_, unchecked_,
                   events_),
      statistics_(known_statistics_, recorder_, RateLimit::Clock::now()),
      hit_recorder_(watch_table_, hits_, statistics_, recorder_, events_,
                    [this](const model::Hit& hit) { OnHit(hit); }),
      tensor_requests_(
          graph_, machine_, *this,
          {options_->max_tensor_bytes, options_->max_pending_tensor_bytes,
           options_->tensor_deadline, options_->memory}),
      step_measurer_(graph_, machine_, known_statistics_, tensor_requests_,
                     *this),
      recordings_(machine_, *this),
      known_tensors_(machine_, known_statistics_),
      tensors_(graph_, *this, known_tensors_, hits_),
      graph_files_(graph_, GraphVersionPrefix(created_at_unix_nano, *options_),
                   *this, [this] { UpdateMemoryUse(); }),
      graph_offers_(graph_, *this,
                    [this](Rank& rank, const graph::GraphChanges& changes) {
                      OnGraphChanged(rank, changes);
                    }),
      connections_(id_, machine_, watchpoints_, recorder_, events_, *this,
                   [this](Rank& rank, const std::string& reason) {
                     AbandonRank(rank, reason);
                   }) {
  Refresh();
}

template <class R, class Work>
boost::asio::awaitable<R> LiveJob::OnStrand(Work work) {
  return CallOn<R>(strand_,
                   [self = shared_from_this(),
                    work = std::move(work)]() mutable -> R { return work(); });
}

template <class R, class Start>
boost::asio::awaitable<R> LiveJob::StartOnStrand(Start start) {
  return StartOn<R>(strand_,
                    [self = shared_from_this(), start = std::move(start)](
                        std::function<void(R)> complete) mutable {
                      start(*self, std::move(complete));
                    });
}

Task<model::Job> LiveJob::Describe() {
  return OnStrand<absl::StatusOr<model::Job>>(
      [this] { return DescribeOnStrand({}); });
}

Task<std::string> LiveJob::Control(model::ControlRequest request) {
  return OnStrand<absl::StatusOr<std::string>>(
      [this, request = std::move(request)]() -> absl::StatusOr<std::string> {
        RETURN_IF_ERROR(lease_.Check(request.user));
        ASSIGN_OR_RETURN(std::string id, dispatcher_.Dispatch(request));
        lease_.Use(request.user);
        return id;
      });
}

Task<model::Controller> LiveJob::TakeLease(std::string user) {
  return OnStrand<absl::StatusOr<model::Controller>>(
      [this, user = std::move(user)] {
        lease_.TakeOver(user);
        return *lease_.holder();
      });
}

StatusTask LiveJob::ReleaseLease(std::string user) {
  return OnStrand<absl::Status>(
      [this, user = std::move(user)] { return lease_.Release(user); });
}

Task<std::vector<model::GraphSummary>> LiveJob::Graphs() {
  return OnStrand<absl::StatusOr<std::vector<model::GraphSummary>>>(
      [this] { return graph::GraphView(graph_, *this).Graphs(); });
}

Task<std::shared_ptr<const model::GraphFile>> LiveJob::Index(
    std::string graph) {
  return StartOnStrand<absl::StatusOr<GraphIndexCache::File>>(
      [graph = std::move(graph)](LiveJob& job,
                                 GraphIndexCache::Callback complete) {
        job.graph_files_.Request(graph, std::move(complete));
      });
}

Task<model::GraphPage> LiveJob::Export(std::string graph, uint64_t from) {
  return OnStrand<absl::StatusOr<model::GraphPage>>(
      [this, graph = std::move(graph), from] {
        return graph::GraphView(graph_, *this).Page(graph, from);
      });
}

Task<model::ScopeView> LiveJob::Scope(std::string graph, std::string name,
                                      std::optional<uint32_t> aggregate_above) {
  const size_t above =
      aggregate_above ? *aggregate_above : graph::GraphView::kNoAggregates;
  return OnStrand<absl::StatusOr<model::ScopeView>>(
      [this, graph = std::move(graph), name = std::move(name), above] {
        return graph::GraphView(graph_, *this).ScopeNamed(graph, name, above);
      });
}

Task<model::NodeDetail> LiveJob::Node(std::string name) {
  return OnStrand<absl::StatusOr<model::NodeDetail>>(
      [this, name = std::move(name)] {
        return graph::GraphView(graph_, *this).Detail(name);
      });
}

Task<model::SearchResult> LiveJob::Search(model::SearchQuery query) {
  return OnStrand<absl::StatusOr<model::SearchResult>>(
      [this, query = std::move(query)] {
        return graph::Search(graph_, *this, query);
      });
}

Task<model::SourceFile> LiveJob::Source(std::string file) {
  return OnStrand<absl::StatusOr<model::SourceFile>>(
      [this, file = std::move(file)] {
        return graph::GraphView(graph_, *this).Source(file);
      });
}

Task<model::Neighbours> LiveJob::Around(model::NeighbourQuery query) {
  return OnStrand<absl::StatusOr<model::Neighbours>>(
      [this, query = std::move(query)] {
        return tensors_.FindNeighbours(query);
      });
}

Task<std::vector<model::Watchpoint>> LiveJob::Watchpoints() {
  return OnStrand<absl::StatusOr<std::vector<model::Watchpoint>>>(
      [this] { return watchpoints_.List(); });
}

Task<model::Watchpoint> LiveJob::GetWatchpoint(uint32_t id) {
  return OnStrand<absl::StatusOr<model::Watchpoint>>(
      [this, id] { return watchpoints_.Get(id); });
}

Task<model::Watchpoint> LiveJob::AddWatchpoint(model::WatchpointSpec spec) {
  return StartOnStrand<absl::StatusOr<model::Watchpoint>>(
      [spec = std::move(spec)](LiveJob& job,
                               JobWatchpoints::Callback complete) {
        job.watchpoints_.Add(spec, std::move(complete));
        job.ScheduleRefresh();
      });
}

Task<model::SelectionPreview> LiveJob::PreviewWatchpoint(
    model::WatchpointSpec spec) {
  return OnStrand<absl::StatusOr<model::SelectionPreview>>(
      [this, spec = std::move(spec)] {
        const auto& ranks = machine_.ranks();
        const bool accelerator =
            !ranks.empty() && IsAccelerator(ranks.begin()->second.hello.device);
        return watch_table_.Preview(spec, accelerator);
      });
}

Task<model::Watchpoint> LiveJob::ChangeWatchpoint(
    uint32_t id, model::WatchpointChange change) {
  return StartOnStrand<absl::StatusOr<model::Watchpoint>>(
      [id, change = std::move(change)](LiveJob& job,
                                       JobWatchpoints::Callback complete) {
        job.watchpoints_.Change(id, change, std::move(complete));
        job.ScheduleRefresh();
      });
}

StatusTask LiveJob::RemoveWatchpoint(uint32_t id) {
  return StartOnStrand<absl::Status>([id](LiveJob& job, Done complete) {
    job.watchpoints_.Remove(id, std::move(complete));
    job.ScheduleRefresh();
  });
}

Task<model::RecommendedSet> LiveJob::AddRecommended() {
  using Result = absl::StatusOr<model::RecommendedSet>;
  return StartOnStrand<Result>(
      [](LiveJob& job, std::function<void(Result)> complete) {
        job.watchpoints_.AddRecommended(std::move(complete));
      });
}

Task<model::HitPage> LiveJob::Hits(model::HitQuery query) {
  return OnStrand<absl::StatusOr<model::HitPage>>(
      [this, query = std::move(query)]() -> absl::StatusOr<model::HitPage> {
        watch::HitLog::IncidentOf incident_of;
        if (query.incident) {
          incident_of = [&incidents = GroupHits()](uint64_t id) {
            return incidents.IncidentOf(id);
          };
        }
        ASSIGN_OR_RETURN(model::HitPage page, hits_.Query(query, incident_of));
        for (model::Hit& hit : page.hits) origins_.Complete(hit);
        return page;
      });
}

Task<std::vector<model::Hit>> LiveJob::NewestHits(uint32_t limit) {
  return OnStrand<absl::StatusOr<std::vector<model::Hit>>>([this, limit] {
    std::vector<model::Hit> hits = hits_.Newest(limit);
    for (model::Hit& hit : hits) origins_.Complete(hit);
    return hits;
  });
}

Task<model::Diagnosis> LiveJob::Diagnose(uint64_t id) {
  return OnStrand<absl::StatusOr<model::Diagnosis>>(
      [this, id]() -> absl::StatusOr<model::Diagnosis> {
        ASSIGN_OR_RETURN(model::Hit hit, hits_.Get(id));
        origins_.Complete(hit);
        return diagnosis::Diagnose(diagnosis::FactsOf(graph_, hit));
      });
}

Task<model::IncidentPage> LiveJob::Incidents(uint32_t limit) {
  return OnStrand<absl::StatusOr<model::IncidentPage>>([this, limit] {
    return GroupHits().Page(
        graph_, hits_, [this](model::Hit& hit) { origins_.Complete(hit); },
        limit);
  });
}

const diagnosis::Incidents& LiveJob::GroupHits() {
  const std::pair<uint64_t, uint64_t> version(hits_.kept(), origins_.version());
  if (incidents_ == nullptr || incidents_version_ != version) {
    incidents_ = std::make_unique<const diagnosis::Incidents>(
        graph_, hits_,
        [this](const model::Hit& hit) { return origins_.SenderOf(hit); });
    incidents_version_ = version;
  }
  return *incidents_;
}

Task<std::vector<model::TensorSummary>> LiveJob::Tensors(std::string node,
                                                         uint32_t rank) {
  return OnStrand<absl::StatusOr<std::vector<model::TensorSummary>>>(
      [this, node = std::move(node), rank] {
        return tensors_.List(node, rank);
      });
}

Task<model::TensorValue> LiveJob::Tensor(model::TensorQuery query) {
  return StartOnStrand<absl::StatusOr<model::TensorValue>>(
      [query = std::move(query)](LiveJob& job,
                                 TensorRequests::Completion complete) mutable {
        job.RequestTensor(std::move(query), std::move(complete));
      });
}

void LiveJob::RequestTensor(model::TensorQuery query,
                            TensorRequests::Completion complete) {
  tensor_requests_.Request(
      query, [this, query, complete = std::move(complete)](
                 absl::StatusOr<model::TensorValue> value) {
        if (!value.ok()) return complete(value.status());
        value->stops_left = machine_.Find(query.rank)->times_resumed;
        // Memory that was overwritten holds the values of another tensor.
        if (value->statistics && !value->overwritten) {
          statistics_.Record(query.rank, graph_.FindNode(query.node),
                             query.slot, value->step, *value->statistics,
                             KnownStatistics::Source::kAnswer);
        }
        complete(std::move(value));
      });
}

Task<model::TensorHistory> LiveJob::History(std::string node, uint32_t slot,
                                            uint32_t rank) {
  using Result = absl::StatusOr<model::TensorHistory>;
  return StartOnStrand<Result>([node = std::move(node), slot, rank](
                                   LiveJob& job,
                                   std::function<void(Result)> complete) {
    // Clients do not see statistics that a restarted server would not know.
    job.recorder_.WhenDurable([history = job.tensors_.History(node, slot, rank),
                               complete = std::move(complete)](
                                  const absl::Status&) { complete(history); });
  });
}

Task<std::string> LiveJob::StepStatistics(uint32_t rank) {
  return StartOnStrand<absl::StatusOr<std::string>>(
      [rank](LiveJob& job, StepMeasurer::Completion complete) {
        job.step_measurer_.Request(rank, std::move(complete));
      });
}

StatusTask LiveJob::CatchTensors(std::string node, uint32_t rank,
                                 std::string capture) {
  return OnStrand<absl::Status>(
      [this, node = std::move(node), rank, capture = std::move(capture)] {
        return tensor_requests_.Catch(node, rank, capture);
      });
}

Task<model::OverviewSummary> LiveJob::Overview(model::OverviewQuery query) {
  using Result = absl::StatusOr<model::OverviewSummary>;
  return OnStrand<Result>([this, query]() -> Result {
    model::OverviewSummary summary;
    if (const auto table = overviews_.find(query.rank);
        table != overviews_.end()) {
      summary = table->second.Summary(query.after);
    }
    summary.rank = query.rank;
    for (const auto& [rank, table] : overviews_) summary.ranks.push_back(rank);
    return summary;
  });
}

Task<model::OverviewMatrix> LiveJob::OverviewValues(
    model::OverviewQuery query, model::OverviewMeasure measure) {
  using Result = absl::StatusOr<model::OverviewMatrix>;
  return OnStrand<Result>([this, query, measure]() -> Result {
    const auto table = overviews_.find(query.rank);
    if (table == overviews_.end()) return model::OverviewMatrix();
    return table->second.Matrix(measure, query.after);
  });
}

Task<std::vector<model::OverviewPoint>> LiveJob::OverviewOf(
    uint32_t rank, std::string module) {
  using Result = absl::StatusOr<std::vector<model::OverviewPoint>>;
  return OnStrand<Result>([this, rank, module = std::move(module)]() -> Result {
    const auto table = overviews_.find(rank);
    static const OverviewTable* const kEmpty = new OverviewTable();
    return (table == overviews_.end() ? *kEmpty : table->second)
        .PointsOf(module, rank);
  });
}

Task<model::OverviewOps> LiveJob::OverviewOpsOf(uint32_t rank,
                                                std::optional<uint64_t> step) {
  using Result = absl::StatusOr<model::OverviewOps>;
  return OnStrand<Result>([this, rank, step]() -> Result {
    static const OpTimeTable* const kEmpty = new OpTimeTable();
    const auto table = op_times_.find(rank);
    return (table == op_times_.end() ? *kEmpty : table->second)
        .OpsOf(step, graph_);
  });
}

Task<model::JobRecording> LiveJob::GetRecording() {
  return OnStrand<absl::StatusOr<model::JobRecording>>(
      [this] { return recordings_.List(); });
}

Task<model::JobRecording> LiveJob::SetRecording(model::RecordingSpec spec) {
  return StartOnStrand<absl::StatusOr<model::JobRecording>>(
      [spec = std::move(spec)](LiveJob& job,
                               JobRecordings::Completion complete) {
        job.recordings_.Set(spec, std::move(complete));
      });
}

StatusTask LiveJob::KeepRules(model::KeptRules rules) {
  return StartOnStrand<absl::Status>(
      [rules = std::move(rules)](LiveJob& job, Done complete) {
        job.rules_ = rules;
        if (JobJournal* const journal = job.recorder_.journal()) {
          journal->RecordRules(rules);
        }
        job.recorder_.WhenDurable(std::move(complete));
      });
}

Task<model::KeptRules> LiveJob::Rules() {
  return OnStrand<absl::StatusOr<model::KeptRules>>([this] { return rules_; });
}

StatusTask LiveJob::PublishFinding(model::Finding finding) {
  return OnStrand<absl::Status>([this, finding = std::move(finding)] {
    events_.PublishFinding(finding);
    return absl::OkStatus();
  });
}

StatusTask LiveJob::PublishLog(uint32_t rank, std::string level,
                               std::string message) {
  return OnStrand<absl::Status>(
      [this, rank, level = std::move(level), message = std::move(message)] {
        events_.PublishLog(rank, level, message);
        return absl::OkStatus();
      });
}

StatusTask LiveJob::Retire(std::function<void()> removed) {
  return StartOnStrand<absl::Status>(
      [removed = std::move(removed)](LiveJob& job, Done complete) {
        if (auto kept = job.recorder_.CheckStore(); !kept.ok()) {
          return complete(kept);
        }
        const model::JobState state = job.machine_.job().state;
        if (!IsEnded(state)) {
          return complete(
              Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
                    absl::StrCat("cannot forget job ", job.id_, ": it is ",
                                 std::string(model::ToString(state)))));
        }
        job.connections_.Retire();
        job.recorder_.Forget();
        // If the removal cannot be stored now, the job is shown until it is.
        job.recorder_.OnceDurable([&job, removed](const absl::Status&) {
          job.RetireOnStrand();
          removed();
        });
        job.recorder_.WhenDurable(std::move(complete));
      });
}

void LiveJob::Evict() {
  recorder_.EraseRecords();
  boost::asio::post(strand_, [self = shared_from_this()] {
    // An agent may have reconnected since the directory chose this job.
    self->connections_.CloseAll(
        Error(absl::StatusCode::kResourceExhausted, "too_many_jobs",
              "the server removed the job to make room for others"));
    self->RetireOnStrand();
  });
}

void LiveJob::RetireOnStrand() {
  if (std::exchange(retired_, true)) return;
  connections_.Retire();
  recorder_.Forget();
  events_.PublishRemoval();
}

void LiveJob::Restore(SavedJob saved) {
  damage_ = saved.damage;
  rules_ = std::move(saved.rules);
  changed_at_unix_nano_ = created_at_unix_nano_;
  for (const auto& [number, rank] : saved.ranks) {
    changed_at_unix_nano_ =
        std::max<int64_t>(changed_at_unix_nano_, rank.changed_at_unix_nano);
  }
  for (const watch::HitRecord& each : saved.hits) {
    if (!each.hit.absorbed) actions_.Begins(each.hit);
  }
  const absl::Status restored = RestoreJob(
      saved, {machine_, graph_, watch_table_, hits_, known_statistics_});
  origins_.Restore(saved.origins);
  if (damage_.empty()) damage_ = std::string(restored.message());
  if (!damage_.empty()) SetAside();
  ended_ = IsEnded(machine_.job().state);
  UpdateMemoryUse();
  events_.PublishJob(0);
  connections_.AwaitRanks(options_->return_deadline);
}

// The remaining state may contradict itself, so nothing is added to it.
// Processes that come back get a new job.
void LiveJob::SetAside() {
  recorder_.Seal();
  connections_.Retire();
  machine_.LoseAwaitedRanks();
  if (options_->log) {
    options_->log(absl::StrCat("job ", id_,
                               ": set aside, because it could not "
                               "be restored completely: ",
                               damage_));
  }
}

void LiveJob::OnStateChange(const JobStateMachine::Change& change) {
  const RunState& job = machine_.job();
  if (job.state != model::JobState::kPaused) unchecked_.Clear();
  ended_ = IsEnded(job.state);
  changed_at_unix_nano_ = options_->now_unix_nano();
  if (options_->log) LogStateChange(change);
  states_.OnChange(change);
  // A pause is shown as soon as the ranks are together.
  if (states_.awaits_ranks()) ScheduleSynchronize();
  // They are those of all nodes: once is enough where many ranks end together.
  JobJournal* const journal = recorder_.journal();
  const model::JobState ending =
      HasFewRanks(machine_) ? change.rank.run.state : job.state;
  if (journal != nullptr && IsEnded(ending)) journal->RecordLastSteps(graph_);
}

void LiveJob::LogStateChange(const JobStateMachine::Change& change) const {
  const Rank& rank = change.rank;
  // Of many ranks, only the ends: they pause and continue together.
  const bool notable = HasFewRanks(machine_) || IsEnded(rank.run.state);
  if (change.rank_before != rank.run.state && notable) {
    options_->log(absl::StrCat(
        "job ", id_, " rank ", rank.hello.rank, ": ",
        std::string(model::ToString(change.rank_before)), " -> ",
        std::string(model::ToString(rank.run.state)), " at step ",
        rank.run.step, rank.run.node.empty() ? "" : ", ", rank.run.node));
  }
  const model::JobState state = machine_.job().state;
  if (change.job_before != state) {
    options_->log(absl::StrCat("job ", id_, ": ",
                               std::string(model::ToString(change.job_before)),
                               " -> ", std::string(model::ToString(state))));
  }
}

model::Job LiveJob::DescribeOnStrand(const ListedRanks& listed) const {
  model::Job job;
  job.id = id_;
  job.name = id_;
  job.created_at_unix_nano = created_at_unix_nano_;
  job.damaged = damage_;
  job.hit_count = hits_.total() - hits_.absorbed();
  job.absorbed_hit_count = hits_.absorbed();
  job.kept_hit_count = hits_.kept();
  job.dropped_hit_count = hit_recorder_.dropped();
  job.recommended_offered = watchpoints_.OffersRecommended();
  job.unchecked.assign(unchecked_.ids().begin(), unchecked_.ids().end());
  job.unsupported = group_.unsupported();
  DescribeRanks(machine_, listed, job);
  if (states_.awaits_ranks()) ShowAsPausing(job);
  if (!IsEnded(job.state)) job.controller = lease_.holder();
  return job;
}

void LiveJob::UpdateMemoryUse() {
  // A hit with its statistics, its measured values and its index entries.
  constexpr uint64_t kBytesPerHit = 1'000;
  memory_bytes_ = graph_.bytes() + kBytesPerHit * hits_.kept() +
                  graph_files_.bytes() + known_statistics_.bytes();
  for (const auto& [rank, table] : overviews_) memory_bytes_ += table.bytes();
  for (const auto& [rank, table] : op_times_) memory_bytes_ += table.bytes();
  memory_.Set(memory_bytes_);
}

absl::Status LiveJob::CheckMemory() const {
  MemoryBudget& budget = *options_->memory;
  // One job must not use up what all need.
  const bool exceeds_share = memory_bytes_ > budget.limit() / 2;
  if (!exceeds_share && budget.pressure() < MemoryBudget::Pressure::kFull) {
    return absl::OkStatus();
  }
  return budget.Refuse(absl::StrCat("more data of job ", id_, ", which has ",
                                    memory_bytes_.load(), " bytes"));
}

void LiveJob::Refresh() {
  snapshot_.Set(DescribeOnStrand({ListedRanks::Which::kFirst, {}}));
}

void LiveJob::ScheduleRefresh() {
  if (std::exchange(refresh_scheduled_, true)) return;
  boost::asio::post(strand_, [self = shared_from_this()] {
    self->refresh_scheduled_ = false;
    self->Refresh();
  });
}

void LiveJob::ScheduleSynchronize() {
  if (std::exchange(synchronize_scheduled_, true)) return;
  boost::asio::post(strand_, [self = shared_from_this()] {
    self->synchronize_scheduled_ = false;
    self->group_.Synchronize();
    self->states_.OnSynchronized();
  });
}

std::function<void(TaskRunner::Closure)> LiveJob::Poster() {
  return [self = shared_from_this()](TaskRunner::Closure task) {
    boost::asio::post(self->strand_,
                      [self, task = std::move(task)] { task(); });
  };
}

void LiveJob::RunInBackground(TaskRunner::Closure task) {
  boost::asio::post(strand_.get_inner_executor(), std::move(task));
}

std::shared_ptr<void> LiveJob::RunAfter(std::chrono::milliseconds delay,
                                        TaskRunner::Closure task) {
  auto timer = std::make_shared<boost::asio::steady_timer>(strand_, delay);
  timer->async_wait([weak_self = weak_from_this(),
                     weak_timer = std::weak_ptr(timer),
                     task = std::move(task)](auto error) {
    const auto self = weak_self.lock();
    // A timer that is destroyed after it has expired still calls this.
    if (!error && self && !weak_timer.expired()) task();
  });
  return timer;
}

uint64_t LiveJob::HitsOf(graph::Child child) const {
  return hits_.CountOf(child);
}

model::Watched LiveJob::WatchedOf(graph::Child child) const {
  return watch_table_.WatchedOf(child);
}

bool LiveJob::Covers(uint32_t watchpoint, graph::NodeIndex node) const {
  return watch_table_.Covers(watchpoint, node);
}

}  // namespace graphdbg::jobs
