// All jobs of a server, for frontends that serve users (Directory, in
// interfaces.h) and for protocols that agents speak (AgentAcceptor).
//
//   boost::asio::io_context io;                     // run by some threads
//   auto jobs = jobs::MakeDirectory(io.get_executor());
//   ingest::IngestServer agents(jobs, {...});       // accepts agents
//   api::Dispatcher users(jobs, ...);               // serves users
//
// Shut down in this order: stop the frontends, stop the threads of the
// io_context, release the directory, destroy the io_context.
#ifndef SERVER_JOBS_DIRECTORY_H_
#define SERVER_JOBS_DIRECTORY_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/journal.h"

namespace graphdbg::jobs {

// The directory as the server's main program sees it.
class JobDirectory : public Directory, public AgentAcceptor {
 public:
  // Restores the jobs of the journal and publishes a job event for each. Jobs
  // that cannot be restored completely are set aside: they have ended and can
  // be read and removed. Must be called once, before any other method except
  // Subscribe. Errors as Journal::Load.
  virtual absl::Status Restore() = 0;
  // Whether the server can store what happens, and the jobs that were set
  // aside. When it begins or ceases to fail, a server event is published. Any
  // thread.
  virtual model::Storage storage() const = 0;
  // Forgets the oldest ended job if a limit on memory or disk space is
  // exceeded, or else one that ended too long ago. Live jobs are never
  // forgotten. To be called periodically, on any thread.
  virtual void Trim() = 0;
};

struct JobOptions {
  // Receives one line for each change of the state of a job or rank. Called on
  // any thread. If empty, nothing is logged.
  std::function<void(std::string_view line)> log;
  // Unix time in nanoseconds. If empty, the system clock is used.
  std::function<int64_t()> now_unix_nano;

  // Carries out actions of a watchpoint because of a hit. Called on the job's
  // strand. If empty, nothing is done.
  std::function<void(std::shared_ptr<Job>, const std::vector<model::Action>&,
                     const model::Hit&)>
      on_hit;

  // Null if jobs are not recorded.
  std::shared_ptr<Journal> journal;
  // How long the server waits, after a restart, for the ranks of a job that was
  // alive.
  std::chrono::milliseconds return_deadline{30'000};

  // How long the ranks of a job may take to reach a common step before they are
  // terminated.
  std::chrono::milliseconds end_deadline{10'000};

  // How long the control of a job lasts after the holder's last command.
  std::chrono::milliseconds control_lease{300'000};

  // How long an agent may take to answer a tensor request.
  std::chrono::milliseconds tensor_deadline{30'000};
  // Limits for the bytes of one answer, and of all pending answers of a job.
  uint64_t max_tensor_bytes = uint64_t{256} << 20;
  uint64_t max_pending_tensor_bytes = uint64_t{1} << 30;

  // Above this number the oldest ended job is forgotten. If all are alive, new
  // jobs are refused.
  size_t max_jobs = 1'000;
  // Jobs that ended longer ago than this are forgotten. Zero: never.
  std::chrono::seconds max_age{0};
  // Approximate limit for the graphs, hits and statistics of all jobs. Close to
  // it ended jobs are forgotten as long as there are any.
  uint64_t max_memory_bytes = uint64_t{4} << 30;
  // The budget of the whole server, which also limits live jobs. If null, the
  // jobs have a budget of their own.
  std::shared_ptr<MemoryBudget> memory;
};

// The execution context of `executor` must outlive the directory and all jobs
// that were obtained from it.
std::shared_ptr<JobDirectory> MakeDirectory(
    boost::asio::any_io_executor executor, JobOptions options = {});

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_DIRECTORY_H_
