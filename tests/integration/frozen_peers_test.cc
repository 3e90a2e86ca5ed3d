// Servers and jobs that are stopped (SIGSTOP): their connections stay open, and
// nothing is sent on them any more.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/integration/job_process.h"
#include "tests/integration/real_server.h"

namespace graphdbg::integration {
namespace {

using Json = RealServer::Json;

constexpr char kJob[] = "/api/v1/jobs/toy";

bool IsInState(const Json& job, const std::string& state) {
  return job.value("state", "") == state;
}

class FrozenPeersTest : public testing::Test {
 protected:
  FrozenPeersTest()
      : server_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
  }

  Json WaitForState(const std::string& state) {
    return server_.GetUntil(
        kJob, [&](const Json& job) { return IsInState(job, state); });
  }

  RealServer server_;
};

TEST_F(FrozenPeersTest, APausedJobGoesOnByItsOwnSetting) {
  JobProcess job(server_.debugger_port(), {{"GRAPHDBG_GRACE", "0.1"}});
  WaitForState("paused");
  server_.Signal(SIGSTOP);
  // It waits for Continue, which cannot come.
  EXPECT_EQ(job.Finish(), 0);
  const std::string errors = job.Errors();
  const size_t lost = errors.find("lost the connection to the server");
  const size_t resumed = errors.find("the program continues\n");
  EXPECT_NE(lost, std::string::npos) << errors;
  EXPECT_NE(resumed, std::string::npos) << errors;
  EXPECT_LT(lost, resumed);
  server_.Signal(SIGCONT);
  WaitForState("lost");
}

TEST_F(FrozenPeersTest, APausedJobEndsIfItsOwnerWantsThat) {
  JobProcess job(server_.debugger_port(),
                 {{"GRAPHDBG_GRACE", "0"}, {"GRAPHDBG_ON_DISCONNECT", "stop"}});
  WaitForState("paused");
  server_.Signal(SIGSTOP);
  EXPECT_EQ(job.Finish(), 3) << job.Errors();
}

TEST_F(FrozenPeersTest, AFrozenJobIsLostUntilItGoesOn) {
  JobProcess job(server_.debugger_port());
  WaitForState("paused");
  job.Signal(SIGSTOP);
  WaitForState("lost");
  job.Signal(SIGCONT);
  WaitForState("paused");
  const auto answer = server_.Fetch("POST", std::string(kJob) + "/control",
                                    R"({"command": "continue"})");
  EXPECT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(job.Finish(), 0);
  WaitForState("finished");
}

}  // namespace
}  // namespace graphdbg::integration
