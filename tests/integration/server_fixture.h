// A server without HTTP: real jobs behind the port for agent connections.
#ifndef TESTS_INTEGRATION_SERVER_FIXTURE_H_
#define TESTS_INTEGRATION_SERVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/ingest/ingest_server.h"
#include "server/jobs/directory.h"
#include "server/mindspore/mindspore_frontend.h"
#include "tests/integration/scripted_agent.h"

namespace graphdbg::integration {

class ServerFixture : public testing::Test {
 protected:
  ServerFixture();
  ~ServerFixture() override;

  // Starts the server.
  void Start(jobs::JobOptions job_options = {},
             ingest::IngestOptions agents = {},
             mindspore::FrontendOptions mindspore = {});

  // Stops the server as if it had been killed. It can be started again, on
  // another port. Discards the events so far.
  void Stop();

  uint16_t port() const { return port_; }
  jobs::JobDirectory& directory() { return *directory_; }
  std::shared_ptr<jobs::JobDirectory> shared_directory() { return directory_; }

  // Runs a coroutine of a job to completion.
  template <class T>
  T Await(boost::asio::awaitable<T> task) {
    return boost::asio::co_spawn(io_, std::move(task), boost::asio::use_future)
        .get();
  }
  // Starts a coroutine without waiting for it.
  template <class T>
  std::future<T> Begin(boost::asio::awaitable<T> task) {
    return boost::asio::co_spawn(io_, std::move(task), boost::asio::use_future);
  }

  using Test = std::function<bool(const model::Event&)>;
  // Waits for the first event from number `from` on, counted over all jobs,
  // that passes. Fails the test after 30 s.
  model::Event WaitFor(const Test& test, size_t from = 0);
  // Waits for the first event in which the job has this state.
  model::Event WaitForState(const std::string& job, model::JobState state,
                            size_t from = 0);
  std::vector<model::Event> Events();
  // Waits for the event with the result of a command.
  model::Event WaitForEnd(const std::string& command_id) {
    return WaitFor([&](const model::Event& event) {
      return event.type == model::Event::Type::kState &&
             event.command_id == command_id;
    });
  }

  absl::StatusOr<std::string> Control(jobs::Job& job, model::ControlVerb verb,
                                      std::string node = "",
                                      uint64_t steps = 1) {
    model::ControlRequest request;
    request.verb = verb;
    request.node = std::move(node);
    request.steps = steps;
    return Await(job.Control(request));
  }

  // Starts a job that has the small graph and waits before its first step.
  std::shared_ptr<jobs::Job> StartJob(ScriptedAgent& agent,
                                      const v1::Hello& hello);

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work_{io_.get_executor()};
  std::vector<std::thread> threads_;
  std::shared_ptr<jobs::Journal> journal_;
  std::shared_ptr<jobs::JobDirectory> directory_;
  std::shared_ptr<void> subscription_;
  std::unique_ptr<mindspore::MindSporeFrontend> mindspore_;
  std::unique_ptr<ingest::IngestServer> server_;
  uint16_t port_ = 0;

  absl::Mutex mu_;
  std::vector<std::shared_ptr<const model::Event>> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_SERVER_FIXTURE_H_
