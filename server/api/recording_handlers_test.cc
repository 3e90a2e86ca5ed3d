#include <gtest/gtest.h>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class RecordingHandlersTest : public testing::ApiTest {
 protected:
  RecordingHandlersTest() {
    model::RankRecording rank;
    rank.rank = 1;
    rank.supported = true;
    rank.state = model::RecordingState::kOn;
    rank.host = "node7";
    rank.directory = "/runs/train.2";
    rank.keeps_all = false;
    rank.steps = 12;
    rank.dropped = 3;
    rank.time_share = 0.25;
    job_->recording.ranks.push_back(rank);
  }

  http::Response Put(const std::string& body) {
    return fixture_.Call("PUT", "/jobs/train/recording",
                         {.body = body, .accept = {}});
  }
};

TEST_F(RecordingHandlersTest, ReportsWhatEachRankRecords) {
  const Json answer = BodyOf(Get("/jobs/train/recording"));
  const Json& rank = answer["ranks"][0];
  EXPECT_EQ(rank["rank"], 1);
  EXPECT_EQ(rank["state"], "on");
  EXPECT_EQ(rank["host"], "node7");
  EXPECT_EQ(rank["directory"], "/runs/train.2");
  EXPECT_EQ(rank["keep"], "ring");
  EXPECT_EQ(rank["steps"], 12);
  EXPECT_EQ(rank["dropped"], 3);
  EXPECT_EQ(rank["time_share"], 0.25);
}

TEST_F(RecordingHandlersTest, PassesSettingsOn) {
  EXPECT_EQ(Put(R"({"on":true,"directory":"/runs","level":"light",
                    "keep":"ring","collections":["weights","losses"]})")
                .status,
            200);
  ASSERT_TRUE(job_->asked_recording.has_value());
  EXPECT_TRUE(job_->asked_recording->on);
  EXPECT_EQ(job_->asked_recording->directory, "/runs");
  const auto settings = Json::parse(job_->asked_recording->settings);
  EXPECT_EQ(settings["record"]["level"], "light");
  EXPECT_EQ(settings["record"]["keep"], "ring");
  EXPECT_EQ(settings["collections"][1]["name"], "losses");
  EXPECT_EQ(Put(R"({"on":false})").status, 200);
  EXPECT_FALSE(job_->asked_recording->on);
  EXPECT_EQ(job_->asked_recording->settings, "");
}

TEST_F(RecordingHandlersTest, RefusesWhatMakesNoSense) {
  ExpectProblem(Put("{}"), 422, "invalid_field", "on");
  ExpectProblem(Put(R"({"on":false,"level":"light"})"), 422, "invalid_field",
                "on");
  ExpectProblem(Put(R"({"on":true,"ring":1})"), 422, "invalid_field", "ring");
  job_->error = Error(absl::StatusCode::kFailedPrecondition, "recording_failed",
                      "rank 0: the disk is full");
  ExpectProblem(Put(R"({"on":true})"), 409, "recording_failed");
}

}  // namespace
}  // namespace graphdbg::api
