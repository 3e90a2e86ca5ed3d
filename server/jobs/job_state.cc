// What a job says of itself: state, events, log.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/jobs/job_impl.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {

void JobImpl::Transition(Rank& rank, RunState next) {
  if (rank.counted && rank.run == next) return;
  rank.counted = true;
  const model::JobState before = rank.run.state;
  rank.run = std::move(next);
  std::vector<const RunState*> all;
  for (const auto& [number, each] : ranks_) all.push_back(&each.run);
  const model::JobState job_before = run_.state;
  run_ = Combine(all);
  if (run_.state != model::JobState::kPaused) unchecked_.clear();
  ended_ = IsEnded(run_.state);
  NoteState(rank);
  if (options_->log && before != rank.run.state) {
    options_->log(absl::StrCat(
        "job ", id_, " rank ", rank.hello.rank, ": ",
        std::string(model::ToString(before)), " -> ",
        std::string(model::ToString(rank.run.state)), " at step ",
        rank.run.step, rank.run.node.empty() ? "" : ", ", rank.run.node));
  }
  if (options_->log && job_before != run_.state) {
    options_->log(absl::StrCat("job ", id_, ": ",
                               std::string(model::ToString(job_before)), " -> ",
                               std::string(model::ToString(run_.state))));
  }
  TellState(rank.hello.rank);
}

void JobImpl::SetUnchecked(std::set<uint32_t> watchpoints) {
  if (unchecked_ == watchpoints) return;
  unchecked_ = std::move(watchpoints);
  if (!ranks_.empty()) TellState(ranks_.begin()->first);
}

void JobImpl::NoteChanged(uint32_t watchpoint) {
  if (run_.state != model::JobState::kPaused) return;
  std::set<uint32_t> unchecked = unchecked_;
  unchecked.erase(watchpoint);
  if (watch_.Check(watchpoint).ok() && watch_.SpecOf(watchpoint).enabled) {
    unchecked.insert(watchpoint);
  }
  SetUnchecked(std::move(unchecked));
}

void JobImpl::TellState(uint32_t rank) {
  model::Event event;
  event.type = model::Event::Type::kState;
  event.rank = rank;
  event.job_info = Info();
  Publish(std::move(event));
}

void JobImpl::TellCommand(uint64_t id, const model::ControlRequest& request) {
  model::Event event;
  event.type = model::Event::Type::kCommand;
  event.rank = request.rank.value_or(0);
  event.command_id = absl::StrCat(id);
  event.command = request;
  Publish(std::move(event));
}

void JobImpl::TellCommandEnd(uint32_t rank, const CommandEnd& end) {
  model::Event event;
  event.type = model::Event::Type::kState;
  event.rank = rank;
  event.job_info = Info();
  event.command_id = absl::StrCat(end.id);
  if (!end.error.empty()) {
    event.level = "error";
    event.message = end.error;
  }
  Publish(std::move(event));
}

void JobImpl::TellWatchpoint(uint32_t id) {
  model::Event event;
  event.type = model::Event::Type::kWatchpoint;
  event.watchpoint_id = id;
  if (auto info = WatchpointNamed(id); info.ok()) {
    event.watchpoint = *std::move(info);
  }
  Publish(std::move(event));
}

void JobImpl::TellLog(uint32_t rank, std::string level, std::string message) {
  model::Event event;
  event.type = model::Event::Type::kLog;
  event.rank = rank;
  event.level = std::move(level);
  event.message = std::move(message);
  Publish(std::move(event));
}

void JobImpl::Publish(model::Event event) {
  event.seq = ++last_seq_;
  event.job = id_;
  hub_->Publish(std::make_shared<const model::Event>(std::move(event)));
}

model::Job JobImpl::Info() const {
  model::Job info;
  info.id = id_;
  info.name = id_;
  info.state = run_.state;
  info.pause_reason = run_.reason;
  info.step = run_.step;
  info.node = run_.node;
  info.created_at_unix_nano = created_at_unix_nano_;
  info.hit_count = hits_.total();
  info.kept_hit_count = hits_.kept();
  info.dropped_hit_count = dropped_hits_;
  info.recommended_offered = OffersRecommended();
  info.stopped_by = run_.stopped_by;
  info.unchecked.assign(unchecked_.begin(), unchecked_.end());
  info.unsupported = NotForAll();
  for (const auto& [number, rank] : ranks_) {
    const AgentHello& hello = rank.hello;
    if (info.ranks.empty()) {
      if (!hello.job_name.empty()) info.name = hello.job_name;
      info.framework = hello.framework;
      info.framework_version = hello.framework_version;
    }
    info.unsupported.insert(hello.unsupported.begin(), hello.unsupported.end());
    info.world_size = std::max(info.world_size, hello.world_size);
    info.ranks.push_back({number, hello.host, hello.pid, hello.peer,
                          hello.device, hello.device_id, rank.run.state,
                          rank.run.step, rank.run.node});
    if (!rank.farewell) continue;
    // Of several ranks, one that failed tells more than one that did not.
    if (info.exit_code.value_or(0) == 0) {
      info.exit_code = rank.farewell->exit_code;
    }
    if (!info.exception) info.exception = rank.farewell->exception;
  }
  return info;
}

}  // namespace graphdbg::jobs
