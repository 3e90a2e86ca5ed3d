// A check of a recorded run, which runs in the background.
#ifndef SERVER_RUNS_BACKGROUND_CHECK_H_
#define SERVER_RUNS_BACKGROUND_CHECK_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/model/run.h"

namespace graphdbg::recorded {

// Thread-safe. Owned by the callers that await its report, and by its tasks.
class BackgroundCheck : public std::enable_shared_from_this<BackgroundCheck> {
 public:
  virtual ~BackgroundCheck() = default;

  // Runs each task on its own.
  void Start(boost::asio::any_io_executor executor);
  // Returns soon; the tasks end after the step that they are at.
  void Cancel() { cancelled_ = true; }
  virtual model::CheckReport Report() const = 0;

  // --- For tasks ------------------------------------------------------------
  bool cancelled() const { return cancelled_; }
  void StepDone() { ++done_; }
  // Ends the check with the first such error, as if it had been cancelled.
  void Fail(std::string error) ABSL_LOCKS_EXCLUDED(error_mu_);

 protected:
  // Adds a part of the check, which runs on one thread. It calls StepDone for
  // each of its steps, and ends when the check has been cancelled. Called
  // before Start.
  void Add(uint64_t steps, std::function<void()> task);
  // State and progress. Called before what was found is copied: what is added
  // afterwards belongs to a later report.
  model::CheckReport Progress() const ABSL_LOCKS_EXCLUDED(error_mu_);

 private:
  std::vector<std::function<void()>> tasks_;
  uint64_t total_ = 0;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> done_{0};
  std::atomic<size_t> running_{0};

  mutable absl::Mutex error_mu_;
  std::string error_ ABSL_GUARDED_BY(error_mu_);
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_BACKGROUND_CHECK_H_
