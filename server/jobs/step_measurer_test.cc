#include "server/jobs/step_measurer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using Answer = std::optional<absl::StatusOr<std::string>>;

class StepMeasurerTest : public JobFixture {
 protected:
  StepMeasurerTest() { Connect(0); }

  Rank& rank() { return *machine_.Find(0); }

  std::shared_ptr<Answer> Ask(uint32_t rank = 0) {
    auto answer = std::make_shared<Answer>();
    measurer_.Request(rank, [answer](absl::StatusOr<std::string> file) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(file);
    });
    return answer;
  }

  std::vector<TensorOrder> Orders() const {
    return LinkOf(0)->OrdersOf<TensorOrder>();
  }

  void Reply(const TensorOrder& order, uint64_t nan_count = 0,
             bool overwritten = false) {
    TensorChunk chunk;
    chunk.request_id = order.request_id;
    chunk.header.emplace();
    chunk.header->type.dtype = DType::kFloat32;
    chunk.header->type.shape = {4};
    chunk.header->slice_shape = {4};
    chunk.header->step = order.query.step;
    chunk.header->overwritten = overwritten;
    chunk.header->statistics.emplace();
    chunk.header->statistics->count = 4;
    chunk.header->statistics->nan_count = nan_count;
    chunk.last = true;
    requests_.OnChunk(rank(), chunk);
  }

  void Refuse(const TensorOrder& order, absl::StatusCode code) {
    TensorChunk chunk;
    chunk.request_id = order.request_id;
    chunk.error = Error(code, "value_gone", "no value");
    chunk.last = true;
    requests_.OnChunk(rank(), chunk);
  }

  static nlohmann::json Header(const Answer& answer) {
    const std::string& file = answer->value();
    const size_t size = *reinterpret_cast<const uint64_t*>(file.data() + 8);
    return nlohmann::json::parse(file.substr(16, size));
  }

  TensorRequests requests_{
      graph_, machine_, tasks_, {100, 150, std::chrono::milliseconds(300)}};
  KnownStatistics known_;
  StepMeasurer measurer_{graph_, machine_, known_, requests_, tasks_};
};

TEST_F(StepMeasurerTest, AsksForEachTensorThatIsNotKnown) {
  AddNodes(rank(), {"a", "b", "c"});
  PauseAt(rank(), 3, model::PauseReason::kStep);
  model::Statistics old;
  known_.Add(0, graph_.FindNode("a"), 0, 3, old,
             KnownStatistics::Source::kReport);
  known_.Add(0, graph_.FindNode("b"), 0, 2, old,
             KnownStatistics::Source::kReport);
  const auto answer = Ask();
  const auto orders = Orders();
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].query.node, "b");
  EXPECT_EQ(orders[0].query.version, model::TensorQuery::Version::kStep);
  EXPECT_EQ(orders[0].query.step, 3u);
  EXPECT_FALSE(orders[0].query.want_data);
  Reply(orders[0], 2);
  EXPECT_FALSE(answer->has_value());
  Refuse(orders[1], absl::StatusCode::kNotFound);
  ASSERT_TRUE(answer->has_value());
  const nlohmann::json header = Header(*answer);
  EXPECT_EQ(header["records"], 2);
  EXPECT_EQ(header["step"], 3);
  EXPECT_EQ(header["complete"], true);
  const auto* newest = known_.Find(0, graph_.FindNode("b"), 0);
  EXPECT_EQ(newest->step, 3u);
  EXPECT_EQ(newest->statistics.nan_count, 2u);
}

TEST_F(StepMeasurerTest, AwaitsAFewAnswersAtOnce) {
  std::vector<std::string> names;
  for (size_t i = 0; i < 2 * StepMeasurer::kMaxInFlight; ++i) {
    names.push_back(absl::StrCat("n", i));
  }
  AddNodes(rank(), names);
  PauseAt(rank(), 1, model::PauseReason::kStep);
  const auto answer = Ask();
  EXPECT_EQ(Orders().size(), StepMeasurer::kMaxInFlight);
  for (size_t i = 0; i < names.size(); ++i) Reply(Orders()[i]);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(Header(*answer)["records"], names.size());
}

TEST_F(StepMeasurerTest, CallersAtOneStopShareAMeasurement) {
  AddNodes(rank(), {"a"});
  PauseAt(rank(), 1, model::PauseReason::kStep);
  const auto first = Ask();
  const auto second = Ask();
  ASSERT_EQ(Orders().size(), 1u);
  Reply(Orders()[0]);
  EXPECT_TRUE(first->has_value());
  EXPECT_TRUE(second->has_value());
}

TEST_F(StepMeasurerTest, OverwrittenTensorsAreMarkedAndNotRemembered) {
  AddNodes(rank(), {"a"});
  PauseAt(rank(), 1, model::PauseReason::kStep);
  const auto answer = Ask();
  Reply(Orders()[0], 0, /*overwritten=*/true);
  EXPECT_EQ(Header(*answer)["records"], 1);
  EXPECT_EQ(known_.size(), 0u);
}

TEST_F(StepMeasurerTest, ALateAgentMakesItIncomplete) {
  AddNodes(rank(), {"a", "b"});
  PauseAt(rank(), 1, model::PauseReason::kStep);
  const auto answer = Ask();
  Reply(Orders()[0]);
  tasks_.FireTimers();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(Header(*answer)["records"], 1);
  EXPECT_EQ(Header(*answer)["complete"], false);
  // The next caller gets what became known.
  Ask();
  EXPECT_EQ(Orders().back().query.node, "b");
}

TEST_F(StepMeasurerTest, ARunningRankIsNotAsked) {
  AddNodes(rank(), {"a"});
  Run(rank(), 1);
  const auto answer = Ask();
  EXPECT_TRUE(Orders().empty());
  EXPECT_EQ(Header(*answer)["complete"], false);
}

TEST_F(StepMeasurerTest, ARankThatDisconnectsEndsIt) {
  AddNodes(rank(), {"a", "b"});
  PauseAt(rank(), 1, model::PauseReason::kStep);
  const auto answer = Ask();
  requests_.FailRank(0, Error(absl::StatusCode::kUnavailable, "job_gone", ""));
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(Header(*answer)["complete"], false);
  EXPECT_EQ(ReasonOf(Ask(7)->value().status()), "unknown_rank");
}

}  // namespace
}  // namespace graphdbg::jobs
