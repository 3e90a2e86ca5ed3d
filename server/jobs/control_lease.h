// Who controls a job.
#ifndef SERVER_JOBS_CONTROL_LEASE_H_
#define SERVER_JOBS_CONTROL_LEASE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/base/task_runner.h"
#include "server/model/job.h"

namespace graphdbg::jobs {

// Keeps two people from controlling a job against each other without noticing.
// The lease belongs to a name, not to a connection, so a person's tabs and
// scripts share it. The first command takes it; it lapses some time after the
// holder's last command. On the job's strand only.
class ControlLease {
 public:
  // `on_change` is called when the holder has changed.
  ControlLease(TaskRunner& runner, std::chrono::milliseconds lifetime,
               std::function<void()> on_change);

  // FAILED_PRECONDITION "not_controller", naming the holder, if another user
  // holds the lease. Commands without a name are the server's own and always
  // allowed.
  absl::Status Check(const std::string& name) const;
  // A command of `name` was accepted: takes or extends the lease.
  void Use(const std::string& name);
  // Takes the lease from its holder.
  void TakeOver(const std::string& name);
  // Gives the lease back; errors as Check(). Succeeds if nobody holds it.
  absl::Status Release(const std::string& name);

  const std::optional<model::Controller>& holder() const { return holder_; }

 private:
  void Set(std::optional<model::Controller> holder);
  // Lets the lease lapse after its lifetime from now.
  void Extend();

  TaskRunner& runner_;
  const std::chrono::milliseconds lifetime_;
  const std::function<void()> on_change_;
  std::optional<model::Controller> holder_;
  // Destroying it cancels the timer.
  std::shared_ptr<void> timer_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_CONTROL_LEASE_H_
