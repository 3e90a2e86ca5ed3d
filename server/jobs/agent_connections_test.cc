#include "server/jobs/agent_connections.h"

#include <gtest/gtest.h>

#include <chrono>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class AgentConnectionsTest : public JobFixture {
 protected:
  static AgentHello Hello(const std::string& process, uint32_t rank = 0,
                          uint32_t world_size = 2) {
    AgentHello hello;
    hello.rank = rank;
    hello.world_size = world_size;
    hello.incarnation = process;
    return hello;
  }

  absl::StatusOr<Rank*> Attach(const std::string& process, uint32_t rank = 0) {
    link_ = std::make_shared<FakeAgentLink>();
    return connections_.Attach(Hello(process, rank), link_);
  }

  std::shared_ptr<FakeAgentLink> link_;
  std::vector<std::string> abandoned_;
  JobWatchpoints watchpoints_{watch_table_, hits_,      machine_,
                              recorder_,    unchecked_, events_};
  AgentConnections connections_{"job",
                                machine_,
                                watchpoints_,
                                recorder_,
                                events_,
                                tasks_,
                                [this](Rank&, const std::string& reason) {
                                  abandoned_.push_back(reason);
                                }};
};

TEST_F(AgentConnectionsTest, WelcomesANewProcess) {
  const auto rank = Attach("a");
  ASSERT_TRUE(rank.ok()) << rank.status();
  ASSERT_EQ(link_->orders.size(), 1u);
  EXPECT_FALSE(link_->OrdersOf<WelcomeOrder>()[0].resumed);
  EXPECT_EQ((*rank)->run.state, model::JobState::kConnecting);
  EXPECT_TRUE(records_.Contains("hello 0 new"));
  EXPECT_EQ(EventsOf(model::Event::Type::kJob).size(), 1u);
}

TEST_F(AgentConnectionsTest, ReplacesTheBrokenStreamOfAProcess) {
  ASSERT_TRUE(Attach("a").ok());
  const auto first = link_;
  const auto rank = Attach("a");
  ASSERT_TRUE(rank.ok()) << rank.status();
  EXPECT_EQ(ReasonOf(first->closed), "replaced");
  EXPECT_EQ(abandoned_.size(), 1u);
  EXPECT_TRUE(link_->OrdersOf<WelcomeOrder>()[0].resumed);
  EXPECT_EQ((*rank)->stream, 2u);
}

TEST_F(AgentConnectionsTest, RefusesASecondProcessWhileTheFirstIsConnected) {
  ASSERT_TRUE(Attach("a").ok());
  EXPECT_EQ(ReasonOf(Attach("b").status()), "rank_taken");
}

TEST_F(AgentConnectionsTest, AProgramOfOneProcessBesideAnotherIsAnotherRun) {
  const auto attach = [&](const AgentHello& hello) {
    return connections_.Attach(hello, std::make_shared<FakeAgentLink>());
  };
  ASSERT_TRUE(attach(Hello("a", 0, 1)).ok());
  const auto second = attach(Hello("b", 0, 1));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*second, nullptr);
  const auto rank_of_others = attach(Hello("c", 1, 2));
  ASSERT_TRUE(rank_of_others.ok()) << rank_of_others.status();
  EXPECT_EQ(*rank_of_others, nullptr);
}

TEST_F(AgentConnectionsTest, OnlyALostProcessReturnsToAnEndedJob) {
  connections_.OnClosed(**Attach("a"));
  EXPECT_EQ(machine_.job().state, model::JobState::kLost);
  EXPECT_EQ(*Attach("b"), nullptr);
  EXPECT_NE(*Attach("a"), nullptr);
}

TEST_F(AgentConnectionsTest, AProcessThatHasExitedDoesNotReturn) {
  Rank& rank = **Attach("a");
  machine_.OnExit(rank, {});
  connections_.OnClosed(rank);
  EXPECT_EQ(*Attach("a"), nullptr);
}

TEST_F(AgentConnectionsTest, NoProcessAttachesToAForgottenJob) {
  ASSERT_TRUE(Attach("a").ok());
  connections_.CloseAll(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(link_->closed.message(), "full");
  connections_.Retire();
  EXPECT_EQ(*Attach("a"), nullptr);
}

TEST_F(AgentConnectionsTest, AwaitedRanksAreLostAtTheDeadline) {
  std::map<uint32_t, SavedRank> saved;
  saved[0].hello = Hello("a");
  saved[1].hello = Hello("b", 1);
  machine_.Restore(std::move(saved));
  connections_.AwaitRanks(std::chrono::seconds(30));
  ASSERT_TRUE(Attach("a").ok());
  EXPECT_EQ(tasks_.FireTimers().size(), 1u);
  EXPECT_EQ(machine_.Find(0)->run.state, model::JobState::kConnecting);
  EXPECT_EQ(machine_.Find(1)->run.state, model::JobState::kLost);
}

TEST_F(AgentConnectionsTest, StopsWaitingWhenAllRanksAreBack) {
  std::map<uint32_t, SavedRank> saved;
  saved[0].hello = Hello("a");
  machine_.Restore(std::move(saved));
  connections_.AwaitRanks(std::chrono::seconds(30));
  ASSERT_TRUE(Attach("a").ok());
  EXPECT_TRUE(tasks_.FireTimers().empty());
}

TEST_F(AgentConnectionsTest, NobodyTakesThePlaceOfAProcessThatIsAwaited) {
  std::map<uint32_t, SavedRank> saved;
  saved[0].hello = Hello("a");
  saved[1].hello = Hello("b", 1);
  for (auto& [number, rank] : saved) rank.hello.world_size = 2;
  machine_.Restore(std::move(saved));
  EXPECT_EQ(*Attach("stranger"), nullptr);
  EXPECT_EQ(*Attach("", 1), nullptr);
  // A rank of another run, which has more ranks.
  EXPECT_EQ(*connections_.Attach(Hello("stranger", 2, 3),
                                 std::make_shared<FakeAgentLink>()),
            nullptr);
  EXPECT_EQ(machine_.job().state, model::JobState::kConnecting);
  ASSERT_NE(*Attach("a"), nullptr);
  EXPECT_TRUE(link_->OrdersOf<WelcomeOrder>()[0].resumed);
  EXPECT_EQ(*Attach("stranger", 1), nullptr);
  EXPECT_NE(*Attach("b", 1), nullptr);
}

}  // namespace
}  // namespace graphdbg::jobs
