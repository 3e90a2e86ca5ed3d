#include "server/runs/recording.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/runs/headers.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/base/string_views.h"
#include "server/graph/graph_view.h"
#include "server/runs/check.h"
#include "server/runs/step_cursor.h"
#include "server/runs/step_marks.h"

namespace graphdbg::recorded {
namespace {

constexpr size_t kMaxEntries = 4 * runs::kMaxRanks;

std::string TextOf(uint32_t rank, const PackedSteps& steps) {
  return absl::StrCat("steps ", steps.first, " to ", steps.last, " of rank ",
                      rank,
                      " are packed into Parquet, which the server does not "
                      "read; `graphdbg open` shows a copy with the log, and "
                      "`graphdbg unpack` restores it");
}

// The innermost frame in the user's code.
std::optional<model::SourceLine> UserLineOf(
    const std::vector<model::SourceLine>& stack) {
  const auto line =
      std::find_if(stack.begin(), stack.end(),
                   [](const model::SourceLine& each) { return each.user; });
  if (line != stack.end()) return *line;
  if (stack.empty()) return std::nullopt;
  return stack.front();
}

}  // namespace

Recording::Recording(std::string id, Folder folder,
                     std::shared_ptr<MemoryBudget> memory)
    : id_(std::move(id)), folder_(std::move(folder)), memory_(memory) {
  if (memory_ != nullptr) {
    graph_memory_ = memory_->Count(MemoryAccount::kJobs);
  }
}

void Recording::Refresh() {
  ReadRunInfo();
  FindRanks();
  for (const auto& [number, rank] : ranks_) rank->Refresh();
  FindPacked();
  graph_fresh_ = false;
  hits_fresh_ = false;
}

void Recording::ReadRunInfo() {
  if (has_info_) return;
  const auto text = folder_.ReadAll(runs::kRunFile, kMaxJsonBytes);
  // A run whose process died early has none.
  if (absl::IsNotFound(text.status())) return;
  absl::Status status = text.status();
  if (status.ok()) {
    auto info = ParseRunInfo(*text);
    status = info.status();
    if (info.ok()) info_ = *std::move(info);
    has_info_ = info.ok();
  }
  if (!status.ok()) {
    damage_[folder_.PathOf(runs::kRunFile)] = std::string(status.message());
  }
}

void Recording::FindRanks() {
  const auto names = folder_.List(kMaxEntries);
  if (!names.ok()) {
    damage_[folder_.path()] = std::string(names.status().message());
    return;
  }
  for (const std::string& name : *names) {
    const auto number = runs::ParseRankDirectory(name);
    if (!number || ranks_.contains(*number)) continue;
    auto folder = folder_.OpenFolder(name);
    if (!folder.ok()) {
      damage_[folder_.PathOf(name)] = std::string(folder.status().message());
      continue;
    }
    ranks_.emplace(*number, std::make_unique<RankData>(
                                *number, *std::move(folder), memory_));
  }
}

void Recording::FindPacked() {
  packed_.clear();
  auto records = folder_.OpenFolder("parquet");
  if (records.ok()) records = records->OpenFolder("records");
  if (!records.ok()) return;
  for (const auto& [number, rank] : ranks_) {
    const auto packed = FindPackedSteps(*records, number);
    if (packed) packed_.emplace(number, *packed);
  }
}

std::optional<PackedSteps> Recording::PackedAway(const RankData& rank,
                                                 uint64_t from,
                                                 uint64_t to) const {
  const auto packed = packed_.find(rank.number());
  if (packed == packed_.end()) return std::nullopt;
  const PackedSteps log = {rank.first_step(), rank.last_step()};
  return WithoutLog(packed->second, log, from, to);
}

absl::Status Recording::RefusePacked(const model::CheckSpec& spec) const {
  for (const auto& [number, rank] : ranks_) {
    if (!Wants(spec, number)) continue;
    const auto steps = PackedAway(*rank, spec.from, spec.to);
    if (!steps) continue;
    return Error(absl::StatusCode::kFailedPrecondition, "packed",
                 absl::StrCat("run '", id_, "': ", TextOf(number, *steps)));
  }
  return absl::OkStatus();
}

bool Recording::alive() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.second->alive(); });
}

// The worst state of any rank, unless one still records.
model::JobState Recording::State() const {
  using model::JobState;
  if (alive()) return JobState::kRunning;
  JobState state = ranks_.empty() ? JobState::kLost : JobState::kFinished;
  for (const auto& [number, rank] : ranks_) {
    const JobState other = rank->state();
    if (other == JobState::kLost || state == JobState::kFinished) state = other;
  }
  return state;
}

std::vector<model::Rank> Recording::DescribeRanks() {
  std::vector<model::Rank> list;
  for (const auto& [number, data] : ranks_) {
    model::Rank rank;
    rank.rank = number;
    rank.host = data->info().host;
    rank.pid = data->info().pid;
    rank.device = data->info().device;
    rank.device_id = data->info().device_id;
    rank.state = data->state();
    rank.step = data->last_step();
    // Where a rank was that did not end in good order.
    if (rank.state == model::JobState::kLost && graph_.node_count() > 0) {
      const graph::NodeIndex node = data->LastNode();
      if (node != graph::kNoNode) rank.node = graph_.node(node).name;
    }
    list.push_back(std::move(rank));
  }
  return list;
}

model::Run Recording::Describe() {
  model::Run run;
  model::Job& job = run.job;
  job.id = id_;
  job.name = id_;
  job.state = State();
  job.created_at_unix_nano = info_.started_unix_nano;
  job.world_size = info_.world_size;
  job.allowed = {
      .view = true, .control = false, .terminate = false, .change = false};
  job.ranks = DescribeRanks();
  run.program = info_.program;
  run.resumes = info_.resumes;
  run.damage = damage_;
  bool is_first = true;
  for (const auto& [number, rank] : ranks_) {
    const RankInfo& info = rank->info();
    if (is_first) {
      job.framework = info.framework;
      job.framework_version = info.framework_version;
      if (run.program.empty()) run.program = info.program;
      if (!has_info_) {
        job.created_at_unix_nano = info.started_unix_nano;
        job.world_size = info.world_size;
      }
      run.first_step = rank->first_step();
    }
    run.first_step = std::min(run.first_step, rank->first_step());
    run.last_step = std::max(run.last_step, rank->last_step());
    run.log_bytes += rank->log().log_bytes();
    run.damage.merge(rank->Damage());
    if (const auto steps = PackedAway(*rank, 0, UINT64_MAX)) {
      run.damage.emplace(folder_.PathOf("parquet"), TextOf(number, *steps));
    }
    if (info.ended && info.ended->exit_code && !job.exit_code) {
      job.exit_code = info.ended->exit_code;
    }
    if (info.ended && info.ended->exception && !job.exception) {
      job.exception = info.ended->exception;
    }
    if (run.ended.empty() || rank->ended() == "lost") {
      run.ended = rank->ended();
    }
    is_first = false;
  }
  if (alive()) run.ended.clear();
  job.step = run.last_step;
  job.hit_count = hits_.total() - hits_.absorbed();
  job.absorbed_hit_count = hits_.absorbed();
  job.kept_hit_count = hits_.kept();
  return run;
}

std::vector<model::LastOp> Recording::LastOps() {
  std::vector<model::LastOp> all;
  for (const auto& [number, rank] : ranks_) {
    std::vector<runs::LastOp> ops = rank->LastOps();
    // The first is unfinished if any is.
    const auto end =
        std::find_if(ops.begin(), ops.end(),
                     [](const runs::LastOp& op) { return !op.unfinished; });
    const auto shown = end == ops.begin() && !ops.empty() ? end + 1 : end;
    for (auto op = ops.begin(); op != shown; ++op) {
      all.push_back(DescribeOp(*rank, *op));
    }
  }
  return all;
}

std::vector<model::UserChange> Recording::UserChanges() {
  graph();
  std::vector<model::UserChange> all;
  for (const auto& [number, rank] : ranks_) {
    for (const v1::UserChange& change : rank->ReadUserChanges()) {
      model::UserChange& described = all.emplace_back();
      described.rank = number;
      described.step = change.step();
      described.time_unix_nano = change.time_unix_nano();
      described.by = change.by();
      described.text = change.text();
      const graph::NodeIndex node = rank->NodeOf(change.node_id());
      if (node != graph::kNoNode) described.node = graph_.node(node).name;
    }
  }
  return all;
}

model::LastOp Recording::DescribeOp(const RankData& rank,
                                    const runs::LastOp& op) {
  model::LastOp described;
  described.rank = rank.number();
  described.thread = op.thread;
  described.step = op.step;
  described.exec_order = op.exec_order;
  described.begin_unix_nano = static_cast<int64_t>(op.begin_unix_ns);
  described.unfinished = op.unfinished;
  const graph::NodeIndex node = rank.NodeOf(op.node);
  if (node == graph::kNoNode) {
    // The process died before it had written the node.
    described.node = op.name;
    if (!op.file.empty()) {
      described.source = model::SourceLine{op.file, op.line, "", "", true};
    }
    return described;
  }
  described.node = graph().node(node).name;
  const auto detail = graph::GraphView(graph_, *this).Detail(described.node);
  if (detail.ok()) described.source = UserLineOf(detail->stack);
  return described;
}

const graph::GraphStore& Recording::graph() {
  if (!graph_fresh_) {
    for (const auto& [number, rank] : ranks_) rank->ReadGraph(graph_);
    if (memory_ != nullptr) graph_memory_.Set(graph_.bytes());
    graph_fresh_ = true;
  }
  return graph_;
}

const watch::HitLog& Recording::hits() {
  graph();
  if (!hits_fresh_) {
    for (const auto& [number, rank] : ranks_) rank->ReadHits(hits_);
    hits_fresh_ = true;
  }
  return hits_;
}

uint64_t Recording::HitsOf(graph::Child child) const {
  return hits_.CountOf(child);
}

absl::StatusOr<RankData*> Recording::FindRank(uint32_t rank) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) {
    return WithField(Error(absl::StatusCode::kNotFound, "unknown_rank",
                           absl::StrCat("run '", id_, "' has no rank ", rank,
                                        "; it has ", ranks_.size(), " ranks")),
                     "rank");
  }
  found->second->RefreshIndex();
  return found->second.get();
}

void Recording::Load() {
  hits();
  for (const auto& [number, rank] : ranks_) {
    rank->RefreshIndex();
    rank->tensors().Refresh();
  }
}

absl::StatusOr<ComparedRank> Recording::CopyForComparison(uint32_t rank) {
  ASSIGN_OR_RETURN(RankData* const data, FindRank(rank));
  return ComparedRank{data->log(), data->index(),
                      CopyNodes(graph(), data->ids())};
}

absl::StatusOr<model::StepPage> Recording::Steps(
    const model::StepQuery& query) {
  if (ranks_.empty()) return model::StepPage();
  ASSIGN_OR_RETURN(RankData* const rank,
                   FindRank(query.rank.value_or(ranks_.begin()->first)));
  ASSIGN_OR_RETURN(const uint64_t from, FirstStepOf(query.cursor));
  for (const auto& [number, other] : ranks_) other->RefreshIndex();
  const StepIndex& index = rank->index();
  model::StepPage page;
  size_t at = index.LowerBound(from);
  while (at < index.entries().size()) {
    const uint64_t step = index.entries()[at].step;
    if (page.steps.size() >= query.limit) {
      page.next_cursor = absl::StrCat(step);
      break;
    }
    const auto entries = index.Find(step);
    const auto ranks = static_cast<uint32_t>(
        std::count_if(ranks_.begin(), ranks_.end(), [step](const auto& other) {
          return !other.second->index().Find(step).empty();
        }));
    for (model::RecordedStep& each : DescribeStep(rank->log(), entries)) {
      if (query.mode && each.mode != *query.mode) continue;
      each.ranks = ranks;
      page.steps.push_back(std::move(each));
    }
    at += entries.size();
  }
  return page;
}

std::vector<model::Collection> Recording::Collections() {
  graph();
  std::vector<model::Collection> collections;
  std::map<std::string, size_t> places;
  std::map<size_t, std::set<std::string>> tensors;
  const auto place_of = [&](const std::string& name) {
    const auto [place, is_new] = places.try_emplace(name, collections.size());
    if (is_new) collections.push_back({name, "", {}});
    return place->second;
  };
  for (const auto& [number, rank] : ranks_) {
    for (const model::Collection& each : rank->info().collections) {
      collections[place_of(each.name)].level = each.level;
    }
    for (const auto& [name, keys] : ParseCollections(rank->ReadCollections())) {
      std::set<std::string>& names = tensors[place_of(name)];
      for (const TensorKey& key : keys) {
        const graph::NodeIndex node = rank->NodeOf(key.node);
        if (node == graph::kNoNode) continue;
        names.insert(absl::StrCat(graph_.node(node).name, ":", key.slot));
      }
    }
  }
  for (auto& [place, names] : tensors) {
    collections[place].tensors.assign(names.begin(), names.end());
  }
  return collections;
}

}  // namespace graphdbg::recorded
