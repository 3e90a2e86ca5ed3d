#include "server/runs/opened_run.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/base/gzip.h"
#include "server/diagnosis/diagnose.h"
#include "server/diagnosis/facts.h"
#include "server/diagnosis/incidents.h"
#include "server/graph/graph_view.h"
#include "server/graph/packed_graph.h"
#include "server/graph/search.h"
#include "server/jobs/strand_call.h"
#include "server/runs/check.h"
#include "server/runs/divergence.h"
#include "server/runs/rule_check.h"

namespace graphdbg::recorded {
namespace {

using std::chrono::steady_clock;

// How often a run is looked at that a process writes, and one that has ended,
// to which ranks of slower hosts may still be added.
constexpr std::chrono::milliseconds kFollowInterval(500);
constexpr std::chrono::milliseconds kEndedInterval(5'000);
// Rules look more often, because a finding may pause the job.
constexpr std::chrono::milliseconds kRulesInterval(100);

absl::Status ReadOnly() {
  return Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
               "a recorded run cannot be controlled; to find out where a "
               "condition matches, check it over the recording");
}

absl::Status UnknownWatchpoint(uint32_t id) {
  return Error(absl::StatusCode::kNotFound, "unknown_watchpoint",
               absl::StrCat("there is no watchpoint '", id, "'"));
}

template <class T>
jobs::Task<T> Refused() {
  co_return ReadOnly();
}

jobs::StatusTask RefusedStatus() { co_return ReadOnly(); }

diagnosis::Incidents IncidentsOf(RunSource& source) {
  const watch::HitLog& hits = source.hits();
  // Recordings do not say which rank has sent what a collective received.
  return diagnosis::Incidents(source.graph(), hits,
                              [](const model::Hit&) { return graph::kNoNode; });
}

// The rules are not followed any more once their user destroys this.
class RuleHandle final : public jobs::FollowedRules {
 public:
  explicit RuleHandle(std::shared_ptr<RuleFollower> rules)
      : rules_(std::move(rules)) {}
  ~RuleHandle() override { rules_->Cancel(); }

  model::CheckReport Report() const override { return rules_->Report(); }

 private:
  const std::shared_ptr<RuleFollower> rules_;
};

}  // namespace

// The run as a job that is at a step.
class OpenedRun::View final : public jobs::Job {
 public:
  View(std::shared_ptr<OpenedRun> run, std::optional<uint64_t> step)
      : run_(std::move(run)), step_(step) {}

  const std::string& id() const override { return run_->id_; }

  jobs::Task<model::Job> Describe() override {
    CO_ASSIGN_OR_RETURN(const model::Run run, co_await run_->Describe(true));
    model::Job job = run.job;
    if (step_) job.step = *step_;
    co_return job;
  }
  // Runs are listed by RunDirectory, which describes them.
  std::shared_ptr<const model::Job> LastKnown() const override {
    auto job = std::make_shared<model::Job>();
    job->id = run_->id_;
    return job;
  }
  jobs::Task<std::string> Control(model::ControlRequest) override {
    return Refused<std::string>();
  }
  jobs::Task<model::Controller> TakeLease(std::string) override {
    return Refused<model::Controller>();
  }
  jobs::StatusTask ReleaseLease(std::string) override {
    return RefusedStatus();
  }

  jobs::Task<std::vector<model::GraphSummary>> Graphs() override {
    using Result = absl::StatusOr<std::vector<model::GraphSummary>>;
    return run_->OnStrand<Result>(
        [](RunSource& source) { return ViewOf(source).Graphs(); });
  }
  jobs::Task<std::shared_ptr<const model::GraphFile>> Index(
      std::string graph) override {
    using Result = absl::StatusOr<std::shared_ptr<const model::GraphFile>>;
    return run_->OnStrand<Result>(
        [run = run_.get(), graph = std::move(graph)](RunSource&) {
          return run->GraphIndex(graph);
        });
  }
  jobs::Task<model::GraphPage> Export(std::string graph,
                                      uint64_t from) override {
    return run_->OnStrand<absl::StatusOr<model::GraphPage>>(
        [graph = std::move(graph), from](RunSource& source) {
          return ViewOf(source).Page(graph, from);
        });
  }
  jobs::Task<model::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) override {
    const size_t above =
        aggregate_above ? *aggregate_above : graph::GraphView::kNoAggregates;
    return run_->OnStrand<absl::StatusOr<model::ScopeView>>(
        [graph = std::move(graph), name = std::move(name),
         above](RunSource& source) {
          source.hits();
          return ViewOf(source).ScopeNamed(graph, name, above);
        });
  }
  jobs::Task<model::NodeDetail> Node(std::string name) override {
    return run_->OnStrand<absl::StatusOr<model::NodeDetail>>(
        [name = std::move(name)](RunSource& source) {
          source.hits();
          return ViewOf(source).Detail(name);
        });
  }
  jobs::Task<model::SearchResult> Search(model::SearchQuery query) override {
    return run_->OnStrand<absl::StatusOr<model::SearchResult>>(
        [query = std::move(query)](RunSource& source) {
          source.hits();
          return graph::Search(source.graph(), source.annotations(), query);
        });
  }
  jobs::Task<model::SourceFile> Source(std::string file) override {
    return run_->OnStrand<absl::StatusOr<model::SourceFile>>(
        [file = std::move(file)](RunSource& source) {
          return ViewOf(source).Source(file);
        });
  }
  jobs::Task<model::Neighbours> Around(model::NeighbourQuery query) override {
    return run_->OnStrand<absl::StatusOr<model::Neighbours>>(
        [query = std::move(query), step = step_](RunSource& source) {
          return source.Around(query, step);
        });
  }

  // The configuration of watchpoints is not part of a source.
  jobs::Task<std::vector<model::Watchpoint>> Watchpoints() override {
    co_return std::vector<model::Watchpoint>();
  }
  jobs::Task<model::Watchpoint> GetWatchpoint(uint32_t id) override {
    co_return UnknownWatchpoint(id);
  }
  jobs::Task<model::Watchpoint> AddWatchpoint(model::WatchpointSpec) override {
    return Refused<model::Watchpoint>();
  }
  jobs::Task<model::SelectionPreview> PreviewWatchpoint(
      model::WatchpointSpec spec) override {
    return run_->OnStrand<absl::StatusOr<model::SelectionPreview>>(
        [spec = std::move(spec)](RunSource& source) {
          return watch::WatchTable(source.graph())
              .Preview(spec, /*on_accelerator=*/false);
        });
  }
  jobs::Task<model::Watchpoint> ChangeWatchpoint(
      uint32_t, model::WatchpointChange) override {
    return Refused<model::Watchpoint>();
  }
  jobs::StatusTask RemoveWatchpoint(uint32_t) override {
    return RefusedStatus();
  }
  jobs::Task<model::RecommendedSet> AddRecommended() override {
    return Refused<model::RecommendedSet>();
  }

  jobs::Task<model::HitPage> Hits(model::HitQuery query) override {
    return run_->OnStrand<absl::StatusOr<model::HitPage>>(
        [query = std::move(query)](RunSource& source) {
          if (!query.incident) return source.hits().Query(query);
          const diagnosis::Incidents incidents = IncidentsOf(source);
          return source.hits().Query(query, [&incidents](uint64_t id) {
            return incidents.IncidentOf(id);
          });
        });
  }
  jobs::Task<std::vector<model::Hit>> NewestHits(uint32_t limit) override {
    return run_->OnStrand<absl::StatusOr<std::vector<model::Hit>>>(
        [limit](RunSource& source) { return source.hits().Newest(limit); });
  }

  jobs::Task<model::Diagnosis> Diagnose(uint64_t hit) override {
    return run_->OnStrand<absl::StatusOr<model::Diagnosis>>(
        [hit](RunSource& source) -> absl::StatusOr<model::Diagnosis> {
          ASSIGN_OR_RETURN(const model::Hit found, source.hits().Get(hit));
          return diagnosis::Diagnose(diagnosis::FactsOf(source.graph(), found));
        });
  }
  jobs::Task<model::IncidentPage> Incidents(uint32_t limit) override {
    return run_->OnStrand<absl::StatusOr<model::IncidentPage>>(
        [limit](RunSource& source) {
          return IncidentsOf(source).Page(
              source.graph(), source.hits(), [](model::Hit&) {}, limit);
        });
  }

  jobs::Task<std::vector<model::TensorSummary>> Tensors(
      std::string node, uint32_t rank) override {
    return run_->OnStrand<absl::StatusOr<std::vector<model::TensorSummary>>>(
        [node = std::move(node), rank, step = step_](RunSource& source) {
          return source.Tensors(node, rank, step);
        });
  }
  jobs::Task<model::TensorValue> Tensor(model::TensorQuery query) override {
    return run_->OnStrand<absl::StatusOr<model::TensorValue>>(
        [query = std::move(query), step = step_](RunSource& source) {
          return source.Tensor(query, step);
        });
  }
  jobs::Task<model::TensorHistory> History(std::string node, uint32_t slot,
                                           uint32_t rank) override {
    model::RunHistoryQuery query;
    query.node = std::move(node);
    query.slot = slot;
    query.rank = rank;
    query.points = UINT32_MAX;
    CO_ASSIGN_OR_RETURN(model::RunHistory history,
                        co_await run_->History(std::move(query)));
    co_return model::TensorHistory{std::move(history.tensor),
                                   std::move(history.points)};
  }
  jobs::Task<std::string> StepStatistics(uint32_t rank) override {
    model::StatisticsQuery query;
    query.step = step_;
    query.rank = rank;
    return run_->Statistics(std::move(query));
  }
  jobs::Task<model::OverviewSummary> Overview(
      model::OverviewQuery query) override {
    using Result = absl::StatusOr<model::OverviewSummary>;
    return run_->OnStrand<Result>([query](RunSource& source) -> Result {
      ASSIGN_OR_RETURN(const jobs::OverviewTable* const table,
                       source.Overview(query.rank));
      model::OverviewSummary summary = table->Summary(query.after);
      summary.rank = query.rank;
      for (const model::Rank& rank : source.Describe().job.ranks) {
        summary.ranks.push_back(rank.rank);
      }
      return summary;
    });
  }
  jobs::Task<model::OverviewMatrix> OverviewValues(
      model::OverviewQuery query, model::OverviewMeasure measure) override {
    using Result = absl::StatusOr<model::OverviewMatrix>;
    return run_->OnStrand<Result>(
        [query, measure](RunSource& source) -> Result {
          ASSIGN_OR_RETURN(const jobs::OverviewTable* const table,
                           source.Overview(query.rank));
          return table->Matrix(measure, query.after);
        });
  }
  jobs::Task<std::vector<model::OverviewPoint>> OverviewOf(
      uint32_t rank, std::string module) override {
    using Result = absl::StatusOr<std::vector<model::OverviewPoint>>;
    return run_->OnStrand<Result>(
        [rank, module = std::move(module)](RunSource& source) -> Result {
          ASSIGN_OR_RETURN(const jobs::OverviewTable* const table,
                           source.Overview(rank));
          return table->PointsOf(module, rank);
        });
  }
  jobs::Task<model::OverviewOps> OverviewOpsOf(
      uint32_t rank, std::optional<uint64_t> step) override {
    using Result = absl::StatusOr<model::OverviewOps>;
    return run_->OnStrand<Result>([rank, step](RunSource& source) -> Result {
      ASSIGN_OR_RETURN(const jobs::OpTimeTable* const table,
                       source.OpTimes(rank));
      return table->OpsOf(step, source.graph());
    });
  }
  jobs::StatusTask CatchTensors(std::string, uint32_t, std::string) override {
    return RefusedStatus();
  }
  jobs::Task<model::JobRecording> GetRecording() override {
    return Refused<model::JobRecording>();
  }
  jobs::Task<model::JobRecording> SetRecording(model::RecordingSpec) override {
    return Refused<model::JobRecording>();
  }
  jobs::StatusTask KeepRules(model::KeptRules) override {
    return RefusedStatus();
  }
  jobs::Task<model::KeptRules> Rules() override {
    return Refused<model::KeptRules>();
  }
  jobs::StatusTask PublishFinding(model::Finding) override {
    return RefusedStatus();
  }
  jobs::StatusTask PublishLog(uint32_t, std::string, std::string) override {
    return RefusedStatus();
  }

 private:
  static graph::GraphView ViewOf(RunSource& source) {
    return {source.graph(), source.annotations()};
  }

  const std::shared_ptr<OpenedRun> run_;
  const std::optional<uint64_t> step_;
};

OpenedRun::OpenedRun(std::string id, std::string path,
                     std::unique_ptr<RunSource> source,
                     boost::asio::any_io_executor executor,
                     boost::asio::any_io_executor check_executor,
                     std::shared_ptr<const std::atomic<bool>> stopped)
    : id_(std::move(id)),
      path_(std::move(path)),
      check_executor_(std::move(check_executor)),
      stopped_(std::move(stopped)),
      strand_(std::move(executor)),
      source_(std::move(source)) {}

OpenedRun::~OpenedRun() {
  for (const auto& [id, check] : checks_) check->Cancel();
}

template <class R, class Work>
boost::asio::awaitable<R> OpenedRun::OnStrand(Work work) {
  return jobs::CallOn<R>(
      strand_,
      [self = shared_from_this(), work = std::move(work)]() mutable -> R {
        self->RefreshNowAndThen();
        return work(*self->source_);
      });
}

void OpenedRun::RefreshNowAndThen() {
  const auto now = steady_clock::now();
  const auto interval = source_->alive() ? kFollowInterval : kEndedInterval;
  if (!refreshed_ || now - *refreshed_ >= interval) Refresh();
}

void OpenedRun::Refresh() {
  source_->Refresh();
  refreshed_ = steady_clock::now();
}

jobs::Task<model::Run> OpenedRun::Describe(bool whole) {
  return OnStrand<absl::StatusOr<model::Run>>([whole](RunSource& source) {
    if (!whole) return source.Describe();
    source.hits();
    std::vector<model::LastOp> last_ops = source.LastOps();
    std::vector<model::UserChange> user_changes = source.UserChanges();
    model::Run run = source.Describe();
    run.last_ops = std::move(last_ops);
    run.user_changes = std::move(user_changes);
    return run;
  });
}

std::shared_ptr<jobs::Job> OpenedRun::At(std::optional<uint64_t> step) {
  return std::make_shared<View>(shared_from_this(), step);
}

jobs::Task<model::StepPage> OpenedRun::Steps(model::StepQuery query) {
  return OnStrand<absl::StatusOr<model::StepPage>>(
      [query = std::move(query)](RunSource& source) {
        return source.Steps(query);
      });
}

jobs::Task<std::vector<model::Collection>> OpenedRun::Collections() {
  return OnStrand<absl::StatusOr<std::vector<model::Collection>>>(
      [](RunSource& source) { return source.Collections(); });
}

jobs::Task<std::string> OpenedRun::Statistics(model::StatisticsQuery query) {
  return OnStrand<absl::StatusOr<std::string>>(
      [query = std::move(query)](RunSource& source) {
        return source.Statistics(query);
      });
}

jobs::Task<model::RunHistory> OpenedRun::History(model::RunHistoryQuery query) {
  return OnStrand<absl::StatusOr<model::RunHistory>>(
      [query = std::move(query)](RunSource& source) {
        return source.History(query);
      });
}

jobs::Task<ComparedRank> OpenedRun::CopyRank(uint32_t rank) {
  return OnStrand<absl::StatusOr<ComparedRank>>(
      [rank](RunSource& source) { return source.CopyForComparison(rank); });
}

jobs::Task<ComparedRank> OpenedRun::CopyRankOf(std::shared_ptr<RecordedRun> run,
                                               uint32_t rank) {
  const auto opened = std::dynamic_pointer_cast<OpenedRun>(run);
  if (opened == nullptr) {
    co_return Error(absl::StatusCode::kUnimplemented, "not_comparable",
                    absl::StrCat("run '", run->id(),
                                 "' is of another kind than run '", id_, "'"));
  }
  co_return co_await opened->CopyRank(rank);
}

jobs::Task<model::Divergence> OpenedRun::Compare(
    std::shared_ptr<RecordedRun> other,
    std::shared_ptr<RecordedRun> calibration, model::DivergenceQuery query) {
  CO_ASSIGN_OR_RETURN(ComparedRank here, co_await CopyRank(query.rank));
  CO_ASSIGN_OR_RETURN(ComparedRank there,
                      co_await CopyRankOf(other, query.other_rank));
  std::shared_ptr<ComparedRank> equal;
  if (calibration != nullptr) {
    CO_ASSIGN_OR_RETURN(ComparedRank copy,
                        co_await CopyRankOf(calibration, query.rank));
    equal = std::make_shared<ComparedRank>(std::move(copy));
  }
  // Named, because GCC 12 destroys what a lambda in a co_await has captured
  // twice.
  auto compare = [here = std::make_shared<ComparedRank>(std::move(here)),
                  there = std::make_shared<ComparedRank>(std::move(there)),
                  equal = std::move(equal), query = std::move(query),
                  stopped = stopped_] {
    return FindDivergence(*here, *there, equal.get(), query, *stopped);
  };
  auto result = jobs::CallOn<absl::StatusOr<model::Divergence>>(
      check_executor_, std::move(compare));
  co_return co_await std::move(result);
}

jobs::Task<std::string> OpenedRun::StartCheck(model::CheckSpec spec) {
  return OnStrand<absl::StatusOr<std::string>>(
      [this, spec = std::move(spec)](
          RunSource& source) -> absl::StatusOr<std::string> {
        if (checks_.size() >= kMaxChecks) {
          return Error(absl::StatusCode::kResourceExhausted, "too_many_checks",
                       absl::StrCat("run '", id_, "' has ", checks_.size(),
                                    " checks; delete one first"));
        }
        std::shared_ptr<BackgroundCheck> check;
        if (spec.rules.empty()) {
          ASSIGN_OR_RETURN(check, source.PrepareCheck(spec));
        } else {
          ASSIGN_OR_RETURN(check, source.PrepareRules(spec));
        }
        check->Start(check_executor_);
        const std::string id = absl::StrCat(++last_check_);
        checks_.emplace(id, std::move(check));
        return id;
      });
}

absl::StatusOr<std::shared_ptr<BackgroundCheck>> OpenedRun::FindCheck(
    const std::string& id) const {
  const auto found = checks_.find(id);
  if (found != checks_.end()) return found->second;
  return Error(absl::StatusCode::kNotFound, "unknown_check",
               absl::StrCat("run '", id_, "' has no check '", id, "'"));
}

jobs::Task<model::CheckReport> OpenedRun::GetCheck(std::string id) {
  return OnStrand<absl::StatusOr<model::CheckReport>>(
      [this,
       id = std::move(id)](RunSource&) -> absl::StatusOr<model::CheckReport> {
        ASSIGN_OR_RETURN(const auto check, FindCheck(id));
        return check->Report();
      });
}

jobs::StatusTask OpenedRun::EndCheck(std::string id) {
  return OnStrand<absl::Status>(
      [this, id = std::move(id)](RunSource&) -> absl::Status {
        ASSIGN_OR_RETURN(const auto check, FindCheck(id));
        check->Cancel();
        checks_.erase(id);
        return absl::OkStatus();
      });
}

jobs::Task<std::shared_ptr<jobs::FollowedRules>> OpenedRun::Follow(
    std::vector<model::RuleSpec> rules, jobs::FindingSink found) {
  using Result = absl::StatusOr<std::shared_ptr<jobs::FollowedRules>>;
  return OnStrand<Result>([this, rules = std::move(rules),
                           found = std::move(found)](
                              RunSource& source) mutable -> Result {
    ASSIGN_OR_RETURN(auto follower,
                     RuleFollower::Compile(std::move(rules), std::move(found)));
    // Whether the run has ended is judged by its present state.
    Refresh();
    // Selections are checked, too.
    ASSIGN_OR_RETURN(NewSteps steps, follower->Take(source));
    boost::asio::co_spawn(
        strand_, Feed(follower, std::make_shared<NewSteps>(std::move(steps))),
        boost::asio::detached);
    return std::make_shared<RuleHandle>(std::move(follower));
  });
}

boost::asio::awaitable<void> OpenedRun::Feed(
    std::shared_ptr<RuleFollower> rules, std::shared_ptr<NewSteps> steps) {
  const auto self = shared_from_this();
  boost::asio::steady_timer timer(strand_);
  while (!rules->cancelled() && !*stopped_) {
    const bool idle = steps->ranks.empty();
    rules->SetDone(idle && !source_->alive());
    if (idle) {
      timer.expires_after(kRulesInterval);
      co_await timer.async_wait(boost::asio::use_awaitable);
    } else {
      auto evaluate = [rules, steps] {
        rules->Evaluate(*steps);
        return true;
      };
      auto evaluated = jobs::CallOn<bool>(check_executor_, std::move(evaluate));
      co_await std::move(evaluated);
    }
    Refresh();
    auto next = rules->Take(*source_);
    if (!next.ok()) {
      rules->Fail(next.status());
      co_return;
    }
    *steps = *std::move(next);
  }
}

jobs::Task<std::string> OpenedRun::Findings() {
  return OnStrand<absl::StatusOr<std::string>>(
      [](RunSource& source) -> absl::StatusOr<std::string> {
        return source.ReadFindings();
      });
}

absl::StatusOr<std::shared_ptr<const model::GraphFile>> OpenedRun::GraphIndex(
    const std::string& graph) {
  const graph::GraphStore& store = source_->graph();
  IndexFile& kept = index_files_[graph];
  if (kept.file != nullptr && kept.version == store.version()) {
    return kept.file;
  }
  const graph::Graph* const found = store.FindGraph(graph);
  if (found == nullptr && !graph.empty() && graph != graph::kMainGraph) {
    index_files_.erase(graph);
    return store.FindScope(graph, "").status();
  }
  const std::string packed = found == nullptr ? graph::PackEmptyGraph()
                                              : graph::PackGraph(store, *found);
  auto file = std::make_shared<model::GraphFile>();
  // A browser may have the graph of a run that had this name before.
  file->version = absl::StrCat(
      "run-", absl::Hex(source_->Describe().job.created_at_unix_nano), "-",
      store.version(), "-", packed.size());
  file->bytes = packed.size();
  file->gzip = Gzip(packed);
  kept = {store.version(), std::move(file)};
  return kept.file;
}

}  // namespace graphdbg::recorded
