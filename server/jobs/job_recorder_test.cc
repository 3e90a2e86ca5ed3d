#include "server/jobs/job_recorder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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
  none.WhenDurable([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_EQ(none.journal(), nullptr);
  none.Forget();
}

TEST_F(JobRecorderTest, ContinuesOnTheStrandOnceRecordsAreDurable) {
  bool called = false;
  recorder_.WhenDurable([&] { called = true; });
  EXPECT_FALSE(called);
  // The journal's thread; the work itself belongs on the strand.
  records_.Flush();
  EXPECT_FALSE(called);
  tasks_.RunPosted();
  EXPECT_TRUE(called);
}

TEST_F(JobRecorderTest, AFailureIsReportedOnceAndStopsNothing) {
  int calls = 0;
  for (int i = 0; i < 2; ++i) {
    recorder_.WhenDurable([&] { ++calls; });
    records_.Flush(absl::ResourceExhaustedError("disk full"));
    tasks_.RunPosted();
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(failures_, std::vector<std::string>{"disk full"});
}

TEST_F(JobRecorderTest, RecordsNothingOfAForgottenJob) {
  EXPECT_NE(recorder_.journal(), nullptr);
  recorder_.Forget();
  EXPECT_TRUE(records_.forgotten);
  EXPECT_EQ(recorder_.journal(), nullptr);
}

}  // namespace
}  // namespace graphdbg::jobs
