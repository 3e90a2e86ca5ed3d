// All jobs of a server. Both kinds of fronts start here: those for people
// (Directory, in interfaces.h) and those for agents (AgentEntrance).
//
//   boost::asio::io_context io;                     // run by some threads
//   auto jobs = jobs::MakeDirectory(io.get_executor());
//   ingest::IngestServer agents(jobs, {...});       // agents come in
//   http front(jobs, ...);                          // people look and steer
//
// At the end: stop the fronts, stop the io_context's threads, drop the
// directory, destroy the io_context.
#ifndef SERVER_JOBS_DIRECTORY_H_
#define SERVER_JOBS_DIRECTORY_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "server/jobs/agent_port.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/journal.h"

namespace graphdbg::jobs {

class JobDirectory : public Directory, public AgentEntrance {
 public:
  // Brings back the jobs of the journal; subscribers get a job's event for
  // each. Once, before anything else is asked of the directory. Errors as
  // Journal::Load.
  virtual absl::Status Restore() = 0;
  // Forgets the oldest ended job if the limits do not hold; those that are
  // alive stay, whatever they take. To be called now and then, on any thread.
  virtual void Trim() = 0;
};

struct JobOptions {
  // One line for each change of a job's or rank's state. Called on any thread;
  // empty: no log.
  std::function<void(std::string_view line)> log;
  // Unix time in nanoseconds; empty: the system's clock.
  std::function<int64_t()> now_unix_nano;

  // Null: nothing outlives the server.
  std::shared_ptr<Journal> journal;
  // How long a job that was alive when the server ended is waited for.
  std::chrono::milliseconds return_deadline{30'000};

  // How long ranks that are to end together may take to stop together.
  std::chrono::milliseconds end_deadline{10'000};

  std::chrono::milliseconds tensor_deadline{30'000};
  // Of one answer, and of all answers under way of one job.
  uint64_t max_tensor_bytes = uint64_t{256} << 20;
  uint64_t max_pending_tensor_bytes = uint64_t{1} << 30;

  // Above this the ended job that came first is forgotten; if all are alive,
  // new ones are refused.
  size_t max_jobs = 1'000;
  // Of graphs and hits of all jobs, about. Above this ended jobs are forgotten
  // as long as there are any.
  uint64_t max_memory_bytes = uint64_t{4} << 30;
};

// `executor` belongs to an execution context that outlives the directory and
// all jobs taken from it.
std::shared_ptr<JobDirectory> MakeDirectory(
    boost::asio::any_io_executor executor, JobOptions options = {});

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_DIRECTORY_H_
