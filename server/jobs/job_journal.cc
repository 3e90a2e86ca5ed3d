// What of a job outlives the server.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/jobs/job_impl.h"

namespace graphdbg::jobs {

void JobImpl::WhenKept(std::function<void()> then) {
  if (!journal_) return then();
  journal_->WhenKept(
      [self = shared_from_this(), then = std::move(then)](absl::Status kept) {
        boost::asio::post(self->strand_, [self, then, kept] {
          if (!kept.ok() && !std::exchange(self->journal_failed_, true)) {
            self->TellLog(
                0, "error",
                absl::StrCat("what happens from now on is lost when the server "
                             "ends: ",
                             std::string(kept.message())));
          }
          then();
        });
      });
}

void JobImpl::NoteState(const Rank& rank) {
  if (!noting()) return;
  journal_->NoteState(rank.hello.rank, rank.run,
                      rank.farewell ? &*rank.farewell : nullptr);
  if (IsEnded(rank.run.state)) journal_->NoteLastSteps(graph_);
}

void JobImpl::NoteMemory() {
  // A hit with its statistics and what it found, and its places in the indices.
  constexpr uint64_t kBytesOfAHit = 1'000;
  uint64_t bytes = graph_.bytes() + kBytesOfAHit * hits_.kept();
  for (const auto& [graph, kept] : indices_) bytes += kept.file->gzip.size();
  memory_bytes_ = bytes + known_.bytes();
}

absl::Status JobImpl::Restore(SavedJob saved) {
  for (auto& [number, from] : saved.ranks) {
    Rank& rank = ranks_[number];
    rank.hello = std::move(from.hello);
    rank.run = std::move(from.run);
    rank.farewell = std::move(from.farewell);
    rank.ids = std::move(from.ids);
    rank.last_hit = from.last_hit;
    rank.counted = true;
    if (IsEnded(rank.run.state)) continue;
    const uint64_t step = rank.run.step;
    rank.run = RunState{};
    rank.run.step = step;
  }
  if (auto graph = RestoreGraph(saved); !graph.ok()) return graph;
  if (auto watch = RestoreWatch(saved); !watch.ok()) return watch;
  NoteMemory();
  std::vector<const RunState*> all;
  for (const auto& [number, each] : ranks_) all.push_back(&each.run);
  run_ = Combine(all);
  // Killed before its first process was written down: nobody comes back to it.
  if (ranks_.empty()) run_.state = model::JobState::kLost;
  ended_ = IsEnded(run_.state);
  model::Event event;
  event.type = model::Event::Type::kJob;
  event.job_info = Info();
  Publish(std::move(event));
  if (awaits_ranks()) AwaitRanks();
  return absl::OkStatus();
}

absl::Status JobImpl::RestoreGraph(SavedJob& saved) {
  graph_.RestoreFrames(saved.frames);
  graph::AgentIds by_index;
  for (const graph::GraphPatch& patch : saved.patches) {
    if (auto ok = graph_.Apply(patch, by_index); !ok.ok()) return ok;
  }
  graph_.RestoreLastSteps(saved.last_steps);
  watch_.MatchNewNodes();
  return absl::OkStatus();
}

absl::Status JobImpl::RestoreWatch(SavedJob& saved) {
  for (const SavedRevision& each : saved.watchpoints) {
    auto restored = watch_.Restore(each.id, each.revision,
                                   each.spec ? &*each.spec : nullptr);
    if (!restored.ok()) return restored;
  }
  for (watch::HitRecord& record : saved.hits) {
    model::Hit& hit = record.hit;
    hit.condition = watch_.ConditionAt(hit.watchpoint, hit.revision);
    const bool good = hit.condition != nullptr && hit.id == hits_.Reserve() &&
                      record.node < graph_.node_count();
    if (!good) return absl::DataLossError(absl::StrCat("hit ", hit.id));
    if (TellsOfTensor(hit)) {
      known_.Note(hit.rank, record.node, hit.slot, hit.step, hit.statistics,
                  KnownStatistics::Source::kHit);
    }
    hits_.Add(std::move(record));
  }
  hits_.RestoreTotal(saved.hit_total);
  for (const SavedStatistics& each : saved.statistics) {
    known_.Note(each.rank, each.node, each.slot, each.step, each.statistics,
                KnownStatistics::Source::kAnswer);
  }
  return absl::OkStatus();
}

void JobImpl::AwaitRanks() {
  return_timer_.expires_after(options_->return_deadline);
  return_timer_.async_wait([weak = weak_from_this()](auto error) {
    auto self = weak.lock();
    if (!error && self) self->GiveUpAwaited();
  });
}

bool JobImpl::awaits_ranks() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& each) { return each.second.awaited(); });
}

void JobImpl::GiveUpAwaited() {
  for (auto& [number, rank] : ranks_) {
    if (!rank.awaited()) continue;
    RunState lost = rank.run;
    lost.state = model::JobState::kLost;
    Transition(rank, std::move(lost));
  }
}

}  // namespace graphdbg::jobs
