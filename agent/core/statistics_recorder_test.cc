#include "agent/core/statistics_recorder.h"

#include <chrono>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using std::chrono::milliseconds;
using Clock = StatisticsRecorder::Clock;

class StatisticsRecorderTest : public testing::Test {
 protected:
  void Record(StatisticsRecorder* recorder, uint32_t node) {
    const int64_t size = static_cast<int64_t>(values_.size());
    TensorView view;
    view.data = values_.data();
    view.dtype = DType::kFloat32;
    const int64_t stride = 1;
    view.ndim = 1;
    view.shape = &size;
    view.strides = &stride;
    conditions::TensorMeasurements measurements(&view, nullptr, 1);
    ASSERT_TRUE(measurements.Measure({}));
    recorder->Record(node, 0, &measurements);
  }

  std::vector<float> values_ = {1, -3, 0, 6};
};

// Limits under which the time spent on measuring does not matter.
constexpr StatisticsRecorder::Limits kBySize = {
    /*tensors_per_step=*/3, /*tensors_per_second=*/10, /*time_share=*/1e9};

TEST_F(StatisticsRecorderTest, GivesWhatTheStepMade) {
  StatisticsRecorder recorder(kBySize);
  ASSERT_TRUE(recorder.recording());
  Record(&recorder, 7);
  Record(&recorder, 8);
  const v1::StatisticsReport report = recorder.EndStep(5, Clock::time_point());
  EXPECT_EQ(report.step(), 5u);
  ASSERT_EQ(report.tensors_size(), 2);
  EXPECT_EQ(report.tensors(0).node_id(), 7u);
  EXPECT_EQ(report.tensors(1).node_id(), 8u);
  EXPECT_EQ(report.tensors(1).statistics().count(), 4u);
  EXPECT_EQ(report.tensors(1).statistics().zero_count(), 1u);
  EXPECT_EQ(report.tensors(1).statistics().mean(), 1);
  EXPECT_EQ(report.tensors(1).statistics().abs_max(), 6);
}

TEST_F(StatisticsRecorderTest, PutsTheNextStepOffByWhatThereIsToSend) {
  StatisticsRecorder recorder(kBySize);
  const Clock::time_point start = Clock::now();
  // The allowance of 200 ms is available at once.
  for (uint64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(recorder.recording());
    Record(&recorder, 1);
    recorder.EndStep(step, start);
  }
  EXPECT_FALSE(recorder.recording());
  recorder.EndStep(4, start + milliseconds(99));
  EXPECT_FALSE(recorder.recording());
  recorder.EndStep(5, start + milliseconds(100));
  EXPECT_TRUE(recorder.recording());
  // Nothing was watched, so the next step is recorded as well.
  EXPECT_EQ(recorder.EndStep(6, start + milliseconds(101)).tensors_size(), 0);
  EXPECT_TRUE(recorder.recording());
}

TEST_F(StatisticsRecorderTest, PutsTheNextStepOffByWhatItTook) {
  values_.assign(1 << 20, 1.0f);
  StatisticsRecorder recorder({/*tensors_per_step=*/10,
                               /*tensors_per_second=*/1e9,
                               /*time_share=*/1e-9});
  const Clock::time_point start = Clock::now();
  Record(&recorder, 1);
  recorder.EndStep(1, start);
  EXPECT_FALSE(recorder.recording());
  recorder.EndStep(2, start + std::chrono::hours(1));
  EXPECT_FALSE(recorder.recording());
}

TEST_F(StatisticsRecorderTest, ABurstOfStepsDoesNotSpendWhatAWaitSaved) {
  values_.assign(1 << 20, 1.0f);
  // Any measurement takes longer than the allowance that accumulates, but less
  // than the allowance of 1,000 hours.
  StatisticsRecorder recorder({/*tensors_per_step=*/10,
                               /*tensors_per_second=*/1e9,
                               /*time_share=*/1e-4});
  const Clock::time_point start = Clock::now();
  Record(&recorder, 1);
  recorder.EndStep(1, start);
  const Clock::time_point after_a_wait = start + std::chrono::hours(1'000);
  recorder.EndStep(2, after_a_wait);
  ASSERT_TRUE(recorder.recording());
  Record(&recorder, 1);
  recorder.EndStep(3, after_a_wait);
  EXPECT_FALSE(recorder.recording());
}

TEST_F(StatisticsRecorderTest, CountsTheStepsThatItLeavesOut) {
  StatisticsRecorder recorder;
  recorder.EndStep(1, Clock::now());
  EXPECT_EQ(recorder.steps_left_out(), 0u);
  recorder.LeaveOut();
  recorder.LeaveOut();
  recorder.EndStep(2, Clock::now());
  recorder.EndStep(3, Clock::now());
  EXPECT_EQ(recorder.steps_left_out(), 1u);
}

TEST_F(StatisticsRecorderTest, LeavesOutTheRestOfALargeStep) {
  StatisticsRecorder recorder(kBySize);
  for (uint32_t node = 1; node <= 4; ++node) Record(&recorder, node);
  EXPECT_FALSE(recorder.recording());
  const auto report = recorder.EndStep(1, Clock::now());
  ASSERT_EQ(report.tensors_size(), 3);
  EXPECT_EQ(report.tensors(2).node_id(), 3u);
}

}  // namespace
}  // namespace graphdbg::agent
