// A recorded run as frontends see it: moves every call to the run's strand.
#ifndef SERVER_RUNS_OPENED_RUN_H_
#define SERVER_RUNS_OPENED_RUN_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/jobs/runs.h"
#include "server/runs/background_check.h"
#include "server/runs/rule_follower.h"
#include "server/runs/run_source.h"

namespace graphdbg::recorded {

class OpenedRun final : public jobs::RecordedRun,
                        public std::enable_shared_from_this<OpenedRun> {
 public:
  // More checks of a run are refused until one has been ended.
  static constexpr size_t kMaxChecks = 20;

  // Requests run on `executor`, checks and comparisons on `check_executor`.
  // Comparisons end once `stopped` is true.
  OpenedRun(std::string id, std::string path, std::unique_ptr<RunSource> source,
            boost::asio::any_io_executor executor,
            boost::asio::any_io_executor check_executor,
            std::shared_ptr<const std::atomic<bool>> stopped);
  ~OpenedRun() override;

  const std::string& id() const override { return id_; }
  const std::string& path() const override { return path_; }
  jobs::Task<model::Run> Describe(bool whole) override;
  std::shared_ptr<jobs::Job> At(std::optional<uint64_t> step) override;
  jobs::Task<model::StepPage> Steps(model::StepQuery query) override;
  jobs::Task<std::vector<model::Collection>> Collections() override;
  jobs::Task<std::string> Statistics(model::StatisticsQuery query) override;
  jobs::Task<model::RunHistory> History(model::RunHistoryQuery query) override;
  jobs::Task<model::Divergence> Compare(
      std::shared_ptr<RecordedRun> other,
      std::shared_ptr<RecordedRun> calibration,
      model::DivergenceQuery query) override;
  jobs::Task<std::string> StartCheck(model::CheckSpec spec) override;
  jobs::Task<model::CheckReport> GetCheck(std::string id) override;
  jobs::StatusTask EndCheck(std::string id) override;
  jobs::Task<std::shared_ptr<jobs::FollowedRules>> Follow(
      std::vector<model::RuleSpec> rules, jobs::FindingSink found) override;
  jobs::Task<std::string> Findings() override;

 private:
  class View;

  // Runs `work(source)` on the strand, after a look for what was written
  // since, and returns its result to the caller.
  template <class R, class Work>
  boost::asio::awaitable<R> OnStrand(Work work);
  // On the strand.
  void RefreshNowAndThen();
  void Refresh();
  absl::StatusOr<std::shared_ptr<const model::GraphFile>> GraphIndex(
      const std::string& graph);
  absl::StatusOr<std::shared_ptr<BackgroundCheck>> FindCheck(
      const std::string& id) const;
  jobs::Task<ComparedRank> CopyRank(uint32_t rank);
  // Of another run, which must be of the same kind.
  jobs::Task<ComparedRank> CopyRankOf(std::shared_ptr<RecordedRun> run,
                                      uint32_t rank);
  // Evaluates these steps and those that follow, until the rules are not
  // followed any more. On the strand.
  boost::asio::awaitable<void> Feed(std::shared_ptr<RuleFollower> rules,
                                    std::shared_ptr<NewSteps> steps);

  const std::string id_;
  const std::string path_;
  const boost::asio::any_io_executor check_executor_;
  const std::shared_ptr<const std::atomic<bool>> stopped_;
  const boost::asio::strand<boost::asio::any_io_executor> strand_;

  // On the strand only.
  const std::unique_ptr<RunSource> source_;
  std::optional<std::chrono::steady_clock::time_point> refreshed_;
  // The newest file of each graph, and the version of the graph.
  struct IndexFile {
    uint64_t version = 0;
    std::shared_ptr<const model::GraphFile> file;
  };
  std::map<std::string, IndexFile> index_files_;
  std::map<std::string, std::shared_ptr<BackgroundCheck>> checks_;
  uint64_t last_check_ = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_OPENED_RUN_H_
