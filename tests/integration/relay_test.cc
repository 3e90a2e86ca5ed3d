// Ranks behind relays: real streams through real relays to real jobs.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/relay/relay_server.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

using std::chrono::milliseconds;

class RelayTest : public ServerFixture {
 protected:
  // Starts a relay and returns its port.
  uint16_t StartRelay(milliseconds interval = milliseconds(100)) {
    relay::RelayOptions options;
    options.upstream = absl::StrCat("127.0.0.1:", port());
    options.progress_interval = interval;
    relays_.push_back(std::make_unique<relay::RelayServer>(options));
    auto bound = relays_.back()->Start("127.0.0.1", 0);
    EXPECT_TRUE(bound.ok()) << bound.status();
    return bound.value_or(0);
  }

  std::vector<std::unique_ptr<relay::RelayServer>> relays_;
};

TEST_F(RelayTest, PassesHelloTokenAndRefusalsOn) {
  ingest::IngestOptions options;
  options.check_token = [](std::string_view token, std::string_view) {
    return token == "right"
               ? absl::OkStatus()
               : Error(absl::StatusCode::kUnauthenticated, "unauthenticated",
                       "the token is not the server's");
  };
  Start({}, options);
  const uint16_t relay = StartRelay();
  ScriptedAgent refused(relay, "wrong");
  refused.SendHello(ScriptedAgent::MakeHello("digits"));
  const grpc::Status status = refused.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(status.error_message(), "the token is not the server's");
  ScriptedAgent agent(relay, "right");
  agent.Join(ScriptedAgent::MakeHello("digits"));
}

// The user of the relay's socket is not the one who dials the relay.
TEST_F(RelayTest, ItsAddressIsNotTakenForTheRanks) {
  ingest::IngestOptions options;
  options.check_token = [](std::string_view, std::string_view peer) {
    return Error(absl::StatusCode::kUnauthenticated, "unauthenticated",
                 std::string(peer.substr(0, peer.find('1'))));
  };
  Start({}, options);
  ScriptedAgent agent(StartRelay());
  agent.SendHello(ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(agent.End().error_message(), "relay:ipv4:");
}

TEST_F(RelayTest, AJobIsControlledThroughIt) {
  Start();
  ScriptedAgent agent(StartRelay());
  const auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto command = Control(*job, model::ControlVerb::kContinue);
  ASSERT_TRUE(command.ok()) << command.status();
  const v1::ServerMessage received = agent.Receive();
  ASSERT_TRUE(received.has_command());
  EXPECT_TRUE(received.command().has_continue_());
  agent.SendOutcome(received.command().id());
  agent.SendRunning(1);
  WaitForState("digits", model::JobState::kRunning);
  agent.SendGoodbye(0, 1);
  EXPECT_TRUE(agent.End().ok());
  WaitForState("digits", model::JobState::kFinished);
}

TEST_F(RelayTest, TheNewestStepArrivesWithoutThoseBetween) {
  Start();
  ScriptedAgent agent(StartRelay(milliseconds(300)));
  const auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ASSERT_TRUE(Control(*job, model::ControlVerb::kContinue).ok());
  agent.SendOutcome(agent.Receive().command().id());
  constexpr uint64_t kSteps = 2'000;
  for (uint64_t step = 1; step <= kSteps; ++step) agent.SendRunning(step);
  WaitFor([&](const model::Event& event) {
    return event.type == model::Event::Type::kState && event.job_info &&
           event.job_info->step == kSteps;
  });
}

TEST_F(RelayTest, WhatFollowsAStepArrivesAfterIt) {
  Start();
  // Longer than the test: the step is passed on because of the pause.
  ScriptedAgent agent(StartRelay(milliseconds(600'000)));
  const auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  ASSERT_TRUE(Control(*job, model::ControlVerb::kContinue).ok());
  agent.SendOutcome(agent.Receive().command().id());
  agent.SendRunning(1);
  agent.SendRunning(2);
  agent.SendRunning(3);
  agent.SendPaused(v1::PAUSE_REASON_USER, 3);
  WaitFor([](const model::Event& event) {
    return event.type == model::Event::Type::kState && event.job_info &&
           event.job_info->state == model::JobState::kPaused &&
           event.job_info->step == 3;
  });
}

TEST_F(RelayTest, ItsLossIsALostHostAndItsReturnAReconnect) {
  Start();
  StartRelay();
  const uint16_t other = StartRelay();
  ScriptedAgent near(other);
  const auto job = StartJob(near, ScriptedAgent::MakeHello("digits", 0, 2));
  auto far_relay = std::make_unique<relay::RelayServer>(relay::RelayOptions{
      absl::StrCat("127.0.0.1:", port()), {}, {}, milliseconds(100), {}});
  auto bound = far_relay->Start("127.0.0.1", 0);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ScriptedAgent far(*bound);
  v1::Hello hello = ScriptedAgent::MakeHello("digits", 1, 2);
  far.Join(hello);
  far_relay.reset();
  EXPECT_EQ(far.Receive().message_case(), v1::ServerMessage::MESSAGE_NOT_SET);
  const auto lost = [](const model::Event& event) {
    return event.type == model::Event::Type::kState && event.job_info &&
           event.job_info->ranks.size() == 2 &&
           event.job_info->ranks[1].state == model::JobState::kLost &&
           event.job_info->ranks[0].state != model::JobState::kLost;
  };
  WaitFor(lost);
  ScriptedAgent again(other);
  again.Join(hello);
  WaitFor(
      [](const model::Event& event) {
        return event.type == model::Event::Type::kState && event.job_info &&
               event.job_info->ranks.size() == 2 &&
               event.job_info->ranks[1].state != model::JobState::kLost;
      },
      Events().size() - 1);
}

TEST_F(RelayTest, WithoutAServerRanksAreToldSo) {
  Start();
  const uint16_t relay = StartRelay();
  Stop();
  ScriptedAgent agent(relay);
  agent.SendHello(ScriptedAgent::MakeHello("digits"));
  EXPECT_EQ(agent.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// More ranks than a server accepts streams on a connection.
TEST_F(RelayTest, TakesAHostOfManyRanks) {
  Start();
  const uint16_t relay = StartRelay();
  constexpr uint32_t kRanks = 40;
  std::vector<std::unique_ptr<ScriptedAgent>> ranks;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(std::make_unique<ScriptedAgent>(relay));
    ranks.back()->Join(ScriptedAgent::MakeHello("digits", rank, kRanks));
  }
  WaitFor([](const model::Event& event) {
    return event.type == model::Event::Type::kState && event.job_info &&
           event.job_info->ranks.size() == kRanks;
  });
}

TEST_F(RelayTest, ThirtyTwoHostsOfThirtyTwoRanks) {
  rlimit files;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  constexpr uint32_t kHosts = 32, kRanksOfHost = 32;
  constexpr uint32_t kRanks = kHosts * kRanksOfHost;
  // Streams of ranks and those of relays, each with both ends here.
  if (files.rlim_max < 4 * kRanks) {
    GTEST_SKIP() << "needs " << 4 * kRanks << " descriptors, and may have "
                 << files.rlim_max;
  }
  Start();
  std::vector<std::unique_ptr<ScriptedAgent>> ranks;
  for (uint32_t host = 0; host < kHosts; ++host) {
    const uint16_t relay = StartRelay();
    for (uint32_t i = 0; i < kRanksOfHost; ++i) {
      ranks.push_back(std::make_unique<ScriptedAgent>(relay));
      ranks.back()->Join(
          ScriptedAgent::MakeHello("digits", host * kRanksOfHost + i, kRanks));
      ranks.back()->SendRunning(1);
    }
  }
  const std::map<model::JobState, uint32_t> all_running = {
      {model::JobState::kRunning, kRanks}};
  WaitFor([&](const model::Event& event) {
    return event.type == model::Event::Type::kState && event.job_info &&
           event.job_info->state == model::JobState::kRunning &&
           event.job_info->rank_states == all_running;
  });
  const auto job = directory().Find("digits");
  ASSERT_NE(job, nullptr);
  ASSERT_TRUE(Control(*job, model::ControlVerb::kPause).ok());
  for (auto& rank : ranks) {
    const v1::ServerMessage message = rank->Receive();
    ASSERT_TRUE(message.has_command() && message.command().has_pause());
    rank->SendOutcome(message.command().id());
    rank->SendPaused(v1::PAUSE_REASON_USER, 1);
  }
  WaitForState("digits", model::JobState::kPaused);
}

}  // namespace
}  // namespace graphdbg::integration
