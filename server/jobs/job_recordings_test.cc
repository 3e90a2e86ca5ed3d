#include "server/jobs/job_recordings.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

using Answer = std::optional<absl::StatusOr<model::JobRecording>>;

class JobRecordingsTest : public JobFixture {
 protected:
  JobRecordingsTest() {
    for (const uint32_t rank : {0, 1}) Connect(rank).hello.can_record = true;
  }

  std::shared_ptr<Answer> Set(const model::RecordingSpec& spec) {
    auto answer = std::make_shared<Answer>();
    recordings_.Set(spec, [answer](absl::StatusOr<model::JobRecording> got) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(got);
    });
    return answer;
  }

  SetRecordingOrder OrderOf(uint32_t rank) const {
    return LinkOf(rank)->OrdersOf<SetRecordingOrder>().back();
  }

  void Report(uint32_t rank, uint64_t order, absl::Status error = {}) {
    RecordingReport report;
    report.order = order;
    report.recording.state = model::RecordingState::kStarting;
    report.recording.directory = "/runs/train";
    report.error = std::move(error);
    recordings_.OnReport(rank, report);
  }

  static std::string ReasonIn(const std::shared_ptr<Answer>& answer) {
    return answer->has_value() ? ReasonOf((*answer)->status()) : "no answer";
  }

  JobRecordings recordings_{machine_, tasks_};
  const model::RecordingSpec on_ = {true, "/runs", "{}", {}};
};

TEST_F(JobRecordingsTest, AnswersOnceAllRanksHave) {
  const auto answer = Set(on_);
  EXPECT_TRUE(OrderOf(0).spec.on);
  EXPECT_EQ(OrderOf(1).spec.directory, "/runs");
  Report(0, OrderOf(0).id);
  EXPECT_FALSE(answer->has_value());
  // The answer to another order.
  Report(1, 99);
  EXPECT_FALSE(answer->has_value());
  Report(1, OrderOf(1).id);
  ASSERT_TRUE(answer->has_value());
  ASSERT_TRUE((*answer)->ok()) << (*answer)->status();
  ASSERT_EQ((**answer)->ranks.size(), 2u);
  EXPECT_EQ((**answer)->ranks[1].rank, 1u);
  EXPECT_TRUE((**answer)->ranks[1].supported);
  EXPECT_EQ((**answer)->ranks[1].directory, "/runs/train");
}

TEST_F(JobRecordingsTest, NamesTheRankThatCannotRecord) {
  const auto answer = Set(on_);
  Report(0, OrderOf(0).id);
  Report(1, OrderOf(1).id,
         Error(absl::StatusCode::kFailedPrecondition, "recording_failed",
               "cannot create the directory /runs"));
  EXPECT_EQ(ReasonIn(answer), "recording_failed");
  EXPECT_EQ((*answer)->status().message(),
            "rank 1: cannot create the directory /runs");
}

TEST_F(JobRecordingsTest, FailsIfARankIsLostOrLate) {
  auto answer = Set(on_);
  Report(0, OrderOf(0).id);
  recordings_.FailRank(1, Error(absl::StatusCode::kUnavailable, "job_gone",
                                "the process is gone"));
  EXPECT_EQ(ReasonIn(answer), "job_gone");
  answer = Set(on_);
  Report(0, OrderOf(0).id);
  tasks_.FireTimers();
  EXPECT_EQ(ReasonIn(answer), "deadline_exceeded");
  // A late answer is no answer, but what it reports is known.
  Report(1, OrderOf(1).id);
  EXPECT_EQ(recordings_.List().ranks[1].directory, "/runs/train");
}

TEST_F(JobRecordingsTest, RefusesWhatCannotBeSwitched) {
  machine_.Find(1)->hello.can_record = false;
  EXPECT_EQ(ReasonIn(Set(on_)), "unsupported_command");
  EXPECT_FALSE(recordings_.List().ranks[1].supported);
  machine_.Find(1)->hello.can_record = true;
  machine_.Find(1)->hello.allowed.change = false;
  EXPECT_EQ(ReasonIn(Set(on_)), "not_allowed_by_job");
  EXPECT_TRUE(LinkOf(0)->OrdersOf<SetRecordingOrder>().empty());
}

TEST_F(JobRecordingsTest, EveryRankHasToBeAbleToRecordMore) {
  model::RecordingSpec more = on_;
  more.boost = {"{}", 3};
  machine_.Find(0)->hello.can_boost = true;
  const auto refused = Set(more);
  EXPECT_EQ(ReasonIn(refused), "unsupported_command");
  EXPECT_NE((*refused)->status().message().find("agent of rank 1"),
            std::string::npos);
  machine_.Find(1)->hello.can_boost = true;
  const auto answer = Set(more);
  EXPECT_EQ(OrderOf(1).spec.boost->steps, 3u);
}

TEST_F(JobRecordingsTest, WhatARankRecordedOutlivesIt) {
  const auto answer = Set(on_);
  Report(0, OrderOf(0).id);
  Report(1, OrderOf(1).id);
  machine_.OnDisconnected(*machine_.Find(1));
  recordings_.FailRank(1, absl::UnavailableError("gone"));
  const model::RankRecording lost = recordings_.List().ranks[1];
  EXPECT_EQ(lost.state, model::RecordingState::kOff);
  EXPECT_EQ(lost.directory, "/runs/train");
  EXPECT_FALSE(lost.supported);
}

}  // namespace
}  // namespace graphdbg::jobs
