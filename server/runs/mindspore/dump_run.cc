#include "server/runs/mindspore/dump_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/runs/mindspore/overflow.h"
#include "server/runs/step_cursor.h"

namespace graphdbg::dumps {
namespace {

constexpr int64_t kMicrosecond = 1'000;
// Later times are not numbers of nanoseconds.
constexpr uint64_t kMaxTime = INT64_MAX / kMicrosecond;

std::optional<int64_t> BeginOf(const StepInfo& info) {
  if (info.first_us == 0 || info.first_us > kMaxTime) return std::nullopt;
  return static_cast<int64_t>(info.first_us) * kMicrosecond;
}

model::RecordedStep Describe(uint64_t number, const StepInfo& info,
                             uint32_t executions) {
  model::RecordedStep step;
  step.step = number;
  step.mode_step = number;
  step.passes = std::max(executions, 1u);
  step.records = info.files;
  step.begin_unix_nano = BeginOf(info);
  if (step.begin_unix_nano && info.last_us > info.first_us) {
    step.seconds = static_cast<double>(info.last_us - info.first_us) * 1e-6;
  }
  return step;
}

}  // namespace

DumpRun::DumpRun(std::string id, recorded::Folder folder,
                 std::shared_ptr<MemoryBudget> memory)
    : id_(std::move(id)),
      folder_(std::move(folder)),
      memory_(std::move(memory)) {
  if (memory_ != nullptr) {
    graph_memory_ = memory_->Count(MemoryAccount::kJobs);
  }
}

void DumpRun::Refresh() {
  layout_ = ScanLayout(folder_);
  loaded_ = false;
}

void DumpRun::Load() {
  if (loaded_) return;
  for (const auto& [number, layout] : layout_.ranks) {
    std::unique_ptr<DumpRank>& rank = ranks_[number];
    if (rank == nullptr) {
      rank = std::make_unique<DumpRank>(number, folder_, memory_);
    }
    rank->Update(layout, graph_);
  }
  if (memory_ != nullptr) graph_memory_.Set(graph_.bytes());
  loaded_ = true;
}

model::Run DumpRun::Describe() {
  model::Run run;
  model::Job& job = run.job;
  job.id = id_;
  job.name = id_;
  job.framework = "mindspore";
  job.state = model::JobState::kFinished;
  job.world_size = static_cast<uint32_t>(layout_.ranks.size());
  job.allowed = {
      .view = true, .control = false, .terminate = false, .change = false};
  run.ended = "closed";
  run.damage = layout_.damage;
  bool is_first = true;
  for (const auto& [number, layout] : layout_.ranks) {
    if (run.program.empty()) run.program = layout.net;
    model::Rank rank;
    rank.rank = number;
    rank.state = model::JobState::kFinished;
    if (!layout.iterations.empty()) {
      const uint64_t first = StepOf(layout.iterations.begin()->first);
      rank.step = StepOf(layout.iterations.rbegin()->first);
      run.first_step = is_first ? first : std::min(run.first_step, first);
      run.last_step = std::max(run.last_step, rank.step);
      is_first = false;
    }
    const auto loaded = ranks_.find(number);
    if (loaded != ranks_.end()) {
      const DumpRank& data = *loaded->second;
      rank.device = data.device();
      if (job.framework_version.empty()) {
        job.framework_version = data.version();
      }
      run.damage.insert(data.damage().begin(), data.damage().end());
      if (job.created_at_unix_nano == 0 && !data.steps().empty()) {
        job.created_at_unix_nano =
            BeginOf(data.steps().begin()->second).value_or(0);
      }
    }
    job.ranks.push_back(std::move(rank));
  }
  job.step = run.last_step;
  job.hit_count = hits_.total() - hits_.absorbed();
  job.kept_hit_count = hits_.kept();
  return run;
}

const graph::GraphStore& DumpRun::graph() {
  Load();
  return graph_;
}

const watch::HitLog& DumpRun::hits() {
  Load();
  for (const auto& [number, rank] : ranks_) ReadOverflows(*rank);
  return hits_;
}

void DumpRun::ReadOverflows(DumpRank& rank) {
  uint64_t& last = overflows_read_[rank.number()];
  for (const uint64_t step : rank.overflow_steps()) {
    if (step <= last) continue;
    last = step;
    const auto files = rank.Files(step);
    for (const KeptFile& file : files->overflows()) {
      const std::string text = files->ReadOverflow(file);
      for (const OverflowTask& task : ParseOverflow(text)) {
        const graph::NodeIndex node =
            rank.graph().NodeOf(files->NodeOfTask(task.task, task.stream));
        if (node == graph::kNoNode) continue;
        model::Hit hit;
        hit.condition = OverflowCondition();
        hit.rank = rank.number();
        hit.step = step;
        hit.order = graph_.node(node).order;
        hit.time_unix_nano =
            static_cast<int64_t>(std::min(file.time_us, kMaxTime)) *
            kMicrosecond;
        hits_.Add({node, std::move(hit)});
      }
    }
  }
}

absl::StatusOr<DumpRank*> DumpRun::FindRank(uint32_t rank) {
  Load();
  const auto found = ranks_.find(rank);
  if (found != ranks_.end()) return found->second.get();
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_rank",
                         absl::StrCat("run '", id_, "' has no rank ", rank,
                                      "; it has ", ranks_.size(), " ranks")),
                   "rank");
}

absl::StatusOr<model::StepPage> DumpRun::Steps(const model::StepQuery& query) {
  model::StepPage page;
  if (layout_.ranks.empty()) return page;
  ASSIGN_OR_RETURN(DumpRank* const rank,
                   FindRank(query.rank.value_or(layout_.ranks.begin()->first)));
  ASSIGN_OR_RETURN(const uint64_t from, recorded::FirstStepOf(query.cursor));
  if (query.mode && *query.mode != model::RunMode::kUnknown) return page;
  const auto& steps = rank->steps();
  for (auto it = steps.lower_bound(from); it != steps.end(); ++it) {
    if (page.steps.size() >= query.limit) {
      page.next_cursor = absl::StrCat(it->first);
      break;
    }
    const uint64_t number = it->first;
    page.steps.push_back(
        dumps::Describe(number, it->second, rank->ExecutionsIn(number)));
    page.steps.back().ranks = static_cast<uint32_t>(
        std::count_if(ranks_.begin(), ranks_.end(), [&](const auto& other) {
          return other.second->steps().contains(number);
        }));
  }
  return page;
}

absl::StatusOr<recorded::ComparedRank> DumpRun::CopyForComparison(uint32_t) {
  return Error(absl::StatusCode::kUnimplemented, "not_comparable",
               "a dump of MindSpore cannot be searched for where it and "
               "another run part; its tensors can be compared one by one");
}

}  // namespace graphdbg::dumps
