// What a job's agents report, and what that changes.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/job_impl.h"
#include "server/jobs/strand_call.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {

class JobImpl::Port final : public AgentPort {
 public:
  Port(std::shared_ptr<JobImpl> job, uint32_t rank, uint64_t stream)
      : job_(std::move(job)), rank_(rank), stream_(stream) {}

  void Deliver(AgentReport report,
               std::function<void(absl::Status)> done) override {
    boost::asio::post(
        job_->strand_,
        [job = job_, rank = rank_, stream = stream_, report = std::move(report),
         done = std::move(done)]() mutable {
          job->DoDeliver(rank, stream, std::move(report), done);
        });
  }

  void Closed() override {
    boost::asio::post(job_->strand_,
                      [job = job_, rank = rank_, stream = stream_] {
                        job->DoClosed(rank, stream);
                      });
  }

 private:
  const std::shared_ptr<JobImpl> job_;
  const uint32_t rank_;
  const uint64_t stream_;
};

void JobImpl::Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
                     AgentEntrance::Answer answer) {
  boost::asio::post(
      strand_, [self = shared_from_this(), hello = std::move(hello),
                link = std::move(link), answer = std::move(answer)]() mutable {
        answer(self->DoAttach(std::move(hello), std::move(link)));
      });
}

StatusTask JobImpl::Retire() {
  return StartOn<absl::Status>(
      strand_,
      [self = shared_from_this()](std::function<void(absl::Status)> complete) {
        if (!IsEnded(self->run_.state)) {
          return complete(Error(
              absl::StatusCode::kFailedPrecondition, "invalid_state",
              absl::StrCat("cannot forget job ", self->id_, ": it is ",
                           std::string(model::ToString(self->run_.state)))));
        }
        self->DoRetire();
        self->WhenKept(
            [complete = std::move(complete)] { complete(absl::OkStatus()); });
      });
}

void JobImpl::Evict() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    // An agent may have come back in the meantime: too late.
    for (auto& [number, rank] : self->ranks_) {
      if (!rank.link) continue;
      rank.link->Close(Error(absl::StatusCode::kResourceExhausted,
                             "too_many_jobs", "the job made room for others"));
    }
    self->DoRetire();
  });
}

void JobImpl::DoRetire() {
  if (retired_) return;
  retired_ = true;
  if (journal_) journal_->Forget();
  model::Event event;
  event.type = model::Event::Type::kJob;
  Publish(std::move(event));
}

absl::StatusOr<std::shared_ptr<AgentPort>> JobImpl::DoAttach(
    AgentHello hello, std::shared_ptr<AgentLink> link) {
  const uint32_t number = hello.rank;
  auto it = ranks_.find(number);
  const bool same_process = it != ranks_.end() &&
                            it->second.hello.incarnation == hello.incarnation &&
                            !it->second.farewell;
  // Another process in its place: those of before are not coming back.
  if (!same_process && it != ranks_.end() && it->second.awaited()) {
    GiveUpAwaited();
  }
  if (retired_ || (IsEnded(run_.state) && !same_process)) return nullptr;
  if (!same_process && it != ranks_.end() && it->second.link) {
    const AgentHello& holder = it->second.hello;
    return Error(
        absl::StatusCode::kAlreadyExists, "rank_taken",
        absl::StrCat("rank ", number, " of job ", id_, " is process ",
                     holder.pid, " on ", holder.host, " (", holder.peer,
                     "), which is connected; give this process a rank "
                     "or a job of its own"));
  }
  if (same_process && it->second.link) {
    // The agent noticed before us that the stream was broken.
    it->second.link->Close(Error(absl::StatusCode::kAborted, "replaced",
                                 "the agent has opened another stream"));
    GiveUpOn(number, "the agent has reconnected");
  }
  Rank& rank = ranks_[number];
  if (!same_process) {
    const uint64_t stream = rank.stream;
    rank = Rank{};
    rank.stream = stream;
  }
  rank.hello = std::move(hello);
  rank.link = std::move(link);
  if (!awaits_ranks()) return_timer_.cancel();
  if (noting()) journal_->NoteHello(number, rank.hello, same_process);
  ++rank.stream;
  WelcomeRank(rank, same_process);

  // A job's event of its own, since more than its state is new.
  model::Event event;
  event.type = model::Event::Type::kJob;
  event.rank = number;
  event.job_info = Info();
  Publish(std::move(event));
  RunState connecting;
  connecting.step = rank.run.step;
  Transition(rank, std::move(connecting));
  return std::make_shared<Port>(shared_from_this(), number, rank.stream);
}

void JobImpl::WelcomeRank(Rank& rank, bool resumed) {
  std::vector<uint32_t> pushed;
  for (uint32_t id : watch_.Ids()) {
    // A process that was here before may hold what has changed since.
    if (resumed || watch_.SpecOf(id).enabled) pushed.push_back(id);
  }
  rank.link->Send(
      WelcomeOrder{id_, static_cast<uint32_t>(pushed.size()), resumed});
  for (uint32_t id : pushed) PushWatchpoint(*rank.link, id);
  if (!resumed) return;
  for (uint32_t id : watch_.RemovedIds()) {
    rank.link->Send(RemoveWatchpointOrder{id});
  }
}

void JobImpl::DoDeliver(uint32_t number, uint64_t stream, AgentReport report,
                        const std::function<void(absl::Status)>& done) {
  Rank& rank = ranks_.at(number);
  if (rank.stream != stream || !rank.link) {
    return done(Error(absl::StatusCode::kAborted, "replaced",
                      "the agent has opened another stream"));
  }
  // Nothing counts after an agent's goodbye.
  if (rank.farewell) return done(absl::OkStatus());
  std::visit(
      [&](auto& of_a_kind) {
        using Kind = std::decay_t<decltype(of_a_kind)>;
        if constexpr (std::is_same_v<Kind, graph::GraphPatch> ||
                      std::is_same_v<Kind, HitReport>) {
          On(rank, of_a_kind, done);
        } else {
          done(On(rank, of_a_kind));
        }
      },
      report);
}

void JobImpl::DoClosed(uint32_t number, uint64_t stream) {
  Rank& rank = ranks_.at(number);
  if (rank.stream != stream || !rank.link) return;
  rank.link.reset();
  if (!rank.farewell) {
    RunState gone = rank.run;
    gone.state = rank.ending_stream == stream ? model::JobState::kTerminated
                                              : model::JobState::kLost;
    gone.reason = model::PauseReason::kNone;
    Transition(rank, std::move(gone));
  }
  GiveUpOn(number, "the agent is gone");
  KeepRanksTogether();
}

void JobImpl::GiveUpOn(uint32_t number, const std::string& why) {
  ranks_.at(number).resuming = 0;
  for (const CommandEnd& end : commands_.Drop(number, why)) {
    TellCommandEnd(number, end);
  }
  tensors_.FailRank(number, Error(absl::StatusCode::kUnavailable, "job_gone",
                                  absl::StrCat("rank ", number, ": ", why)));
}

void JobImpl::On(Rank& rank, graph::GraphPatch& patch, const Done& done) {
  graph::GraphChanges changes;
  absl::Status applied = graph_.Apply(patch, rank.ids, &changes);
  if (!patch.changes_graph()) return done(applied);
  if (noting()) journal_->NoteGraph(rank.hello.rank, graph_, changes);
  NoteMemory();
  const std::vector<uint32_t> grown = watch_.MatchNewNodes();
  model::Event event;
  event.type = model::Event::Type::kGraph;
  event.rank = rank.hello.rank;
  event.node_count = graph_.node_count();
  Publish(std::move(event));
  for (uint32_t id : grown) TellWatchpoint(id);
  // So that no more than one patch of a rank waits for the disk.
  WhenKept([done, applied] { done(applied); });
}

// An agent greets before its program has put anything on a device.
void JobImpl::NoteDevice(Rank& rank, const RunReport& report) {
  AgentHello& hello = rank.hello;
  if (report.device.empty() || hello.device == report.device) return;
  hello.device = report.device;
  hello.device_id = report.device_id;
  if (noting()) journal_->NoteHello(hello.rank, hello, /*same_process=*/true);
}

absl::Status JobImpl::On(Rank& rank, RunReport& report) {
  NoteDevice(rank, report);
  // Also a stop that follows another at once.
  if (rank.run.state == model::JobState::kPaused) ++rank.stops_left;
  RunState next;
  next.step = report.step;
  if (report.paused) {
    next.state = model::JobState::kPaused;
    next.reason = report.reason;
    const graph::NodeIndex node = rank.ids.Find(report.node_id);
    if (node != graph::kNoNode) next.node = graph_.node(node).name;
    next.stopped_by = std::move(report.watchpoints);
    std::sort(next.stopped_by.begin(), next.stopped_by.end());
    rank.steps_ended = report.step - (report.node_id != 0 ? 1 : 0);
    rank.stops_after.reset();
    // It went on to where the others can stop: what it stopped for stays.
    if (next.reason == model::PauseReason::kStep && rank.stopped_earlier) {
      next.reason = rank.stopped_earlier->reason;
      next.node = rank.stopped_earlier->node;
      next.stopped_by = rank.stopped_earlier->stopped_by;
    }
    rank.stopped_earlier.reset();
  } else {
    if (report.pauses_after != 0) rank.stops_after = report.pauses_after;
    // Still running is no answer to a pause that is under way.
    next.state = rank.run.state == model::JobState::kPausing
                     ? model::JobState::kPausing
                     : model::JobState::kRunning;
  }
  // Of several ranks one may have stopped just before it was told to go on.
  if (!report.paused || !has_several_ranks()) rank.resuming = 0;
  Transition(rank, std::move(next));
  KeepRanksTogether();
  return absl::OkStatus();
}

void JobImpl::On(Rank& rank, HitReport& report, const Done& done) {
  const auto dealt_with = [done] { done(absl::OkStatus()); };
  if (report.number != 0) {
    // Sent again; the first may be on its way to the disk.
    if (report.number <= rank.last_hit) return WhenKept(dealt_with);
    rank.last_hit = report.number;
  }
  const graph::NodeIndex node = rank.ids.Find(report.node_id);
  const uint32_t watchpoint = report.hit.watchpoint;
  const watch::ConditionPtr condition =
      watch_.ConditionAt(watchpoint, report.hit.revision);
  if (node == graph::kNoNode || condition == nullptr) {
    TellLog(
        rank.hello.rank, "warning",
        absl::StrCat("a hit of watchpoint ", watchpoint, " at node ",
                     report.node_id, " was dropped: one of them is not known"));
    return dealt_with();
  }
  watch::HitRecord record{node, std::move(report.hit)};
  record.hit.id = hits_.Reserve();
  record.hit.condition = condition;
  record.hit.rank = rank.hello.rank;
  if (noting()) {
    journal_->NoteHit(record, report.number, hits_.Keeps(record.hit.id));
  }
  // Nobody sees a hit that a restarted server might not know of.
  WhenKept([this, record = std::move(record), dealt_with]() mutable {
    Record(std::move(record));
    dealt_with();
  });
}

void JobImpl::Record(watch::HitRecord record) {
  const uint32_t rank = record.hit.rank;
  if (TellsOfTensor(record.hit)) {
    NoteStatistics(rank, record.node, record.hit.slot, record.hit.step,
                   record.hit.statistics, KnownStatistics::Source::kHit);
  }
  const bool was_full = hits_.full();
  model::Event event;
  event.type = model::Event::Type::kHit;
  event.rank = rank;
  event.hit = hits_.Add(std::move(record));
  Publish(std::move(event));
  NoteMemory();
  if (!was_full && hits_.full()) {
    TellLog(rank, "warning",
            absl::StrCat("the job has ", hits_.total(),
                         " hits; further ones are counted and not kept"));
  }
}

bool JobImpl::TellsOfTensor(const model::Hit& hit) {
  // Some fronts' hits tell of the tensor only what was compared, and one that
  // could not be checked tells nothing.
  return hit.error.empty() && hit.statistics.count != 0;
}

absl::Status JobImpl::On(Rank& rank, StatisticsReport& report) {
  uint64_t to_write =
      written_reports_.Take(report.tensors.size(), RateLimit::Clock::now());
  for (const StatisticsReport::Tensor& tensor : report.tensors) {
    const graph::NodeIndex node = rank.ids.Find(tensor.node_id);
    if (node == graph::kNoNode) continue;
    const auto source = to_write > 0 ? KnownStatistics::Source::kReport
                                     : KnownStatistics::Source::kPassingReport;
    if (to_write > 0) --to_write;
    NoteStatistics(rank.hello.rank, node, tensor.slot, report.step,
                   tensor.statistics, source);
  }
  NoteMemory();
  return absl::OkStatus();
}

absl::Status JobImpl::On(Rank& rank, TensorPiece& piece) {
  const uint64_t request_id = piece.request_id;
  if (tensors_.Accept(rank.hello.rank, std::move(piece))) {
    rank.link->Send(CancelTensorOrder{request_id});
  }
  return absl::OkStatus();
}

absl::Status JobImpl::On(Rank& rank, CommandOutcome& outcome) {
  const std::string error(outcome.error.message().data(),
                          outcome.error.message().size());
  const bool refused = !outcome.error.ok();
  if (rank.resuming == outcome.command_id) rank.resuming = 0;
  auto end = commands_.Answer(outcome.command_id, rank.hello.rank,
                              refused && error.empty() ? "refused" : error);
  if (refused && rank.run.state == model::JobState::kPausing) {
    RunState running = rank.run;
    running.state = model::JobState::kRunning;
    Transition(rank, std::move(running));
  }
  KeepRanksTogether();
  if (end) TellCommandEnd(rank.hello.rank, *end);
  return absl::OkStatus();
}

absl::Status JobImpl::On(Rank& rank, WatchpointReport& report) {
  const std::string error(report.error.message().data(),
                          report.error.message().size());
  if (watch_.SetError(report.id, report.revision, rank.hello.rank, error)) {
    TellWatchpoint(report.id);
  }
  return absl::OkStatus();
}

absl::Status JobImpl::On(Rank& rank, LogReport& report) {
  TellLog(rank.hello.rank, std::move(report.level), std::move(report.message));
  if (report.dropped_hits > 0) {
    dropped_hits_ += report.dropped_hits;
    TellState(rank.hello.rank);
  }
  return absl::OkStatus();
}

absl::Status JobImpl::On(Rank& rank, Farewell& farewell) {
  RunState end;
  end.state = farewell.terminated ? model::JobState::kTerminated
                                  : model::JobState::kFinished;
  end.step = farewell.steps;
  rank.farewell = std::move(farewell);
  Transition(rank, std::move(end));
  GiveUpOn(rank.hello.rank, "the job has ended");
  KeepRanksTogether();
  return absl::OkStatus();
}

}  // namespace graphdbg::jobs
