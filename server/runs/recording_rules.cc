// The records of a run that rules read: all of them for a check, and those of
// new steps to follow the run.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/runs/check.h"
#include "server/runs/new_steps.h"
#include "server/runs/recording.h"
#include "server/runs/rule_check.h"
#include "server/runs/rule_selection.h"
#include "server/runs/rule_task.h"

namespace graphdbg::recorded {
namespace {

// A step's last record is the mark of its end, except for values that are saved
// meanwhile.
constexpr uint64_t kRecordsAtEnd = 1'024;

RuleRank CopyOf(const RankData& rank, uint64_t from, uint64_t to) {
  RuleRank copy{rank.number(), rank.log(), {}, {}};
  const StepIndex& index = rank.index();
  const auto entries = index.entries().subspan(index.LowerBound(from));
  for (const StepEntry& entry : entries) {
    if (entry.step > to) break;
    copy.entries.push_back(entry);
  }
  rank.ids().nodes.ForEach([&copy](uint32_t id, graph::NodeIndex node) {
    copy.nodes.resize(id + 1, graph::kNoNode);
    copy.nodes[id] = node;
  });
  return copy;
}

bool HasEnded(const RankLog& log, const StepEntry& entry) {
  std::vector<runs::Record> last(std::min(entry.count, kRecordsAtEnd));
  log.Read(entry.first + entry.count - last.size(), last);
  return std::any_of(last.begin(), last.end(),
                     [&entry](const runs::Record& record) {
                       return record.known_kind() == runs::Kind::kEnd &&
                              record.pass == 0 && record.step == entry.step;
                     });
}

// The first step that may still grow.
uint64_t FirstUnfinishedStep(const RankData& rank) {
  if (rank.index().empty()) return 0;
  const StepEntry& last = rank.index().entries().back();
  const bool grows = rank.alive() && !HasEnded(rank.log(), last);
  return grows ? last.step : last.step + 1;
}

uint64_t CountMembers(const std::vector<model::Collection>& collections) {
  uint64_t count = 0;
  for (const model::Collection& each : collections) {
    count += each.tensors.size();
  }
  return count;
}

}  // namespace

absl::StatusOr<std::shared_ptr<RuleCheck>> Recording::PrepareRules(
    const model::CheckSpec& spec) {
  Load();
  ASSIGN_OR_RETURN(auto check, RuleCheck::Compile(spec.rules));
  ASSIGN_OR_RETURN(SelectedTensors selected,
                   SelectedTensors::Find(graph_, Collections(), spec.rules));
  for (const uint32_t rank : spec.ranks) {
    RETURN_IF_ERROR(FindRank(rank).status());
  }
  RETURN_IF_ERROR(RefusePacked(spec));
  auto tensors = std::make_shared<const SelectedTensors>(std::move(selected));
  // The ranks of each task.
  std::vector<std::vector<RuleRank>> tasks;
  for (const auto& [number, rank] : ranks_) {
    if (!Wants(spec, number)) continue;
    if (tasks.empty() || !check->joins_ranks()) tasks.emplace_back();
    tasks.back().push_back(CopyOf(*rank, spec.from, spec.to));
  }
  for (std::vector<RuleRank>& ranks : tasks) {
    uint64_t steps = 0;
    for (const RuleRank& rank : ranks) steps += rank.steps();
    auto shared = std::make_shared<std::vector<RuleRank>>(std::move(ranks));
    check->AddTask(steps, [shared, tensors](RuleCheck& running) {
      RuleTask(running).Run(*shared, tensors);
    });
  }
  return check;
}

absl::StatusOr<NewSteps> Recording::TakeNewSteps(
    const std::vector<model::RuleSpec>& rules, bool together,
    FollowedSteps* followed) {
  Load();
  const bool any =
      std::any_of(ranks_.begin(), ranks_.end(), [followed](const auto& entry) {
        return FirstUnfinishedStep(*entry.second) > followed->next[entry.first];
      });
  if (!any && followed->tensors != nullptr) return NewSteps();
  const std::vector<model::Collection> collections = Collections();
  const uint64_t members = CountMembers(collections);
  if (followed->tensors == nullptr ||
      followed->graph_version != graph_.version() ||
      followed->members != members) {
    ASSIGN_OR_RETURN(SelectedTensors selected,
                     SelectedTensors::Find(graph_, collections, rules));
    followed->tensors =
        std::make_shared<const SelectedTensors>(std::move(selected));
    followed->graph_version = graph_.version();
    followed->members = members;
  }
  NewSteps result{{}, followed->tensors};
  // Ranks that are compared advance at the pace of the slowest.
  uint64_t end_of_all = UINT64_MAX;
  for (const auto& [number, rank] : ranks_) {
    if (!together || !rank->alive()) continue;
    end_of_all = std::min(end_of_all, FirstUnfinishedStep(*rank));
  }
  for (const auto& [number, rank] : ranks_) {
    const uint64_t end = std::min(end_of_all, FirstUnfinishedStep(*rank));
    uint64_t& next = followed->next[number];
    if (end <= next) continue;
    RuleRank copy = CopyOf(*rank, next, end - 1);
    next = end;
    if (!copy.entries.empty()) result.ranks.push_back(std::move(copy));
  }
  return result;
}

std::string Recording::ReadFindings() const {
  return folder_.ReadAll(runs::kFindingsFile, runs::kMaxFindingsBytes)
      .value_or("");
}

}  // namespace graphdbg::recorded
