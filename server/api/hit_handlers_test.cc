#include <gtest/gtest.h>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class HitHandlersTest : public testing::ApiTest {};

model::Diagnosis Overflow() {
  model::Diagnosis diagnosis;
  diagnosis.hit = 7;
  diagnosis.rule = "overflow";
  diagnosis.title = "Overflow in float16";
  diagnosis.text = "96,256 > 65,504.";
  diagnosis.evidence = {
      {"Show 2 cells", model::EvidenceView::kCells, "forward/mul", 1, 4, 3}};
  diagnosis.causes = {"A cause."};
  diagnosis.next = {"A remedy."};
  return diagnosis;
}

TEST_F(HitHandlersTest, ACauseHasItsEvidence) {
  job_->diagnosis = Overflow();
  const Json json = BodyOf(Get("/jobs/train/hits/7/diagnosis"));
  EXPECT_EQ(job_->asked_hit, 7u);
  EXPECT_EQ(json, Json::parse(R"({
      "hit": 7, "rule": "overflow", "title": "Overflow in float16",
      "text": "96,256 > 65,504.",
      "evidence": [{"label": "Show 2 cells", "view": "cells",
                    "node": "forward/mul", "slot": 1, "step": 4, "rank": 3}],
      "causes": ["A cause."], "next": ["A remedy."]})"));
}

TEST_F(HitHandlersTest, WithoutACauseThereAreNulls) {
  const Json json = BodyOf(Get("/jobs/train/hits/7/diagnosis"));
  EXPECT_TRUE(json["rule"].is_null());
  EXPECT_TRUE(json["title"].is_null());
  EXPECT_TRUE(json["text"].is_null());
}

TEST_F(HitHandlersTest, OtherIdsAreNotFound) {
  ExpectProblem(Get("/jobs/train/hits/last/diagnosis"), 404, "unknown_hit");
  job_->error = Error(absl::StatusCode::kNotFound, "unknown_hit", "no");
  ExpectProblem(Get("/jobs/train/hits/9/diagnosis"), 404, "unknown_hit");
}

TEST_F(HitHandlersTest, IncidentsAreListed) {
  model::Incident incident;
  incident.id = 7;
  incident.origin.id = 7;
  incident.origin.node = "forward/mul";
  incident.origin.inputs = {{1, {DType::kFloat16, {2}}, {}}};
  incident.diagnosis = Overflow();
  incident.conditions = {"inf", "overflow"};
  incident.first_rank = 1;
  incident.ranks = {0, 1};
  incident.hit_count = 9;
  incident.reached_count = 8;
  incident.steps = {{1, 3}};
  job_->incidents = {{incident}, 5};
  const Json page = BodyOf(Get("/jobs/train/incidents?limit=1"));
  EXPECT_EQ(job_->asked_limit, 1u);
  EXPECT_EQ(page["total"], 5);
  const Json& json = page["incidents"][0];
  EXPECT_EQ(json["origin"]["node"], "forward/mul");
  EXPECT_EQ(json["origin"]["inputs"][0]["position"], 1);
  EXPECT_EQ(json["diagnosis"]["rule"], "overflow");
  EXPECT_EQ(json["ranks"], Json::parse("[0, 1]"));
  EXPECT_EQ(json["steps"], Json::parse(R"([{"first": 1, "last": 3}])"));
  EXPECT_TRUE(json["first_reached"].is_null());
  ExpectProblem(Get("/jobs/train/incidents?limit=0"), 400, "invalid_parameter",
                "limit");
}

}  // namespace
}  // namespace graphdbg::api
