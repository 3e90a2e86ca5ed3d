#include "server/jobs/permissions.h"

#include <gtest/gtest.h>

#include <chrono>

#include "server/base/error.h"
#include "server/jobs/command_dispatcher.h"
#include "server/jobs/job_description.h"
#include "server/jobs/job_watchpoints.h"
#include "server/jobs/tensor_requests.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

constexpr char kRefused[] = "not_allowed_by_job";

class PermissionsTest : public JobFixture {
 protected:
  Rank& ConnectAllowing(const model::Allowed& allowed, uint32_t rank = 0) {
    Rank& connected = Connect(rank);
    connected.hello.allowed = allowed;
    return connected;
  }

  std::string ReasonFor(model::ControlVerb verb) {
    model::ControlRequest request;
    request.verb = verb;
    const auto id = dispatcher_.Dispatch(request);
    return id.ok() ? "" : ReasonOf(id.status());
  }

  CommandSender sender_{machine_, 0};
  RankGroup group_{machine_, sender_, tasks_, std::chrono::seconds(10)};
  CommandDispatcher dispatcher_{machine_, sender_,    group_,
                                graph_,   unchecked_, events_};
  JobWatchpoints watchpoints_{watch_table_, hits_,      machine_,
                              recorder_,    unchecked_, events_};
  TensorRequests requests_{
      graph_, machine_, tasks_, {1'000, 1'000, std::chrono::seconds(10)}};
};

TEST_F(PermissionsTest, EverythingIsAllowedByDefault) {
  PauseAt(Connect(0), 1, model::PauseReason::kStep);
  EXPECT_TRUE(AllowedByRanks(machine_).all());
  EXPECT_EQ(ReasonFor(model::ControlVerb::kContinue), "");
}

TEST_F(PermissionsTest, TheStrictestRankDecides) {
  ConnectAllowing({true, true, false, true});
  ConnectAllowing({false, true, true, true}, 1);
  const model::Allowed allowed = AllowedByRanks(machine_);
  EXPECT_FALSE(allowed.view);
  EXPECT_TRUE(allowed.control);
  EXPECT_FALSE(allowed.terminate);
  model::Job job;
  DescribeRanks(machine_, {}, job);
  EXPECT_FALSE(job.allowed.view);
}

TEST_F(PermissionsTest, RefusesCommandsWithoutSendingThem) {
  PauseAt(ConnectAllowing({true, false, true, true}), 1,
          model::PauseReason::kStep);
  for (const auto verb :
       {model::ControlVerb::kContinue, model::ControlVerb::kStep,
        model::ControlVerb::kNextNode, model::ControlVerb::kContinueTo,
        model::ControlVerb::kPause, model::ControlVerb::kRecheck}) {
    EXPECT_EQ(ReasonFor(verb), kRefused);
  }
  EXPECT_TRUE(LinkOf(0)->OrdersOf<CommandOrder>().empty());
  EXPECT_EQ(ReasonFor(model::ControlVerb::kTerminate), "");
}

TEST_F(PermissionsTest, RefusesToTerminate) {
  PauseAt(ConnectAllowing({true, true, false, true}), 1,
          model::PauseReason::kStep);
  EXPECT_EQ(ReasonFor(model::ControlVerb::kTerminate), kRefused);
  EXPECT_EQ(ReasonFor(model::ControlVerb::kContinue), "");
}

TEST_F(PermissionsTest, RefusesWatchpoints) {
  ConnectAllowing({true, false, true, true});
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  std::string reason;
  watchpoints_.Add(spec, [&](const absl::StatusOr<model::Watchpoint>& made) {
    reason = ReasonOf(made.status());
  });
  EXPECT_EQ(reason, kRefused);
  reason.clear();
  watchpoints_.AddRecommended(
      [&](const absl::StatusOr<model::RecommendedSet>& made) {
        reason = ReasonOf(made.status());
      });
  EXPECT_EQ(reason, kRefused);
  EXPECT_FALSE(watchpoints_.OffersRecommended());
  EXPECT_TRUE(LinkOf(0)->OrdersOf<SetWatchpointOrder>().empty());
}

TEST_F(PermissionsTest, RefusesValuesButNotStatistics) {
  AddNodes(ConnectAllowing({false, true, true, true}), {"forward/log"});
  model::TensorQuery query;
  query.node = "forward/log";
  query.want_data = true;
  std::string reason;
  const auto complete = [&](const absl::StatusOr<model::TensorValue>& value) {
    reason = ReasonOf(value.status());
  };
  requests_.Request(query, complete);
  EXPECT_EQ(reason, kRefused);
  EXPECT_EQ(ReasonOf(requests_.Catch("forward/log", 0)), kRefused);
  EXPECT_TRUE(LinkOf(0)->OrdersOf<CatchTensorOrder>().empty());
  query.want_data = false;
  query.want_statistics = true;
  requests_.Request(query, complete);
  EXPECT_EQ(LinkOf(0)->OrdersOf<TensorOrder>().size(), 1u);
}

}  // namespace
}  // namespace graphdbg::jobs
