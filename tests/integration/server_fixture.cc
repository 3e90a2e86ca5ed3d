#include "tests/integration/server_fixture.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/patience.h"

namespace graphdbg::integration {

ServerFixture::ServerFixture() {
  for (int i = 0; i < 2; ++i) {
    threads_.emplace_back([this] { io_.run(); });
  }
}

ServerFixture::~ServerFixture() {
  Stop();
  work_.reset();
  for (std::thread& thread : threads_) thread.join();
}

void ServerFixture::Stop() {
  // Closed first, so that the state changes caused by closing the streams are
  // not recorded.
  if (journal_) journal_->Close();
  server_.reset();
  mindspore_.reset();
  subscription_.reset();
  directory_.reset();
  absl::MutexLock lock(&mu_);
  events_.clear();
}

void ServerFixture::Start(jobs::JobOptions job_options,
                          ingest::IngestOptions agents,
                          mindspore::FrontendOptions mindspore) {
  journal_ = job_options.journal;
  directory_ = jobs::MakeDirectory(io_.get_executor(), std::move(job_options));
  subscription_ = directory_->Subscribe(
      [this](const std::shared_ptr<const model::Event>& event) {
        absl::MutexLock lock(&mu_);
        events_.push_back(event);
      });
  const absl::Status restored = directory_->Restore();
  ASSERT_TRUE(restored.ok()) << restored;
  mindspore_ = std::make_unique<mindspore::MindSporeFrontend>(
      directory_, std::move(mindspore));
  agents.other_wires = {mindspore_->service()};
  agents.server_version = "0.1.0-test";
  server_ =
      std::make_unique<ingest::IngestServer>(directory_, std::move(agents));
  auto port = server_->Start("127.0.0.1", 0);
  ASSERT_TRUE(port.ok()) << port.status();
  port_ = *port;
}

model::Event ServerFixture::WaitFor(const Test& test, size_t from) {
  const absl::Time deadline = absl::Now() + absl::FromChrono(kPatience);
  absl::MutexLock lock(&mu_);
  for (size_t i = from;; ++i) {
    const auto arrived = [this, i]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return events_.size() > i;
    };
    if (!mu_.AwaitWithDeadline(absl::Condition(&arrived), deadline)) {
      ADD_FAILURE() << "timed out waiting for an event after " << events_.size()
                    << " others";
      return {};
    }
    if (test(*events_[i])) return *events_[i];
  }
}

model::Event ServerFixture::WaitForState(const std::string& job,
                                         model::JobState state, size_t from) {
  return WaitFor(
      [&](const model::Event& event) {
        return event.job == job && event.job_info &&
               event.job_info->state == state;
      },
      from);
}

std::vector<model::Event> ServerFixture::Events() {
  absl::MutexLock lock(&mu_);
  std::vector<model::Event> events;
  for (const auto& event : events_) events.push_back(*event);
  return events;
}

std::shared_ptr<jobs::Job> ServerFixture::StartJob(ScriptedAgent& agent,
                                                   const v1::Hello& hello) {
  const size_t from = Events().size();
  const std::string id = agent.Join(hello).job();
  EXPECT_TRUE(agent.SendGraph(SmallGraph()));
  EXPECT_TRUE(agent.SendPaused(v1::PAUSE_REASON_START, 0));
  WaitForState(id, model::JobState::kPaused, from);
  return directory_->Find(id);
}

}  // namespace graphdbg::integration
