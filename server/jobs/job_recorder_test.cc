#include "server/jobs/job_recorder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/base/error.h"
#include "server/jobs/testing/fakes.h"

namespace graphdbg::jobs {
namespace {

class JobRecorderTest : public testing::Test {
 protected:
  JournalRecords records_;
  FakeTaskRunner tasks_;
  std::vector<std::string> failures_;
  JobRecorder recorder_{std::make_unique<FakeJobJournal>(records_), tasks_,
                        [this](const absl::Status& failure) {
                          failures_.push_back(std::string(failure.message()));
                        }};
};

TEST_F(JobRecorderTest, WithoutAJournalEverythingIsDurable) {
  JobRecorder none(nullptr, tasks_, [](const absl::Status&) {});
  bool called = false;
  none.WhenDurable([&](const absl::Status&) { called = true; });
  EXPECT_TRUE(called);
  EXPECT_EQ(none.journal(), nullptr);
  none.Forget();
}

TEST_F(JobRecorderTest, ContinuesOnTheStrandOnceRecordsAreDurable) {
  bool called = false;
  recorder_.WhenDurable([&](const absl::Status& kept) { called = kept.ok(); });
  EXPECT_FALSE(called);
  // The journal's thread; the work itself belongs on the strand.
  records_.Flush();
  EXPECT_FALSE(called);
  tasks_.RunPosted();
  EXPECT_TRUE(called);
}

TEST_F(JobRecorderTest, AFailureIsPassedOnAndReportedOnce) {
  std::vector<std::string> reasons;
  for (int i = 0; i < 2; ++i) {
    recorder_.WhenDurable(
        [&](const absl::Status& kept) { reasons.push_back(ReasonOf(kept)); });
    records_.Flush(absl::ResourceExhaustedError("disk full"));
    tasks_.RunPosted();
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{"not_kept", "not_kept"}));
  EXPECT_EQ(failures_, std::vector<std::string>{"disk full"});
}

TEST_F(JobRecorderTest, OnceDurableWaitsForTheEndOfAFailure) {
  bool called = false;
  recorder_.OnceDurable([&](const absl::Status& kept) { called = kept.ok(); });
  records_.Flush(absl::ResourceExhaustedError("disk full"));
  tasks_.RunPosted();
  EXPECT_FALSE(called);
  records_.Flush();
  tasks_.RunPosted();
  EXPECT_TRUE(called);
}

TEST_F(JobRecorderTest, RefusesInAdvanceWhatCouldNotBeKept) {
  EXPECT_TRUE(recorder_.Check().ok());
  records_.full = true;
  EXPECT_EQ(ReasonOf(recorder_.Check()), "not_kept");
  records_.full = false;
  records_.status = absl::ResourceExhaustedError("disk full");
  EXPECT_EQ(ReasonOf(recorder_.Check()), "not_kept");
  records_.status = absl::OkStatus();
  recorder_.Seal();
  EXPECT_EQ(ReasonOf(recorder_.Check()), "not_kept");
  EXPECT_TRUE(recorder_.CheckStore().ok());
}

TEST_F(JobRecorderTest, RecordsNothingOfAForgottenJob) {
  EXPECT_NE(recorder_.journal(), nullptr);
  recorder_.Forget();
  EXPECT_TRUE(records_.forgotten);
  EXPECT_EQ(recorder_.journal(), nullptr);
}

}  // namespace
}  // namespace graphdbg::jobs
