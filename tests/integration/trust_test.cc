// Jobs and servers that do not trust each other, or that are in the way of each
// other, as processes of their own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/ingest/testing/socket_directory.h"
#include "tests/integration/job_process.h"
#include "tests/integration/real_server.h"

namespace graphdbg::integration {
namespace {

using Json = RealServer::Json;

constexpr char kJob[] = "/api/v1/jobs/toy";

// A port on which nothing listens.
constexpr uint16_t kNoPort = 1;

class TrustTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> more = {}, size_t descriptors = 0) {
    server_ = std::make_unique<RealServer>(
        std::filesystem::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name(),
        std::move(more), descriptors);
  }

  Json WaitForState(const std::string& state, const std::string& job = kJob) {
    return server_->GetUntil(job, [&](const Json& answer) {
      return answer.value("state", "") == state;
    });
  }

  std::string CodeOf(const std::string& method, const std::string& target,
                     const std::string& body) {
    const auto reply = server_->Fetch(method, kJob + target, body);
    return std::to_string(reply.status) + " " +
           Json::parse(reply.body).value("code", "");
  }

  void Continue(const std::string& job) {
    const auto reply =
        server_->Fetch("POST", job + "/control", R"({"command": "continue"})");
    EXPECT_EQ(reply.status, 202) << reply.body;
  }

  std::string SocketPath() const { return directory_.path() + "/agent.sock"; }

  const ingest::testing::SocketDirectory directory_;
  std::unique_ptr<RealServer> server_;
};

TEST_F(TrustTest, AJobPrefersTheSocketOfItsUser) {
  Start({"--debugger-socket=" + SocketPath()});
  JobProcess job(kNoPort, {{"GRAPHDBG_SOCKET", SocketPath()}});
  const Json paused = WaitForState("paused");
  EXPECT_EQ(paused["ranks"][0]["peer"], "unix socket");
  Continue(kJob);
  EXPECT_EQ(job.Finish(), 0);
  WaitForState("finished");
}

TEST_F(TrustTest, AJobUsesThePortWhereTheSocketIsNot) {
  Start();
  JobProcess job(server_->debugger_port(), {{"GRAPHDBG_SOCKET", SocketPath()}});
  WaitForState("paused");
}

TEST_F(TrustTest, TheHostMayBeASocket) {
  Start({"--debugger-socket=" + SocketPath()});
  JobProcess job(kNoPort, {{"GRAPHDBG_HOST", "unix:" + SocketPath()}});
  WaitForState("paused");
}

TEST_F(TrustTest, AJobWithoutEncryptionRunsUndebugged) {
  Start();
  JobProcess job(server_->debugger_port(), {{"GRAPHDBG_HOST", "192.0.2.1"},
                                            {"GRAPHDBG_TOKEN", "secret"}});
  EXPECT_EQ(job.Finish(), 0);
  const std::string errors = job.Errors();
  EXPECT_NE(errors.find("GRAPHDBG_TLS_CA"), std::string::npos) << errors;
  EXPECT_NE(errors.find("training continues without debugging"),
            std::string::npos)
      << errors;
}

TEST_F(TrustTest, TheServerOrdersNoMoreThanTheJobAllows) {
  Start();
  JobProcess job(server_->debugger_port(), {{"GRAPHDBG_ALLOW", "view"}});
  // Nobody may continue it, so it does not wait.
  const Json running = WaitForState("running");
  EXPECT_EQ(running["allowed"], Json({"view"}));
  EXPECT_EQ(running["recommended_offered"], false);
  const std::string refused = "403 not_allowed_by_job";
  EXPECT_EQ(CodeOf("POST", "/control", R"({"command": "pause"})"), refused);
  EXPECT_EQ(CodeOf("POST", "/control", R"({"command": "terminate"})"), refused);
  EXPECT_EQ(CodeOf("POST", "/watchpoints", R"({"condition": {"id": "nan"}})"),
            refused);
  EXPECT_EQ(CodeOf("POST", "/watchpoints/recommended", "{}"), refused);
  EXPECT_EQ(job.Finish(), 0);
  // The limit outlives the server, too.
  WaitForState("finished");
  server_->Kill();
  server_->StartAgain();
  EXPECT_EQ(server_->Get(kJob)["allowed"], Json({"view"}));
}

TEST_F(TrustTest, WithoutViewTheServerGetsNoValues) {
  Start();
  JobProcess job(server_->debugger_port(),
                 {{"GRAPHDBG_ALLOW", "control,terminate"}});
  WaitForState("paused");
  const auto reply = server_->Fetch(
      "GET", std::string(kJob) + "/tensor?name=forward%2Fweight%3A0");
  EXPECT_EQ(reply.status, 403) << reply.body;
  EXPECT_EQ(server_
                ->Get(std::string(kJob) +
                      "/tensor/statistics?name=forward%2Fweight%3A0")
                .at("statistics")
                .at("count"),
            2);
}

TEST_F(TrustTest, NobodyTakesThePlaceOfAJobThatIsOnItsWayBack) {
  Start();
  JobProcess job(server_->debugger_port());
  WaitForState("paused");
  // Another process of the same name is faster.
  job.Signal(SIGSTOP);
  server_->Kill();
  server_->StartAgain();
  JobProcess stranger(server_->debugger_port());
  WaitForState("paused", "/api/v1/jobs/toy-2");
  EXPECT_EQ(server_->Get(kJob)["state"], "connecting");
  job.Signal(SIGCONT);
  WaitForState("paused");
  Continue(kJob);
  EXPECT_EQ(job.Finish(), 0);
  WaitForState("finished");
  EXPECT_EQ(server_->Get("/api/v1/jobs/toy-2")["state"], "paused");
}

TEST_F(TrustTest, AJobComesBackToItsPlaceThoughItsNameHasANewerRun) {
  Start();
  JobProcess first(server_->debugger_port());
  WaitForState("paused");
  first.Signal(SIGSTOP);
  WaitForState("lost");
  JobProcess second(server_->debugger_port());
  WaitForState("paused", "/api/v1/jobs/toy-2");
  first.Signal(SIGCONT);
  WaitForState("paused");
  EXPECT_EQ(server_->Get("/api/v1/jobs/toy-2")["state"], "paused");
}

class SilentConnections {
 public:
  SilentConnections(uint16_t port, int count) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    for (int i = 0; i < count; ++i) {
      fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(fds_.back(), reinterpret_cast<sockaddr*>(&address),
                        sizeof(address)),
                0);
    }
  }
  ~SilentConnections() {
    for (int fd : fds_) close(fd);
  }

  // Waits until the server has closed all of them.
  void WaitUntilClosed() {
    for (int fd : fds_) {
      char bytes[64];
      while (read(fd, bytes, sizeof(bytes)) > 0) {
      }
    }
  }

 private:
  std::vector<int> fds_;
};

TEST_F(TrustTest, SilentConnectionsOfAgentsKeepNobodyFromThePage) {
  Start({"--debugger-socket=" + SocketPath()}, /*descriptors=*/256);
  SilentConnections silent(server_->debugger_port(), 300);
  // Another request would wait behind the connections that are not accepted.
  EXPECT_EQ(server_->Get("/api/v1/jobs")["jobs"].size(), 0u);
  JobProcess job(kNoPort, {{"GRAPHDBG_SOCKET", SocketPath()}});
  WaitForState("paused");
  // The server does not wait for them forever.
  silent.WaitUntilClosed();
  JobProcess by_port(server_->debugger_port(), {{"GRAPHDBG_JOB", "other"}});
  WaitForState("paused", "/api/v1/jobs/other");
}

}  // namespace
}  // namespace graphdbg::integration
