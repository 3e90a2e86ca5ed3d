// How a job handles its agents and their reports.
#include <boost/asio/post.hpp>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/live_job.h"

namespace graphdbg::jobs {

namespace {

// Whether the journal grows with each report of this kind. The end of a rank is
// recorded once, and statistics are dropped if too much waits to be written.
bool IsRecorded(const AgentReport& report) {
  return std::holds_alternative<graph::GraphPatch>(report) ||
         std::holds_alternative<HitReport>(report) ||
         std::holds_alternative<RunReport>(report);
}

}  // namespace

class LiveJob::Port final : public AgentPort {
 public:
  Port(std::shared_ptr<LiveJob> job, uint32_t rank, uint64_t stream)
      : job_(std::move(job)), rank_(rank), stream_(stream) {}

  void Deliver(AgentReport report,
               std::function<void(absl::Status)> done) override {
    boost::asio::post(
        job_->strand_,
        [job = job_, rank = rank_, stream = stream_, report = std::move(report),
         done = std::move(done)]() mutable {
          job->OnReport(rank, stream, std::move(report), done);
        });
  }

  void Closed() override {
    boost::asio::post(job_->strand_,
                      [job = job_, rank = rank_, stream = stream_] {
                        job->OnClosed(rank, stream);
                      });
  }

 private:
  const std::shared_ptr<LiveJob> job_;
  const uint32_t rank_;
  const uint64_t stream_;
};

void LiveJob::Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
                     AgentAcceptor::Answer answer) {
  boost::asio::post(
      strand_, [self = shared_from_this(), hello = std::move(hello),
                link = std::move(link), answer = std::move(answer)]() mutable {
        answer(self->AttachOnStrand(std::move(hello), std::move(link)));
      });
}

absl::StatusOr<std::shared_ptr<AgentPort>> LiveJob::AttachOnStrand(
    AgentHello hello, std::shared_ptr<AgentLink> link) {
  const auto rank = connections_.Attach(std::move(hello), std::move(link));
  if (!rank.ok()) return rank.status();
  if (*rank == nullptr) return nullptr;
  return std::make_shared<Port>(shared_from_this(), (*rank)->hello.rank,
                                (*rank)->stream);
}

void LiveJob::OnReport(uint32_t number, uint64_t stream, AgentReport report,
                       const Done& done) {
  Rank& rank = *machine_.Find(number);
  if (rank.stream != stream || !rank.link) {
    return done(Error(absl::StatusCode::kAborted, "replaced",
                      "the agent has opened another stream"));
  }
  // Reports after an exit report are void.
  if (rank.exit_report) return done(absl::OkStatus());
  if (recorder_.full() && IsRecorded(report)) {
    auto held = std::make_shared<AgentReport>(std::move(report));
    return recorder_.OnceDurable(
        [this, number, stream, held, done](const absl::Status&) {
          OnReport(number, stream, std::move(*held), done);
        });
  }
  std::visit(
      [&](auto& typed) {
        using Report = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<Report, graph::GraphPatch> ||
                      std::is_same_v<Report, GraphOffer> ||
                      std::is_same_v<Report, HitReport> ||
                      std::is_same_v<Report, ExitReport>) {
          Handle(rank, typed, done);
        } else {
          Handle(rank, typed);
          done(absl::OkStatus());
        }
      },
      report);
}

void LiveJob::OnClosed(uint32_t number, uint64_t stream) {
  Rank& rank = *machine_.Find(number);
  if (rank.stream != stream || !rank.link) return;
  connections_.OnClosed(rank);
  ScheduleSynchronize();
}

void LiveJob::AbandonRank(Rank& rank, const std::string& reason) {
  const uint32_t number = rank.hello.rank;
  graph_offers_.Remove(rank);
  for (const CommandResult& result : commands_.Abandon(rank, reason)) {
    events_.PublishCommandResult(number, result);
  }
  const absl::Status gone = Error(absl::StatusCode::kUnavailable, "job_gone",
                                  absl::StrCat("rank ", number, ": ", reason));
  tensor_requests_.FailRank(number, gone);
  recordings_.FailRank(number, gone);
}

void LiveJob::Handle(Rank& rank, graph::GraphPatch& patch, const Done& done) {
  if (patch.changes_graph()) {
    if (auto room = CheckMemory(); !room.ok()) return done(room);
  }
  graph::GraphChanges changes;
  const absl::Status applied = graph_.Apply(patch, rank.ids, &changes);
  if (!patch.changes_graph()) return done(applied);
  if (rank.hello.offers_graph) changes.ids.clear();
  OnGraphChanged(rank, changes);
  graph_offers_.OnSent(rank);
  // The agent sends its next patch when this one is durable, so that at most
  // one patch of a rank waits for the disk.
  recorder_.WhenDurable([done, applied](const absl::Status& kept) {
    done(applied.ok() ? kept : applied);
  });
}

void LiveJob::OnGraphChanged(Rank& rank, const graph::GraphChanges& changes) {
  if (JobJournal* journal = recorder_.journal()) {
    journal->RecordGraph(rank.hello.rank, graph_, changes);
  }
  UpdateMemoryUse();
  // Types of tensors become known with the first execution.
  const std::vector<uint32_t> changed = watch_table_.MatchAgain(changes.nodes);
  const std::vector<uint32_t> grown = watch_table_.MatchNewNodes();
  events_.PublishGraph(rank.hello.rank, graph_.node_count());
  for (uint32_t id : changed) watchpoints_.Publish(id);
  for (uint32_t id : grown) watchpoints_.Publish(id);
}

void LiveJob::Handle(Rank& rank, GraphOffer& offer, const Done& done) {
  done(graph_offers_.Add(rank, std::move(offer)));
}

void LiveJob::Handle(Rank& rank, HitReport& report, const Done& done) {
  if (auto room = CheckMemory(); !room.ok()) return done(room);
  const bool pauses = watchpoints_.PausesLate(rank, report.hit);
  hit_recorder_.OnReport(rank, std::move(report),
                         [this, done](const absl::Status& status) {
                           UpdateMemoryUse();
                           ScheduleRefresh();
                           done(status);
                         });
  if (!pauses) return;
  model::ControlRequest pause;
  pause.verb = model::ControlVerb::kPause;
  // Refused if an earlier hit has paused the job.
  dispatcher_.Dispatch(pause).status().IgnoreError();
}

void LiveJob::OnHit(const model::Hit& hit) {
  if (hit.absorbed) return;
  const bool begins = actions_.Begins(hit);
  if (begins && options_->on_hit && watch_table_.Check(hit.watchpoint).ok()) {
    const auto& actions = watch_table_.SpecOf(hit.watchpoint).actions;
    if (!actions.empty()) options_->on_hit(shared_from_this(), actions, hit);
  }
  watchpoints_.OnHit(hit);
}

void LiveJob::Handle(Rank& rank, RunReport& report) {
  RecordDevice(rank, report);
  if (report.overhead) rank.overhead = report.overhead;
  const graph::NodeIndex node = rank.ids.Find(report.node_id);
  const uint64_t from = JobWatchpoints::StepOf(rank);
  machine_.OnRunReport(
      rank, report,
      node == graph::kNoNode ? std::string() : graph_.node(node).name);
  watchpoints_.OnMoved(rank, from);
  ScheduleSynchronize();
  ReleaseIfUnattended(rank, report);
}

void LiveJob::ReleaseIfUnattended(Rank& rank, const RunReport& report) {
  if (!report.resume_if_unattended || viewers_->Count(id_) > 0) return;
  CommandOrder order;
  order.id = commands_.Open({rank.hello.rank});
  order.verb = model::ControlVerb::kContinue;
  commands_.Send(rank, order);
}

// Agents connect before the program has put a tensor on a device.
void LiveJob::RecordDevice(Rank& rank, const RunReport& report) {
  AgentHello& hello = rank.hello;
  if (report.device.empty() || hello.device == report.device) return;
  hello.device = report.device;
  hello.device_id = report.device_id;
  if (JobJournal* journal = recorder_.journal()) {
    journal->RecordHello(hello.rank, hello, /*same_process=*/true);
  }
}

void LiveJob::Handle(Rank& rank, TensorChunk& chunk) {
  tensor_requests_.OnChunk(rank, chunk);
}

void LiveJob::Handle(Rank& rank, CommandOutcome& outcome) {
  const auto result = commands_.OnOutcome(rank, outcome);
  ScheduleSynchronize();
  if (result) events_.PublishCommandResult(rank.hello.rank, *result);
}

void LiveJob::Handle(Rank& rank, WatchpointReport& report) {
  watchpoints_.OnReport(rank.hello.rank, report);
}

void LiveJob::Handle(Rank& rank, StatisticsReport& report) {
  // Statistics can be requested again.
  if (!CheckMemory().ok()) return;
  statistics_.OnReport(rank, report, RateLimit::Clock::now());
  UpdateMemoryUse();
}

void LiveJob::Handle(Rank& rank, ReplicaReport& report) {
  for (const ReplicaTable::Difference& found : replicas_.Add(rank, report)) {
    const Rank* const differing = machine_.Find(found.rank);
    if (differing == nullptr || !differing->link) continue;
    differing->link->Send(FindingOrder{"replicas_differ", found.step,
                                       found.node_id, found.message});
  }
}

void LiveJob::Handle(Rank& rank, OriginReport& report) {
  origins_.Add(rank, report);
}

void LiveJob::Handle(Rank& rank, OverviewReport& report) {
  // Later steps can be shown without this one.
  if (!CheckMemory().ok()) return;
  std::vector<OverviewTable::NamedTensor> tensors;
  for (OverviewReport::Tensor& each : report.tensors) {
    const graph::NodeIndex node = rank.ids.Find(each.node_id);
    if (node == graph::kNoNode) continue;
    tensors.push_back({graph_.node(node).name, std::move(each.tensor)});
  }
  OpTimeTable::Step times = {
      report.step.step, report.step.duration_ns, report.ops_left_out, {}};
  std::vector<OverviewTable::NamedOp> ops;
  for (const OverviewReport::Op& op : report.ops) {
    const graph::NodeIndex node = rank.ids.Find(op.node_id);
    if (node == graph::kNoNode) continue;
    times.ops.push_back({node, op.thread, op.start_ns, op.duration_ns});
    ops.push_back({graph_.node(node).name, op.duration_ns});
  }
  overviews_[rank.hello.rank].Add(std::move(report.step), tensors, ops);
  if (!times.ops.empty()) op_times_[rank.hello.rank].Add(std::move(times));
  UpdateMemoryUse();
}

void LiveJob::Handle(Rank& rank, RecordingReport& report) {
  recordings_.OnReport(rank.hello.rank, report);
}

void LiveJob::Handle(Rank& rank, LogReport& report) {
  events_.PublishLog(rank.hello.rank, std::move(report.level),
                     std::move(report.message));
  if (report.dropped_hits == 0) return;
  hit_recorder_.AddDropped(report.dropped_hits);
  events_.PublishState(rank.hello.rank);
}

void LiveJob::Handle(Rank& rank, ExitReport& report, const Done& done) {
  machine_.OnExit(rank, std::move(report));
  AbandonRank(rank, "the job has ended");
  ScheduleSynchronize();
  recorder_.WhenDurable(done);
}

}  // namespace graphdbg::jobs
