#include <gtest/gtest.h>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class JobHandlersTest : public testing::ApiTest {};

TEST_F(JobHandlersTest, AJobHasAllFieldsOfTheContract) {
  job_->info.name = "Digits";
  job_->info.framework = "pytorch";
  job_->info.state = model::JobState::kPaused;
  job_->info.pause_reason = model::PauseReason::kWatchpoint;
  job_->info.step = 7;
  job_->info.node = "forward/fc/addmm";
  job_->info.created_at_unix_nano = 1'700'000'000'123'456'000;
  job_->info.stopped_by = {2};
  job_->info.unchecked = {3};
  job_->info.unsupported = {{model::ControlVerb::kNextNode, "no nodes"}};
  model::Rank rank;
  rank.pid = 42;
  rank.device = "cpu";
  rank.state = model::JobState::kPaused;
  job_->info.ranks = {rank};
  Json job = BodyOf(Get("/jobs/train"));
  EXPECT_EQ(job["id"], "train");
  EXPECT_EQ(job["name"], "Digits");
  EXPECT_EQ(job["state"], "paused");
  EXPECT_EQ(job["pause_reason"], "watchpoint");
  EXPECT_EQ(job["step"], 7);
  EXPECT_EQ(job["node"], "forward/fc/addmm");
  EXPECT_EQ(job["created_at"], "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(job["stopped_by"], Json::array({2}));
  EXPECT_EQ(job["unchecked_watchpoints"], Json::array({3}));
  EXPECT_EQ(job["unsupported_commands"], (Json{{"next_node", "no nodes"}}));
  EXPECT_EQ(job["ranks"][0]["pid"], 42);
  EXPECT_EQ(job["ranks"][0]["state"], "paused");
  EXPECT_TRUE(job["exit_code"].is_null());
  EXPECT_TRUE(job["exception"].is_null());
  EXPECT_EQ(BodyOf(Get("/jobs"))["jobs"], Json::array({job}));
}

TEST_F(JobHandlersTest, RanksAreListedByPagesAndStates) {
  for (uint32_t number = 0; number < 5; ++number) {
    model::Rank rank;
    rank.rank = number;
    rank.state =
        number == 1 ? model::JobState::kRunning : model::JobState::kPaused;
    job_->info.ranks.push_back(rank);
  }
  const Json first = BodyOf(Get("/jobs/train/ranks?limit=3&state=paused"));
  ASSERT_EQ(first["ranks"].size(), 3u);
  EXPECT_EQ(first["ranks"][1]["rank"], 2);
  EXPECT_EQ(first["next_cursor"], "4");
  const Json rest = BodyOf(Get("/jobs/train/ranks?limit=3&cursor=4"));
  ASSERT_EQ(rest["ranks"].size(), 1u);
  EXPECT_EQ(rest["ranks"][0]["rank"], 4);
  EXPECT_TRUE(rest["next_cursor"].is_null());
}

TEST_F(JobHandlersTest, AJobOfManyRanksSaysHowManyAreInEachState) {
  EXPECT_FALSE(BodyOf(Get("/jobs/train")).contains("rank_states"));
  EXPECT_FALSE(BodyOf(Get("/jobs/train")).contains("ranks_complete"));
  model::Rank rank;
  rank.brief = true;
  rank.step = 7;
  job_->info.ranks = {rank};
  job_->info.lists_all_ranks = false;
  job_->info.rank_states = {{model::JobState::kRunning, 1'024}};
  const Json job = BodyOf(Get("/jobs/train"));
  EXPECT_EQ(job["ranks_complete"], false);
  EXPECT_EQ(job["rank_states"], (Json{{"running", 1'024}}));
  EXPECT_EQ(job["ranks"][0]["step"], 7);
  EXPECT_FALSE(job["ranks"][0].contains("host"));
}

// The list of jobs, the metrics and the events of all jobs must not depend on
// any single job.
TEST_F(JobHandlersTest, ABusyJobIsListedAsLastKnown) {
  job_->info.step = 7;
  job_->busy = true;
  EXPECT_EQ(BodyOf(Get("/jobs"))["jobs"][0]["step"], 7);
  EXPECT_NE(
      Get("/metrics").body.find("graphdbg_jobs{state=\"connecting\"} 1\n"),
      std::string::npos);
}

TEST_F(JobHandlersTest, AJobWithoutCredentialsIsMarked) {
  EXPECT_FALSE(BodyOf(Get("/jobs/train")).contains("verified"));
  job_->info.verified = false;
  EXPECT_EQ(BodyOf(Get("/jobs/train"))["verified"], false);
}

TEST_F(JobHandlersTest, AnEndedJobSaysHow) {
  job_->info.state = model::JobState::kFinished;
  job_->info.exit_code = 1;
  job_->info.exception = model::Exception{"ValueError", "bad", "trace", ""};
  Json job = BodyOf(Get("/jobs/train"));
  EXPECT_TRUE(job["pause_reason"].is_null());
  EXPECT_EQ(job["exit_code"], 1);
  EXPECT_EQ(job["exception"]["type"], "ValueError");
  EXPECT_TRUE(job["exception"]["node"].is_null());
}

TEST_F(JobHandlersTest, TextThatIsNotUnicodeIsReplaced) {
  job_->info.name = "caf\xe9";
  EXPECT_EQ(BodyOf(Get("/jobs/train"))["name"], "caf\xef\xbf\xbd");
}

TEST_F(JobHandlersTest, EveryRouteOfAnUnknownJobSaysSo) {
  for (const Route& route : Routes()) {
    size_t job = route.path.find("{job}");
    if (job == std::string::npos) continue;
    std::string path = route.path.substr(std::string("/api/v1").size());
    path.replace(path.find("{job}"), 5, "nobody");
    ExpectProblem(fixture_.Call(std::string(route.method), path), 404,
                  "unknown_job");
  }
}

TEST_F(JobHandlersTest, NamesOfJobsMayHoldAnything) {
  fixture_.directory.Add("a/b c");
  EXPECT_EQ(BodyOf(Get("/jobs/a%2Fb%20c"))["id"], "a/b c");
}

TEST_F(JobHandlersTest, OnlyAnEndedJobCanBeForgotten) {
  job_->info.state = model::JobState::kRunning;
  ExpectProblem(fixture_.Call("DELETE", "/jobs/train"), 409, "invalid_state");
  job_->info.state = model::JobState::kFinished;
  http::Response response = fixture_.Call("DELETE", "/jobs/train");
  EXPECT_EQ(response.status, 204);
  EXPECT_TRUE(response.bytes().empty());
  ExpectProblem(Get("/jobs/train"), 404, "unknown_job");
}

TEST_F(JobHandlersTest, ControlIsTakenAndItsOutcomeComesLater) {
  http::Response response =
      Post("/jobs/train/control", R"({"command":"step","steps":3})");
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(BodyOf(response)["command_id"], "command-1");
  ASSERT_TRUE(job_->asked_control);
  EXPECT_EQ(job_->asked_control->verb, model::ControlVerb::kStep);
  EXPECT_EQ(job_->asked_control->steps, 3u);
}

TEST_F(JobHandlersTest, ControlIsTakenWithWhoGaveIt) {
  testing::CallOptions options;
  options.body = R"({"command":"pause"})";
  for (const auto& [agent, client] :
       {std::pair{"Mozilla/5.0 (X11; Linux x86_64)", "browser"},
        std::pair{"graphdbg/0.1 (ctl)", "graphdbg"}, std::pair{"", ""}}) {
    options.headers.Set("User-Agent", agent);
    fixture_.Call("POST", "/jobs/train/control", options);
    ASSERT_TRUE(job_->asked_control);
    EXPECT_EQ(job_->asked_control->client, client);
  }
}

TEST_F(JobHandlersTest, ControlThatDoesNotFitIsRefused) {
  ExpectProblem(Post("/jobs/train/control", R"({"command":"jump"})"), 422,
                "invalid_field", "command");
  ExpectProblem(Post("/jobs/train/control", "not json"), 400, "bad_json");
  EXPECT_FALSE(job_->asked_control);
  job_->error = Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
                      "the job is running");
  ExpectProblem(Post("/jobs/train/control", R"({"command":"continue"})"), 409,
                "invalid_state");
  job_->error = Error(absl::StatusCode::kNotFound, "unknown_node", "no such");
  ExpectProblem(
      Post("/jobs/train/control", R"({"command":"continue_to","node":"x"})"),
      404, "unknown_node");
}

}  // namespace
}  // namespace graphdbg::api
