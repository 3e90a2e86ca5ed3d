// Recorded runs over HTTP, from files to answers.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "server/runs/testing/run_writer.h"
#include "tests/integration/real_server.h"

namespace graphdbg::integration {
namespace {

using Json = RealServer::Json;
using recorded::testing::RankWriter;

constexpr char kRun[] = "/api/v1/runs/abc";

class RunsTest : public testing::Test {
 protected:
  RunsTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "runs" / "abc");
  }
  ~RunsTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Two ranks of 20 steps of three ops; op 2 of rank 1 is NaN at step 9.
  void Write() {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      RankWriter writer(folder_ / "runs" / "abc", rank);
      writer.WriteGraph(3);
      writer.WriteInfo();
      for (uint64_t step = 1; step <= 20; ++step) {
        writer.Begin(step);
        for (uint32_t node = 1; node <= 3; ++node) {
          const bool bad = rank == 1 && step == 9 && node == 2;
          writer.Statistics(step, node,
                            bad ? std::nan("") : static_cast<double>(step));
        }
        writer.End(step);
        if (step % 10 == 0) {
          const auto value = static_cast<float>(step);
          writer.WriteTensor(step, 1, {value, 1, 2, 3}, {4});
        }
      }
      writer.WriteSegment();
    }
  }

  void Start() {
    server_ = std::make_unique<RealServer>(
        folder_ / "data",
        std::vector<std::string>{"--runs=" + (folder_ / "runs").string()});
  }
  Json Get(const std::string& target) { return server_->Get(kRun + target); }
  std::string Refusal(const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    const auto reply = server_->Fetch(method, kRun + target, body);
    return std::to_string(reply.status) + " " +
           Json::parse(reply.body).value("code", "");
  }

  const std::filesystem::path folder_;
  std::unique_ptr<RealServer> server_;
};

TEST_F(RunsTest, ARunAnswersWhatAJobAnswersAtEachOfItsSteps) {
  Write();
  Start();
  const Json list = server_->Get("/api/v1/runs")["runs"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["id"], "abc");
  EXPECT_EQ(list[0]["last_step"], 20);
  EXPECT_EQ(Get("/steps?rank=1&limit=5")["steps"].size(), 5u);
  EXPECT_EQ(Get("/graphs")["graphs"][0]["node_count"], 3);
  EXPECT_EQ(Get("/graph/scope?name=forward&step=3")["nodes"].size(), 3u);
  for (const int step : {15, 4}) {
    const std::string at = "&step=" + std::to_string(step);
    const Json tensors = Get("/tensors?node=forward/op2" + at)["tensors"];
    EXPECT_EQ(tensors[1]["statistics"]["mean"], step);
    const Json around = Get("/graph/neighbours?name=forward/op2" + at);
    EXPECT_EQ(around["tensors"][0]["statistics_step"], step);
  }
  EXPECT_EQ(
      Get("/tensor/history?name=forward/op2:0&from=3&to=7")["points"].size(),
      5u);
}

TEST_F(RunsTest, ValuesAreReadAndComparedWhereTheyWereSaved) {
  Write();
  Start();
  const std::string name = "name=forward/op1:0";
  EXPECT_EQ(Get("/tensor?step=10&slice=[:2]&" + name)["data"],
            Json::parse("[10.0, 1.0]"));
  EXPECT_EQ(Get("/tensor?" + name)["step"], 20);
  const Json compared = Get("/tensor/compare?step=20&with=previous&" + name);
  EXPECT_EQ(compared["max_abs_difference"], 10);
  const std::string with = "/tensor/compare?step=20&" + name + "&with=";
  const Json other = Get(with + "run:abc:1@10");
  EXPECT_EQ(other["right"]["rank"], 1);
  EXPECT_EQ(other["right"]["step"], 10);
  EXPECT_EQ(other["max_abs_difference"], 10);
  EXPECT_EQ(Get(with + "run:abc:1")["max_abs_difference"], 0);
  EXPECT_EQ(Get(with + "run:abc")["right"]["step"], 20);
  const Json placed = Get(with + "run:abc:1,tensor:forward/op1:0@10");
  EXPECT_EQ(placed["right"], other["right"]);
  EXPECT_EQ(Get(with + "rank:1@10")["right"], other["right"]);
  EXPECT_EQ(Get(with + "rank:1,tensor:forward/op1:0@previous")["right"],
            other["right"]);
  EXPECT_EQ(Refusal("GET", with + "run:abd"), "404 unknown_run");
  EXPECT_EQ(Refusal("GET", with + "run:abd,tensor:forward/op1:0"),
            "404 unknown_run");
  EXPECT_EQ(Refusal("GET", with + "run:abc@13"), "404 not_recorded");
  EXPECT_EQ(Get("/tensor/histogram?step=20&" + name)["step"], 20);
  EXPECT_EQ(Refusal("GET", "/tensor?step=13&" + name), "404 not_recorded");
  EXPECT_EQ(Refusal("GET", "/tensors?node=forward/op1&step=x"),
            "400 invalid_parameter");
}

TEST_F(RunsTest, ACheckFindsWhereAConditionMatched) {
  Write();
  Start();
  const auto started = server_->Fetch(
      "POST", std::string(kRun) + "/checks",
      R"({"watchpoint": {"condition": {"id": "nan"}}, "steps": {"from": 2}})");
  ASSERT_EQ(started.status, 202) << started.body;
  const std::string id = Json::parse(started.body)["check_id"];
  const Json report = server_->GetUntil(
      kRun + ("/checks/" + id),
      [](const Json& json) { return json.value("state", "") == "done"; });
  EXPECT_EQ(report["done"], 38);
  ASSERT_EQ(report["hits"].size(), 1u);
  EXPECT_EQ(report["hits"][0]["rank"], 1);
  EXPECT_EQ(report["hits"][0]["step"], 9);
  EXPECT_EQ(report["hits"][0]["evidence"], "statistics");
  EXPECT_EQ(server_->Fetch("DELETE", kRun + ("/checks/" + id)).status, 204);
  EXPECT_EQ(Refusal("GET", "/checks/" + id), "404 unknown_check");
  EXPECT_EQ(Refusal("POST", "/checks", "{}"), "422 invalid_field");
}

TEST_F(RunsTest, ACheckEvaluatesRules) {
  Write();
  Start();
  const auto started =
      server_->Fetch("POST", std::string(kRun) + "/checks",
                     R"json({"rules": [{"name": "bad", "when": "nan_count > 0"},
          {"name": "calm", "when": "held(nan_count == 0, 2)", "for": 5,
           "select": {"nodes": ["forward/op1"]}, "cool_down": 1000
}]
})json");
  ASSERT_EQ(started.status, 202) << started.body;
  const std::string id = Json::parse(started.body)["check_id"];
  const Json report = server_->GetUntil(
      kRun + ("/checks/" + id),
      [](const Json& json) { return json.value("state", "") == "done"; });
  ASSERT_EQ(report["findings"].size(), 3u) << report;
  const Json& first = report["findings"][0];
  EXPECT_EQ(first["rule"], "calm");
  EXPECT_EQ(first["step"], 6);
  EXPECT_EQ(first["tensor"], "forward/op1:0");
  EXPECT_EQ(first["mode"], "train");
  EXPECT_EQ(first["values"], Json({{"nan_count", 0}}));
  EXPECT_EQ(first["message"],
            "held(nan_count == 0, 2): nan_count = 0, for 5 observations in a "
            "row");
  EXPECT_EQ(report["findings"][2]["rule"], "bad");
  EXPECT_EQ(report["findings"][2]["rank"], 1);
  EXPECT_EQ(report["findings"][2]["step"], 9);
  EXPECT_EQ(report["rules"][0]["finding_count"], 1);
  EXPECT_EQ(report["rules"][1]["observations"], 40);
  EXPECT_EQ(Refusal("POST", "/checks", R"({"rules": []})"),
            "422 invalid_field");
  EXPECT_EQ(Refusal("POST", "/checks",
                    R"({"rules": [{"name": "a", "when": "prev(mean) > 1"}]})"),
            "422 invalid_argument");
}

TEST_F(RunsTest, ARunThatAppearsLaterIsFoundAndUnknownOnesAreNot) {
  Start();
  EXPECT_EQ(Refusal("GET", ""), "404 unknown_run");
  Write();
  EXPECT_EQ(Get("")["ranks"].size(), 2u);
  EXPECT_EQ(Refusal("GET", "/statistics?step=99"), "404 unknown_step");
  EXPECT_EQ(Refusal("GET", "/steps?rank=7"), "404 unknown_rank");
}

}  // namespace
}  // namespace graphdbg::integration
