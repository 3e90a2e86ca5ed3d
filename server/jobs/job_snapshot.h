// The last known state of a job.
#ifndef SERVER_JOBS_JOB_SNAPSHOT_H_
#define SERVER_JOBS_JOB_SNAPSHOT_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Written on the job's strand and read on any thread, so that a list of all
// jobs does not wait for one whose strand is busy.
class JobSnapshot {
 public:
  void Set(model::Job job) ABSL_LOCKS_EXCLUDED(mu_) {
    auto next = std::make_shared<const model::Job>(std::move(job));
    absl::MutexLock lock(&mu_);
    job_.swap(next);
  }

  // Not null.
  std::shared_ptr<const model::Job> Get() const ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return job_;
  }

 private:
  mutable absl::Mutex mu_;
  std::shared_ptr<const model::Job> job_ ABSL_GUARDED_BY(mu_) =
      std::make_shared<const model::Job>();
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_SNAPSHOT_H_
