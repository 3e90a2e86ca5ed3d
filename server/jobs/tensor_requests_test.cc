#include "server/jobs/tensor_requests.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using Answer = std::optional<absl::StatusOr<model::TensorValue>>;

constexpr std::chrono::milliseconds kDeadline{300};

class TensorRequestsTest : public JobFixture {
 protected:
  TensorRequestsTest() {
    AddNodes(Connect(0), {"forward/log"});
    Connect(1);
  }

  static model::TensorQuery Query(uint32_t rank = 0) {
    model::TensorQuery query;
    query.node = "forward/log";
    query.rank = rank;
    return query;
  }

  // Requests a tensor. The answer appears in the returned object.
  std::shared_ptr<Answer> Ask(const model::TensorQuery& query = Query()) {
    auto answer = std::make_shared<Answer>();
    requests_.Request(query, [answer](absl::StatusOr<model::TensorValue> v) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(v);
    });
    return answer;
  }

  // The id of the last request that was sent to the rank.
  uint64_t LastId(uint32_t rank = 0) const {
    return LinkOf(rank)->OrdersOf<TensorOrder>().back().request_id;
  }

  void Announce(uint64_t id, int64_t bytes) {
    TensorChunk chunk;
    chunk.request_id = id;
    chunk.header.emplace();
    chunk.header->type.dtype = DType::kInt8;
    chunk.header->slice_shape = {bytes};
    chunk.header->total_bytes = static_cast<uint64_t>(bytes);
    requests_.OnChunk(*machine_.Find(0), chunk);
  }

  void Send(uint64_t id, const std::string& data, bool last,
            uint32_t rank = 0) {
    TensorChunk chunk;
    chunk.request_id = id;
    chunk.data = data;
    chunk.last = last;
    requests_.OnChunk(*machine_.Find(rank), chunk);
  }

  size_t CancelledOn(uint32_t rank) const {
    return LinkOf(rank)->OrdersOf<CancelTensorOrder>().size();
  }

  static std::string ReasonIn(const std::shared_ptr<Answer>& answer) {
    return answer->has_value() ? ReasonOf((*answer)->status()) : "no answer";
  }

  TensorRequests requests_{graph_, machine_, tasks_, {100, 150, kDeadline}};
};

TEST_F(TensorRequestsTest, ForwardsARequestAndAssemblesTheAnswer) {
  auto answer = Ask();
  ASSERT_EQ(LinkOf(0)->OrdersOf<TensorOrder>().size(), 1u);
  EXPECT_EQ(LinkOf(0)->OrdersOf<TensorOrder>()[0].query.max_bytes, 100u);
  Announce(LastId(), 4);
  Send(LastId(), "ab", false);
  EXPECT_FALSE(answer->has_value());
  Send(LastId(), "cd", true);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((**answer)->data, "abcd");
  EXPECT_EQ(requests_.pending(), 0u);
  EXPECT_TRUE(tasks_.FireTimers().empty()) << "the deadline was not cancelled";
}

TEST_F(TensorRequestsTest, RefusesRequestsThatCannotBeAnswered) {
  model::TensorQuery query = Query();
  query.node = "forward/exp";
  EXPECT_EQ(ReasonIn(Ask(query)), "unknown_node");
  query = Query();
  query.slot = 1;
  EXPECT_EQ(ReasonIn(Ask(query)), "unknown_slot");
  EXPECT_EQ(ReasonIn(Ask(Query(7))), "unknown_rank");
  query = Query();
  query.slice = std::string(2'000, ':');
  EXPECT_EQ(ReasonIn(Ask(query)), "bad_slice");
  machine_.OnDisconnected(*machine_.Find(1));
  EXPECT_EQ(ReasonIn(Ask(Query(1))), "job_gone");
  EXPECT_EQ(ReasonOf(requests_.Catch("forward/log", 1)), "job_gone");
}

TEST_F(TensorRequestsTest, OrdersRanksToCatchTensors) {
  EXPECT_EQ(ReasonOf(requests_.Catch("forward/exp", 0)), "unknown_node");
  ASSERT_TRUE(requests_.Catch("forward/log", 0).ok());
  EXPECT_EQ(LinkOf(0)->OrdersOf<CatchTensorOrder>()[0].node, "forward/log");
}

TEST_F(TensorRequestsTest, CancelsAnAnswerThatItRejects) {
  auto answer = Ask();
  Send(LastId(), "a", false);
  EXPECT_EQ(ReasonIn(answer), "bad_answer");
  EXPECT_EQ(CancelledOn(0), 1u);
  // The agent has sent all of this one already.
  answer = Ask();
  Send(LastId(), "a", true);
  EXPECT_EQ(ReasonIn(answer), "bad_answer");
  EXPECT_EQ(CancelledOn(0), 1u);
}

TEST_F(TensorRequestsTest, PassesTheAgentsErrorOn) {
  auto answer = Ask();
  TensorChunk chunk;
  chunk.request_id = LastId();
  chunk.error = absl::NotFoundError("value gone");
  requests_.OnChunk(*machine_.Find(0), chunk);
  EXPECT_EQ((*answer)->status().message(), "value gone");
}

TEST_F(TensorRequestsTest, FailsARequestAtItsDeadline) {
  auto answer = Ask();
  EXPECT_EQ(tasks_.FireTimers(), std::vector{kDeadline});
  EXPECT_EQ(ReasonIn(answer), "deadline_exceeded");
  EXPECT_EQ(CancelledOn(0), 1u);
  // Late chunks are ignored.
  Announce(LastId(), 4);
}

TEST_F(TensorRequestsTest, LimitsTheBytesOfAllAnswers) {
  auto first = Ask();
  const uint64_t first_id = LastId();
  Announce(first_id, 90);
  Send(first_id, std::string(89, 'x'), false);
  auto second = Ask();
  Announce(LastId(), 90);
  Send(LastId(), std::string(89, 'x'), false);
  EXPECT_EQ(ReasonIn(second), "too_many_requests");
  Send(first_id, "x", true);
  EXPECT_TRUE((*first)->ok());
  // The bytes of completed answers do not count.
  auto third = Ask();
  Announce(LastId(), 90);
  Send(LastId(), std::string(90, 'x'), true);
  EXPECT_TRUE((*third)->ok());
}

TEST_F(TensorRequestsTest, AcceptsAnswersOnlyFromTheRankThatWasAsked) {
  auto answer = Ask();
  Announce(LastId(), 1);
  Send(LastId(), "x", true, /*rank=*/1);
  EXPECT_FALSE(answer->has_value());
  Send(LastId(), "x", true);
  EXPECT_TRUE(answer->has_value());
}

TEST_F(TensorRequestsTest, FailsTheRequestsOfARankThatIsGone) {
  auto one = Ask();
  auto two = Ask();
  auto other = Ask(Query(1));
  requests_.FailRank(0, absl::UnavailableError("gone"));
  EXPECT_EQ((*one)->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*two)->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(other->has_value());
}

TEST_F(TensorRequestsTest, LimitsTheNumberOfRequests) {
  for (size_t i = 0; i < TensorRequests::kMaxPending; ++i) Ask();
  EXPECT_EQ(ReasonIn(Ask()), "too_many_requests");
}

}  // namespace
}  // namespace graphdbg::jobs
