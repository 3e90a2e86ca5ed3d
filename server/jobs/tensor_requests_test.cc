#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/jobs/tensor_desk.h"

namespace graphdbg::jobs {
namespace {

using Answer = std::optional<absl::StatusOr<model::TensorValue>>;

class TensorDeskTest : public testing::Test {
 protected:
  // Asks rank 0 for a tensor; the answer appears in what is returned.
  std::shared_ptr<Answer> Ask(model::TensorQuery query = {}) {
    auto answer = std::make_shared<Answer>();
    auto id =
        desk_.Open(query, [answer](absl::StatusOr<model::TensorValue> value) {
          EXPECT_FALSE(answer->has_value()) << "answered twice";
          *answer = std::move(value);
        });
    EXPECT_TRUE(id.ok());
    id_ = *id;
    return answer;
  }

  TensorPiece Header(std::vector<int64_t> shape, uint64_t total_bytes,
                     DType dtype = DType::kInt8) {
    TensorPiece piece;
    piece.request_id = id_;
    piece.header.emplace();
    piece.header->type.dtype = dtype;
    piece.header->slice_shape = std::move(shape);
    piece.header->total_bytes = total_bytes;
    return piece;
  }

  TensorPiece Data(const std::string& data, bool last) {
    TensorPiece piece;
    piece.request_id = id_;
    piece.data = data;
    piece.last = last;
    return piece;
  }

  static std::string ReasonIn(const Answer& answer) {
    return answer ? ReasonOf(answer->status()) : "no answer";
  }

  TensorDesk desk_{100, 150};
  uint64_t id_ = 0;
};

TEST_F(TensorDeskTest, TakesAnAnswerInOnePieceOrMany) {
  auto one = Ask();
  TensorPiece piece = Header({2}, 2);
  piece.data = "ab";
  piece.last = true;
  EXPECT_FALSE(desk_.Accept(0, piece));
  ASSERT_TRUE(one->has_value());
  EXPECT_EQ((**one)->data, "ab");

  auto many = Ask();
  desk_.Accept(0, Header({4}, 4));
  desk_.Accept(0, Data("ab", false));
  EXPECT_FALSE(many->has_value());
  desk_.Accept(0, Data("cd", false));
  desk_.Accept(0, Data("", true));
  EXPECT_EQ((**many)->data, "abcd");
  EXPECT_EQ(desk_.pending(), 0u);
}

TEST_F(TensorDeskTest, TakesAnEmptyTensor) {
  auto answer = Ask();
  TensorPiece piece = Header({0, 5}, 0, DType::kFloat32);
  piece.last = true;
  desk_.Accept(0, piece);
  ASSERT_TRUE((*answer)->ok());
  EXPECT_TRUE((**answer)->data.empty());
}

TEST_F(TensorDeskTest, RefusesAnswersThatBreakTheRules) {
  auto answer = Ask();
  EXPECT_TRUE(desk_.Accept(0, Data("a", false)));
  EXPECT_EQ(ReasonIn(*answer), "bad_answer") << "no header";

  answer = Ask();
  desk_.Accept(0, Header({2}, 2));
  EXPECT_TRUE(desk_.Accept(0, Header({2}, 2)));
  EXPECT_EQ(ReasonIn(*answer), "bad_answer") << "two headers";

  answer = Ask();
  desk_.Accept(0, Header({2}, 2));
  EXPECT_TRUE(desk_.Accept(0, Data("abc", false)));
  EXPECT_EQ(ReasonIn(*answer), "bad_answer") << "too much";

  answer = Ask();
  desk_.Accept(0, Header({2}, 2));
  EXPECT_FALSE(desk_.Accept(0, Data("a", true)));
  EXPECT_EQ(ReasonIn(*answer), "bad_answer") << "too little";

  for (const auto& shape : std::vector<std::vector<int64_t>>{
           {3}, {-2}, {int64_t{1} << 62, 16, 2}, {int64_t{1} << 40}}) {
    answer = Ask();
    desk_.Accept(0, Header(shape, 2));
    EXPECT_EQ(ReasonIn(*answer), "bad_answer") << "shape and size disagree";
  }
  EXPECT_EQ(desk_.pending(), 0u);
}

TEST_F(TensorDeskTest, WantsNoBytesThatNobodyAskedFor) {
  model::TensorQuery query;
  query.want_data = false;
  auto answer = Ask(query);
  desk_.Accept(0, Header({2}, 2));
  EXPECT_EQ(ReasonIn(*answer), "bad_answer");
}

TEST_F(TensorDeskTest, TakesNoMoreThanItsLimits) {
  auto answer = Ask();
  EXPECT_TRUE(desk_.Accept(0, Header({101}, 101)));
  EXPECT_EQ(ReasonIn(*answer), "slice_too_large");
  model::TensorQuery small;
  small.max_bytes = 10;
  answer = Ask(small);
  desk_.Accept(0, Header({11}, 11));
  EXPECT_EQ(ReasonIn(*answer), "slice_too_large");

  // Two answers of 90 bytes are more than all may hold; the second waits for
  // nobody and is refused.
  auto first = Ask();
  const uint64_t first_id = id_;
  desk_.Accept(0, Header({90}, 90));
  desk_.Accept(0, Data(std::string(89, 'x'), false));
  auto second = Ask();
  desk_.Accept(0, Header({90}, 90));
  desk_.Accept(0, Data(std::string(89, 'x'), false));
  EXPECT_EQ(ReasonIn(*second), "too_many_requests");
  id_ = first_id;
  desk_.Accept(0, Data("x", true));
  EXPECT_TRUE((*first)->ok());
  // Room is free again.
  auto third = Ask();
  desk_.Accept(0, Header({90}, 90));
  desk_.Accept(0, Data(std::string(90, 'x'), true));
  EXPECT_TRUE((*third)->ok());
}

TEST_F(TensorDeskTest, TakesAnswersOnlyFromTheRankThatWasAsked) {
  auto answer = Ask();
  TensorPiece piece = Header({0}, 0);
  piece.last = true;
  desk_.Accept(1, piece);
  EXPECT_FALSE(answer->has_value());
  desk_.Accept(0, piece);
  EXPECT_TRUE(answer->has_value());
}

TEST_F(TensorDeskTest, FailsAllThatARankOwesWhenItIsGone) {
  auto one = Ask();
  auto two = Ask();
  model::TensorQuery query;
  query.rank = 1;
  auto other = Ask(query);
  desk_.FailRank(0, absl::UnavailableError("gone"));
  EXPECT_EQ((*one)->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*two)->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(other->has_value());
  EXPECT_TRUE(desk_.Fail(id_, absl::DeadlineExceededError("late")));
  EXPECT_FALSE(desk_.Fail(id_, absl::DeadlineExceededError("late")));
}

TEST_F(TensorDeskTest, HoldsNoMoreThanSoManyRequests) {
  for (size_t i = 0; i < TensorDesk::kMaxPending; ++i) Ask();
  auto refused = desk_.Open({}, [](auto) {});
  EXPECT_EQ(ReasonOf(refused.status()), "too_many_requests");
  desk_.FailRank(0, absl::UnavailableError("gone"));
}

}  // namespace
}  // namespace graphdbg::jobs
