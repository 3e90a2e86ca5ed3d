#include "server/jobs/job_watchpoints.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/jobs/permissions.h"
#include "server/watch/recommended.h"

namespace graphdbg::jobs {

JobWatchpoints::JobWatchpoints(watch::WatchTable& table,
                               const watch::HitLog& hits,
                               JobStateMachine& machine, JobRecorder& recorder,
                               UncheckedWatchpoints& unchecked,
                               JobEvents& events)
    : table_(table),
      hits_(hits),
      machine_(machine),
      recorder_(recorder),
      unchecked_(unchecked),
      events_(events) {}

std::vector<model::Watchpoint> JobWatchpoints::List() const {
  std::vector<model::Watchpoint> all;
  for (uint32_t id : table_.Ids()) all.push_back(*Get(id));
  return all;
}

absl::StatusOr<model::Watchpoint> JobWatchpoints::Get(uint32_t id) const {
  RETURN_IF_ERROR(table_.Check(id));
  model::Watchpoint watchpoint;
  watchpoint.id = id;
  watchpoint.spec = table_.SpecOf(id);
  watchpoint.node_count = table_.NodeCountOf(id);
  watchpoint.hit_count = hits_.CountOfWatchpoint(id);
  watchpoint.error = table_.ErrorOf(id);
  return watchpoint;
}

void JobWatchpoints::Add(model::WatchpointSpec spec, Callback done) {
  if (auto may = CheckMayWatch(AllowedByRanks(machine_)); !may.ok()) {
    return done(may);
  }
  if (auto kept = recorder_.Check(); !kept.ok()) return done(kept);
  if (auto can = CheckAbilities(spec); !can.ok()) return done(can);
  const auto id = table_.Add(std::move(spec));
  if (!id.ok()) return done(id.status());
  Distribute(
      *id, [this, id = *id] { UndoAdd(id); }, std::move(done));
}

void JobWatchpoints::Change(uint32_t id, const model::WatchpointChange& change,
                            Callback done) {
  if (auto may = CheckMayWatch(AllowedByRanks(machine_)); !may.ok()) {
    return done(may);
  }
  if (auto kept = recorder_.Check(); !kept.ok()) return done(kept);
  if (auto known = table_.Check(id); !known.ok()) return done(known);
  const model::WatchpointSpec before = table_.SpecOf(id);
  model::WatchpointSpec asked;
  asked.once = change.once.value_or(false);
  asked.ignore_count = change.ignore_count.value_or(0);
  asked.selection = change.selection.value_or(model::Selection());
  if (auto can = CheckAbilities(asked); !can.ok()) return done(can);
  if (auto changed = table_.Change(id, change); !changed.ok()) {
    return done(changed);
  }
  Distribute(
      id, [this, id, before] { UndoChange(id, before); }, std::move(done));
}

absl::Status JobWatchpoints::CheckAbilities(
    const model::WatchpointSpec& spec) const {
  const bool counts = spec.once || spec.ignore_count > 0;
  for (const auto& entry : machine_.ranks()) {
    const uint32_t number = entry.first;
    const Rank& rank = entry.second;
    if (rank.link == nullptr) continue;
    const auto refuse = [&](const std::string& field, const std::string& what) {
      return WithField(
          Error(absl::StatusCode::kUnimplemented, "unsupported_watchpoint",
                absl::StrCat("the agent of rank ", number, " (",
                             rank.hello.framework, ") does not ", what)),
          field);
    };
    if (counts && !rank.hello.counts_hits) {
      return refuse(spec.once ? "once" : "ignore_count",
                    "pass over hits of a watchpoint");
    }
    const std::string key(conditions::ExtendedKey(spec.selection));
    if (!key.empty() && !rank.hello.selects) {
      return refuse(key, absl::StrCat("know \"", key, "\" of a selection"));
    }
  }
  return absl::OkStatus();
}

void JobWatchpoints::OnHit(const model::Hit& hit) {
  const uint32_t id = hit.watchpoint;
  if (!table_.Check(id).ok() || table_.RevisionOf(id) != hit.revision) return;
  if (!table_.SpecOf(id).once || !table_.SpecOf(id).enabled) return;
  model::WatchpointChange change;
  change.enabled = false;
  // If it cannot be stored now, the agent still passes over further hits.
  Change(id, change, [](const absl::StatusOr<model::Watchpoint>&) {});
}

uint64_t JobWatchpoints::StepOf(const Rank& rank) {
  const bool between_steps =
      rank.run.state == model::JobState::kPaused && rank.run.node.empty();
  return rank.run.step + (between_steps ? 1 : 0);
}

void JobWatchpoints::OnMoved(const Rank& rank, uint64_t from) {
  if (!rank.link) return;
  for (uint32_t id : table_.Ids()) {
    const uint64_t until = table_.SpecOf(id).muted_until_step;
    if (from < until && until <= StepOf(rank)) {
      Send(*rank.link, rank.hello.rank, id);
    }
  }
}

bool JobWatchpoints::PausesLate(const Rank& rank, const model::Hit& hit) const {
  const uint32_t id = hit.watchpoint;
  if (hit.absorbed || !table_.Check(id).ok()) return false;
  const model::WatchpointSpec& spec = table_.SpecOf(id);
  return spec.pause != model::PauseMode::kNone &&
         StepOf(rank) < spec.muted_until_step &&
         spec.muted_until_step <= hit.step;
}

void JobWatchpoints::Record(uint32_t id) {
  JobJournal* const journal = recorder_.journal();
  if (journal == nullptr) return;
  const bool exists = table_.Check(id).ok();
  journal->RecordWatchpoint(id, table_.RevisionOf(id),
                            exists ? &table_.SpecOf(id) : nullptr);
  for (uint32_t revision : table_.Prune(id)) {
    journal->EraseRevision(id, revision);
  }
}

void JobWatchpoints::Distribute(uint32_t id, std::function<void()> undo,
                                Callback done) {
  Record(id);
  const uint32_t revision = table_.RevisionOf(id);
  recorder_.WhenDurable([this, id, revision, undo = std::move(undo),
                         done = std::move(done)](const absl::Status& kept) {
    if (!kept.ok()) {
      if (table_.RevisionOf(id) == revision) undo();
      return done(kept);
    }
    // It may have been removed in the meantime.
    if (table_.Check(id).ok()) {
      SendToAll(id);
      MarkUnchecked(id);
      Publish(id);
    }
    done(Get(id));
  });
}

void JobWatchpoints::SendToAll(uint32_t id) {
  const bool exists = table_.Check(id).ok();
  for (const auto& [number, rank] : machine_.ranks()) {
    if (!rank.link) continue;
    if (exists) {
      Send(*rank.link, number, id);
    } else {
      rank.link->Send(RemoveWatchpointOrder{id});
    }
  }
}

void JobWatchpoints::Remove(uint32_t id,
                            std::function<void(absl::Status)> done) {
  if (auto kept = recorder_.Check(); !kept.ok()) return done(kept);
  if (auto removed = table_.Remove(id); !removed.ok()) return done(removed);
  Record(id);
  const uint32_t revision = table_.RevisionOf(id);
  recorder_.WhenDurable(
      [this, id, revision, done = std::move(done)](const absl::Status& kept) {
        if (!kept.ok()) {
          if (table_.RevisionOf(id) == revision) UndoRemove(id);
          return done(kept);
        }
        SendToAll(id);
        MarkUnchecked(id);
        Publish(id);
        done(absl::OkStatus());
      });
}

void JobWatchpoints::UndoAdd(uint32_t id) {
  if (!table_.Remove(id).ok()) return;
  Record(id);
  Publish(id);
}

void JobWatchpoints::UndoChange(uint32_t id,
                                const model::WatchpointSpec& before) {
  const model::WatchpointChange back{
      before.condition,        before.selection, before.pause,
      before.enabled,          before.once,      before.ignore_count,
      before.muted_until_step, before.group,     before.actions};
  if (!table_.Change(id, back).ok()) return;
  Record(id);
  Publish(id);
  // Agents check an earlier revision with the same content.
  recorder_.OnceDurable([this, id](const absl::Status&) { SendToAll(id); });
}

void JobWatchpoints::UndoRemove(uint32_t id) {
  table_.Reinstate(id);
  Record(id);
  Publish(id);
  recorder_.OnceDurable([this, id](const absl::Status&) { SendToAll(id); });
}

void JobWatchpoints::AddRecommended(
    std::function<void(absl::StatusOr<model::RecommendedSet>)> done) {
  if (auto may = CheckMayWatch(AllowedByRanks(machine_)); !may.ok()) {
    return done(may);
  }
  if (auto kept = recorder_.Check(); !kept.ok()) return done(kept);
  const bool was_offered = OffersRecommended();
  std::vector<uint32_t> ids;
  std::vector<uint32_t> made;
  for (const model::WatchpointSpec& spec : RecommendedSet()) {
    ids.push_back(watch::FindRecommended(table_, spec));
    if (ids.back() != 0) continue;
    const auto id = table_.Add(spec);
    if (!id.ok()) return done(id.status());
    ids.back() = *id;
    made.push_back(*id);
    Distribute(
        *id, [this, id = *id] { UndoAdd(id); },
        [](const absl::StatusOr<model::Watchpoint>&) {});
  }
  // Runs after the callbacks of the watchpoints above.
  recorder_.WhenDurable([this, ids, made, was_offered,
                         done = std::move(done)](const absl::Status& kept) {
    if (!kept.ok()) return done(kept);
    model::RecommendedSet set;
    for (uint32_t id : ids) {
      // It may have been removed in the meantime.
      if (auto each = Get(id); each.ok()) {
        set.watchpoints.push_back(*std::move(each));
      }
    }
    set.made = made;
    if (was_offered && !machine_.ranks().empty()) {
      events_.PublishState(machine_.first_rank());
    }
    done(std::move(set));
  });
}

bool JobWatchpoints::OffersRecommended() const {
  if (IsEnded(machine_.job().state) || !AllowedByRanks(machine_).control) {
    return false;
  }
  const std::vector<model::WatchpointSpec> set = RecommendedSet();
  return std::none_of(set.begin(), set.end(),
                      [&](const model::WatchpointSpec& spec) {
                        return watch::FindRecommended(table_, spec) != 0;
                      });
}

std::vector<model::WatchpointSpec> JobWatchpoints::RecommendedSet() const {
  const auto& ranks = machine_.ranks();
  const bool ascend =
      std::any_of(ranks.begin(), ranks.end(), [](const auto& each) {
        const std::string device =
            absl::AsciiStrToLower(each.second.hello.device);
        return absl::StrContains(device, "ascend") ||
               absl::StrContains(device, "npu");
      });
  const bool mindspore =
      std::any_of(ranks.begin(), ranks.end(), [](const auto& each) {
        return each.second.hello.framework == kUnverifiedFramework;
      });
  return watch::RecommendedSet({ascend, /*expressions=*/!mindspore});
}

void JobWatchpoints::Welcome(const std::string& job, AgentLink& link,
                             uint32_t rank, bool resumed) const {
  std::vector<uint32_t> sent;
  std::vector<uint32_t> removed = table_.RemovedIds();
  for (uint32_t id : table_.Ids()) {
    const model::WatchpointSpec& spec = table_.SpecOf(id);
    if (!conditions::IncludesRank(spec.selection, rank)) {
      removed.push_back(id);
    } else if (resumed || spec.enabled) {
      // A resumed process may still hold one that was disabled since.
      sent.push_back(id);
    }
  }
  link.Send(WelcomeOrder{job, static_cast<uint32_t>(sent.size()), resumed});
  for (uint32_t id : sent) Send(link, rank, id);
  if (!resumed) return;
  for (uint32_t id : removed) link.Send(RemoveWatchpointOrder{id});
}

void JobWatchpoints::Send(AgentLink& link, uint32_t rank, uint32_t id) const {
  if (!conditions::IncludesRank(table_.SpecOf(id).selection, rank)) {
    link.Send(RemoveWatchpointOrder{id});
    return;
  }
  SetWatchpointOrder order{id, table_.RevisionOf(id), table_.SpecOf(id)};
  // One of several ranks pauses at the node until the other ranks have been
  // asked to stop after this step, and then continues to the end of the step.
  if (machine_.has_several_ranks() &&
      order.spec.pause == model::PauseMode::kStep) {
    order.spec.pause = model::PauseMode::kNode;
  }
  const Rank* const receiver = machine_.Find(rank);
  const uint64_t step = receiver == nullptr ? 0 : StepOf(*receiver);
  if (step < order.spec.muted_until_step) {
    order.spec.pause = model::PauseMode::kNone;
  }
  link.Send(std::move(order));
}

void JobWatchpoints::OnReport(uint32_t rank, const WatchpointReport& report) {
  const std::string error(report.error.message());
  if (table_.SetError(report.id, report.revision, rank, error)) {
    Publish(report.id);
  }
}

void JobWatchpoints::Publish(uint32_t id) {
  auto watchpoint = Get(id);
  events_.PublishWatchpoint(id, watchpoint.ok()
                                    ? std::optional(*std::move(watchpoint))
                                    : std::nullopt);
}

void JobWatchpoints::MarkUnchecked(uint32_t id) {
  if (machine_.job().state != model::JobState::kPaused) return;
  const bool enabled = table_.Check(id).ok() && table_.SpecOf(id).enabled;
  if (unchecked_.OnChanged(id, enabled)) {
    events_.PublishState(machine_.first_rank());
  }
}

}  // namespace graphdbg::jobs
