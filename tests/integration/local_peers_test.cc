// Processes of this machine that connect to the debugger port without a token.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "server/auth/authenticator.h"
#include "server/auth/peer_user.h"
#include "tests/integration/mindspore_client.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

class LocalPeersTest : public ServerFixture {
 protected:
  // The server uses the authenticator until it stops.
  ~LocalPeersTest() override { Stop(); }

  // Starts a server as if it were run by this user.
  void StartAs(uid_t user) {
    auth::AuthOptions options;
    options.own_user = user;
    options.user_of_peer = [this](std::string_view peer) {
      return auth::UserOfPeer(peer, {port()});
    };
    auth_ = std::make_unique<auth::Authenticator>(
        auth::Secrets{"api-token", "agent-token"}, std::move(options));
    ingest::IngestOptions agents;
    agents.check_token = [this](std::string_view token, std::string_view peer) {
      return auth_->CheckAgent(token, peer);
    };
    mindspore::FrontendOptions mindspore;
    mindspore.check_local = [this](std::string_view peer) {
      return auth_->CheckLocalAgent(peer);
    };
    Start({}, std::move(agents), std::move(mindspore));
  }

  std::unique_ptr<auth::Authenticator> auth_;
};

TEST_F(LocalPeersTest, ProcessesOfTheSameUserNeedNoToken) {
  StartAs(geteuid());
  ScriptedAgent agent(port());
  agent.Join(ScriptedAgent::MakeHello("digits"));
  MindSporeClient client(port(), "1.2.0", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_NE(directory().Find("digits"), nullptr);
}

TEST_F(LocalPeersTest, ProcessesOfOtherUsersDo) {
  StartAs(geteuid() + 1);
  ScriptedAgent stranger(port());
  stranger.SendHello(ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(stranger.End().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  MindSporeClient client(port(), "1.2.0", "Ascend");
  EXPECT_EQ(client.TryMetadata().error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(directory().Jobs().empty());
  ScriptedAgent agent(port(), "agent-token");
  agent.Join(ScriptedAgent::MakeHello("digits"));
}

}  // namespace
}  // namespace graphdbg::integration
