// All jobs of a server. Both kinds of fronts start here: those for people
// (Directory, in interfaces.h) and those for agents (AgentEntrance).
//
//   boost::asio::io_context io;                     // run by some threads
//   auto jobs = session::MakeDirectory(io.get_executor());
//   ingest::IngestServer agents(jobs, {...});       // agents come in
//   http front(jobs, ...);                          // people look and steer
//
// At the end: stop the fronts, stop the io_context's threads, drop the
// directory, destroy the io_context.
#ifndef SERVER_SESSION_DIRECTORY_H_
#define SERVER_SESSION_DIRECTORY_H_

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "server/session/agent_port.h"
#include "server/session/interfaces.h"

namespace graphdbg::session {

class SessionDirectory : public Directory, public AgentEntrance {};

struct SessionOptions {
  // One line for each change of a job's or rank's state. Called on any thread;
  // empty: no log.
  std::function<void(std::string_view line)> log;
  // Unix time in nanoseconds; empty: the system's clock.
  std::function<int64_t()> now_unix_nano;

  std::chrono::milliseconds tensor_deadline{30'000};
  // Of one answer, and of all answers under way of one job.
  uint64_t max_tensor_bytes = uint64_t{256} << 20;
  uint64_t max_pending_tensor_bytes = uint64_t{1} << 30;

  // Above this the job that ended first is forgotten; if all are alive, new
  // ones are refused.
  size_t max_jobs = 1'000;
};

// `executor` belongs to an execution context that outlives the directory and
// all jobs taken from it.
std::shared_ptr<SessionDirectory> MakeDirectory(
    boost::asio::any_io_executor executor, SessionOptions options = {});

}  // namespace graphdbg::session

#endif  // SERVER_SESSION_DIRECTORY_H_
