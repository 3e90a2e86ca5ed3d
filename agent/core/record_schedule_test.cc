#include "agent/core/record_schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/record_settings.h"

namespace graphdbg::agent {
namespace {

using runs::EndReason;
using runs::Mode;
using std::chrono::milliseconds;

RecordSettings SettingsOf(const std::string& json) {
  RecordSettings settings;
  const absl::Status status = ReadRecordJson(json, &settings);
  EXPECT_TRUE(status.ok()) << status;
  return settings;
}

std::vector<uint64_t> DueSteps(const RecordSettings& settings, Mode mode,
                               CollectionMask collection = 1) {
  const RecordSchedule schedule(&settings);
  std::vector<uint64_t> due;
  for (uint64_t step = 1; step <= 10; ++step) {
    if ((schedule.For(mode, step, 100).due & collection) != 0) {
      due.push_back(step);
    }
  }
  return due;
}

using Steps = std::vector<uint64_t>;

TEST(RecordSchedule, RecordsEveryStepByDefault) {
  const RecordSettings settings = SettingsOf("{}");
  EXPECT_EQ(DueSteps(settings, Mode::kTrain).size(), 10u);
  EXPECT_EQ(DueSteps(settings, Mode::kUnknown).size(), 10u);
}

TEST(RecordSchedule, CountsFromAnIntervalAndListedSteps) {
  EXPECT_EQ(DueSteps(SettingsOf(R"({"save": {"every": 3, "start": 4, "end": 9,
                                             "steps": [1]}})"),
                     Mode::kTrain),
            (Steps{1, 6}));
}

TEST(RecordSchedule, IsMostSpecificFieldByField) {
  const RecordSettings settings = SettingsOf(
      R"({"save": {"every": 2, "start": 3, "eval": {"every": 4}},
          "collections": [
            {"name": "weights", "save": {"end": 7, "eval": {"start": 8}}},
            {"name": "all", "save": {"every": 5, "end": null}}]})");
  EXPECT_EQ(DueSteps(settings, Mode::kTrain), (Steps{4, 6}));
  EXPECT_EQ(DueSteps(settings, Mode::kEval), Steps());
  EXPECT_EQ(DueSteps(settings, Mode::kTrain, 2), (Steps{5, 10}));
  // The collection comes before the global mode.
  EXPECT_EQ(DueSteps(settings, Mode::kEval, 2), (Steps{5, 10}));
}

TEST(RecordSchedule, SaysWhyNothingIsRecorded) {
  const RecordSettings settings = SettingsOf(R"({"save": {"every": 2}})");
  RecordSchedule schedule(&settings);
  EXPECT_EQ(schedule.For(Mode::kTrain, 1, 1).reason, EndReason::kNotDue);
  EXPECT_EQ(schedule.For(Mode::kTrain, 2, 2).reason, EndReason::kNone);
  const RecordSchedule::Clock::time_point now{std::chrono::hours(1)};
  schedule.EndStep(
      {2, EndReason::kNone, milliseconds(100), 0, milliseconds(100)}, now);
  EXPECT_EQ(schedule.For(Mode::kTrain, 2, 2).reason, EndReason::kOverhead);
  EXPECT_EQ(schedule.For(Mode::kTrain, 2, 2).due, 0u);
}

TEST(RecordSchedule, BoostsAreDueWhateverTheyCost) {
  const RecordSettings settings = SettingsOf(R"({"save": {"every": 2}})");
  RecordSchedule schedule(&settings);
  constexpr CollectionMask kBoosted = CollectionMask{1} << 40;
  schedule.Boost(kBoosted, 3);
  schedule.Boost(kBoosted, 2);
  schedule.Boost(kBoosted << 1, 1);
  EXPECT_EQ(schedule.For(Mode::kTrain, 1, 1).due, kBoosted | kBoosted << 1);
  EXPECT_EQ(schedule.For(Mode::kTrain, 1, 1).reason, EndReason::kNone);
  const RecordSchedule::Clock::time_point now{std::chrono::hours(1)};
  schedule.EndStep(
      {2, EndReason::kNone, milliseconds(100), 0, milliseconds(100)}, now);
  EXPECT_EQ(schedule.For(Mode::kTrain, 2, 2).due, kBoosted);
  EXPECT_EQ(schedule.For(Mode::kTrain, 2, 3).boosted, kBoosted);
  EXPECT_EQ(schedule.For(Mode::kTrain, 4, 4).boosted, 0u);
  EXPECT_EQ(schedule.For(Mode::kTrain, 4, 4).reason, EndReason::kOverhead);
}

// The share of the time that a program spends on being recorded, if a step
// takes 50 ms and recording it `cost`, of which `measuring` is measured.
double ShareOf(milliseconds cost, milliseconds measuring, uint64_t ops = 1000,
               const char* directory = "") {
  RecordSettings settings = SettingsOf(R"({"record": {"overhead": 0.05}})");
  settings.directory = directory;
  RecordSchedule schedule(&settings);
  RecordSchedule::Clock::time_point now{std::chrono::hours(1)};
  milliseconds spent(0);
  constexpr uint64_t kSteps = 4000;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    const auto plan = schedule.For(Mode::kTrain, step, step);
    const bool due = plan.due != 0;
    const milliseconds duration =
        milliseconds(50) + (due ? cost : milliseconds(0));
    now += duration;
    if (due) spent += cost;
    schedule.EndStep({step, plan.reason, due ? measuring : milliseconds(0),
                      due ? ops : 0, duration},
                     now);
  }
  return static_cast<double>(spent.count()) / (kSteps * 50.0);
}

TEST(RecordSchedule, KeepsToItsShareOfTheTime) {
  const double share = ShareOf(milliseconds(10), milliseconds(10));
  EXPECT_LT(share, 0.055);
  EXPECT_GT(share, 0.03);
}

TEST(RecordSchedule, CountsWhatRecordingCostsBesidesMeasuring) {
  const double share = ShareOf(milliseconds(20), milliseconds(8));
  EXPECT_LT(share, 0.055);
  EXPECT_GT(share, 0.03);
}

TEST(RecordSchedule, LooksAgainLaterIfTheOverviewFindsNothing) {
  for (const bool overview : {true, false}) {
    RecordSettings settings =
        overview ? OverviewSettings(std::nullopt)
                 : SettingsOf(R"({"record": {"overhead": 0.01}})");
    if (!overview) settings.directory = "runs";
    RecordSchedule schedule(&settings);
    const RecordSchedule::Clock::time_point begin{std::chrono::hours(1)};
    schedule.EndStep({1, EndReason::kNone, milliseconds(0), 1, milliseconds(5),
                      /*in_vain=*/true},
                     begin + milliseconds(5));
    EXPECT_EQ(schedule.For(Mode::kTrain, 2, 2).due == 0, overview);
    EXPECT_EQ(schedule.For(Mode::kTrain, 2, 2).reason,
              overview ? EndReason::kNotDue : EndReason::kNone);
    // A step that was not due has not looked.
    schedule.EndStep(
        {2, EndReason::kNotDue, milliseconds(0), 1, milliseconds(5)},
        begin + milliseconds(106));
    EXPECT_NE(schedule.For(Mode::kTrain, 3, 3).due, 0u);
  }
}

TEST(RecordSchedule, LeavesTimeForNotingTheOpsOfAllSteps) {
  // 1 ms of 50 ms.
  const double share = ShareOf(milliseconds(10), milliseconds(10), 10'000, "d");
  EXPECT_LT(share, 0.035);
  EXPECT_GT(share, 0.02);
  // More than the limit: something is recorded nevertheless.
  const double least =
      ShareOf(milliseconds(10), milliseconds(10), 100'000, "d");
  EXPECT_LT(least, 0.015);
  EXPECT_GT(least, 0.005);
}

TEST(RecordSchedule, WithoutALimitLeavesNothingOut) {
  RecordSettings settings = SettingsOf(R"({"record": {"overhead": 0}})");
  RecordSchedule schedule(&settings);
  schedule.EndStep(
      {1, EndReason::kNone, std::chrono::hours(1), 0, std::chrono::hours(1)},
      RecordSchedule::Clock::now());
  EXPECT_NE(schedule.For(Mode::kTrain, 1, 1).due, 0u);
}

TEST(RecordSchedule, RecordsEverythingAfterAHitNowAndThen) {
  RecordSettings settings = SettingsOf(
      R"({"record": {"after_hit": 3, "hit_pause": 10},
          "save": {"every": 100}})");
  RecordSchedule schedule(&settings);
  EXPECT_FALSE(schedule.For(Mode::kTrain, 5, 5).everything);
  EXPECT_EQ(schedule.Hit(5), 8u);
  EXPECT_TRUE(schedule.For(Mode::kTrain, 8, 8).everything);
  EXPECT_EQ(schedule.For(Mode::kTrain, 8, 8).reason, EndReason::kNone);
  EXPECT_FALSE(schedule.For(Mode::kTrain, 9, 9).everything);
  EXPECT_EQ(schedule.Hit(9), 0u);
  EXPECT_FALSE(schedule.For(Mode::kTrain, 10, 10).everything);
  EXPECT_EQ(schedule.Hit(15), 18u);
}

TEST(RecordSchedule, KnowsTheLevelsOfItsCollections) {
  const RecordSettings settings = SettingsOf(
      R"({"record": {"level": "light"},
          "collections": [{"name": "weights"},
                          {"name": "losses", "level": "statistics",
                           "reductions": {"digest": true}},
                          {"name": "all", "level": "off"}]})");
  const RecordSchedule schedule(&settings);
  EXPECT_EQ(schedule.full(), 2u);
  EXPECT_EQ(schedule.digests(), 2u);
  EXPECT_EQ(schedule.For(Mode::kTrain, 1, 1).due, 3u);
}

}  // namespace
}  // namespace graphdbg::agent
