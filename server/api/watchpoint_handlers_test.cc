#include <gtest/gtest.h>

#include <limits>

#include "agent/conditions/catalogue.h"
#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class WatchpointHandlersTest : public testing::ApiTest {};

TEST_F(WatchpointHandlersTest, ConditionsAreThoseOfTheCatalogue) {
  Json list = BodyOf(Get("/conditions"))["conditions"];
  ASSERT_EQ(list.size(), conditions::Catalogue().size());
  EXPECT_EQ(list[0]["id"], "nan");
  EXPECT_EQ(list[0]["params"][0]["name"], "propagated");
  bool found = false;
  for (const Json& condition : list) {
    if (condition["id"] != "max_gt") continue;
    found = true;
    EXPECT_EQ(condition["params"],
              Json::parse(R"([{"name":"value","title":"value","type":"number",
                               "default":null,"suggested":null,"unit":null,"required":true,"tested":false,
                               "advanced":false,"min":null,"max":null,
                               "above_min":false},
                              {"name":"axis","title":"for each channel along axis","type":"number",
                               "default":null,"suggested":null,"unit":null,"required":false,"tested":false,
                               "advanced":true,"min":-64.0,"max":63.0,
                               "above_min":false}])"));
    EXPECT_EQ(condition["wire_condition"], 3);
  }
  EXPECT_TRUE(found);
}

TEST_F(WatchpointHandlersTest, AParameterOfFewValuesListsThem) {
  Json list = BodyOf(Get("/conditions"))["conditions"];
  for (const Json& condition : list) {
    if (condition["id"] != "inf" && condition["id"] != "overflow") continue;
    const Json& absorbed = condition["params"][0];
    EXPECT_EQ(absorbed["name"], "absorbed");
    EXPECT_EQ(absorbed["type"], "choice");
    EXPECT_EQ(absorbed["default"], "list");
    EXPECT_EQ(absorbed["choices"], Json::parse(R"(["list","stop"])"));
  }
  const auto check = [this](const std::string& value) {
    return Post(
        "/conditions/check",
        R"({"condition":{"id":"inf","params":{"absorbed":)" + value + "}}}");
  };
  EXPECT_EQ(check(R"("stop")").status, 204);
  EXPECT_EQ(check(R"("never")").status, 422);
  EXPECT_EQ(check("1").status, 422);
}

TEST_F(WatchpointHandlersTest, AdviceDependsOnTheOp) {
  const Json of_log =
      BodyOf(Get("/conditions/inf/advice?op_type=aten::log&dtype=float32"));
  const Json of_any = BodyOf(Get("/conditions/inf/advice"));
  EXPECT_NE(of_log["causes"][0], of_any["causes"][0]);
  EXPECT_EQ(of_log["causes"].back(), of_any["causes"].back());
  EXPECT_FALSE(of_any["next"].empty());
  EXPECT_EQ(Get("/conditions/none/advice").status, 404);
  const Json of_expression = BodyOf(
      Get("/conditions/expression/advice?expression=nan_count%20%3E%200"));
  EXPECT_EQ(of_expression, of_any);
  for (const Json& each : BodyOf(Get("/conditions"))["conditions"]) {
    if (each["id"] != "inf") continue;
    EXPECT_EQ(each["advice"], of_any);
  }
}

TEST_F(WatchpointHandlersTest, BuiltInRulesHaveParametersAndAdvice) {
  for (const Json& each : BodyOf(Get("/rules"))["rules"]) {
    EXPECT_EQ(BodyOf(Get("/rules/" + std::string(each["id"]) + "/advice")),
              each["advice"]);
    if (each["id"] != "exploding_tensor") continue;
    EXPECT_EQ(each["language"], "expression");
    EXPECT_EQ(each["when"], Json({"nan_count > 0 || inf_count > 0"}));
    EXPECT_EQ(each["params"][0]["default"], false);
  }
  EXPECT_EQ(Get("/rules/none/advice").status, 404);
}

TEST_F(WatchpointHandlersTest, AConditionIsCheckedBeforeThereIsAJob) {
  const auto check = [this](const std::string& params) {
    return Post("/conditions/check",
                R"({"condition":{"id":"expression","params":)" + params + "}}");
  };
  EXPECT_EQ(check(R"({"expression":"mean > 1"})").status, 204);
  const http::Response refused = check(R"({"expression":"mean > x"})");
  EXPECT_EQ(refused.status, 422);
  const Json problem = BodyOf(refused);
  EXPECT_EQ(problem["field"], "condition.params.expression");
  EXPECT_EQ(problem["column"], 8);
  EXPECT_EQ(check("{}").status, 422);
  EXPECT_EQ(Post("/conditions/check", "{}").status, 422);
}

TEST_F(WatchpointHandlersTest, AnExpressionIsATextAmongTheParameters) {
  const char* body = R"({"condition":{"id":"expression",
      "params":{"expression":"mean > 1"}}})";
  const http::Response made = Post("/jobs/train/watchpoints", body);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(BodyOf(made)["condition"], Json::parse(body)["condition"]);
}

TEST_F(WatchpointHandlersTest, TruthsAreGivenBackAsTruths) {
  const http::Response made = Post("/jobs/train/watchpoints",
                                   R"({"condition":{"id":"weight_not_changed",
               "params":{"rtol":0.5,"equal_nan":true}}})");
  EXPECT_EQ(BodyOf(made)["condition"]["params"],
            Json::parse(R"({"equal_nan":true,"rtol":0.5})"));
}

TEST_F(WatchpointHandlersTest, OneIsMadeReadChangedAndRemoved) {
  http::Response made =
      Post("/jobs/train/watchpoints",
           R"({"condition":{"id":"max_gt","params":{"value":2.5}},
               "nodes":["a","b"],"categories":["weight"],"pause":"step"})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.headers.Get("Location"), "/api/v1/jobs/train/watchpoints/1");
  Json expected = Json::parse(R"({"id":1,
      "condition":{"id":"max_gt","params":{"value":2.5}},"nodes":["a","b"],
      "scopes":[],"patterns":[],"regexes":[],"categories":["weight"],
      "op_types":[],"sources":[],"dtypes":[],"ranks":[],
      "exclude":{"nodes":[],"scopes":[],"patterns":[],"regexes":[],
                 "categories":[],"op_types":[],"sources":[],"dtypes":[],
                 "ranks":[]},
      "pause":"step",
      "enabled":true,"once":false,"ignore_count":0,
      "muted_until_step":0,"group":null,"actions":[],
      "node_count":0,"hit_count":0,"error":null})");
  EXPECT_EQ(BodyOf(made), expected);
  EXPECT_EQ(BodyOf(Get("/jobs/train/watchpoints/1")), expected);
  EXPECT_EQ(BodyOf(Get("/jobs/train/watchpoints"))["watchpoints"],
            Json::array({expected}));

  http::Response changed = fixture_.Call(
      "PATCH", "/jobs/train/watchpoints/1",
      {.body = R"({"enabled":false,"nodes":["c"]})", .accept = {}});
  EXPECT_EQ(changed.status, 200);
  expected["enabled"] = false;
  expected["nodes"] = {"c"};
  EXPECT_EQ(BodyOf(changed), expected);

  EXPECT_EQ(fixture_.Call("DELETE", "/jobs/train/watchpoints/1").status, 204);
  ExpectProblem(Get("/jobs/train/watchpoints/1"), 404, "unknown_watchpoint");
}

TEST_F(WatchpointHandlersTest, AWrongFieldIsNamed) {
  ExpectProblem(Post("/jobs/train/watchpoints",
                     R"({"condition":{"id":"nan"},"pause":"now"})"),
                422, "invalid_field", "pause");
  // Errors from the job have the same form.
  job_->error = WithField(
      Error(absl::StatusCode::kInvalidArgument, "unknown_condition", "no such"),
      "condition.id");
  ExpectProblem(Post("/jobs/train/watchpoints", R"({"condition":{"id":"x"}})"),
                422, "unknown_condition", "condition.id");
}

TEST_F(WatchpointHandlersTest, AnIdThatIsNoneIsUnknown) {
  for (const char* id : {"0", "7", "x", "-1", "1x", "4294967296"}) {
    ExpectProblem(Get(std::string("/jobs/train/watchpoints/") + id), 404,
                  "unknown_watchpoint");
    ExpectProblem(
        fixture_.Call("PATCH", std::string("/jobs/train/watchpoints/") + id,
                      {.body = "{}", .accept = {}}),
        404, "unknown_watchpoint");
  }
}

TEST_F(WatchpointHandlersTest, HitsCarryNumbersThatJsonCannot) {
  model::Hit hit;
  hit.id = 1;
  hit.watchpoint = 2;
  hit.node = "forward/log";
  hit.condition = std::make_shared<const model::Condition>(
      model::Condition{"max_gt", {{"value", 2}}});
  hit.actual = {{"max", std::numeric_limits<double>::infinity()}};
  hit.statistics.count = 10;
  hit.statistics.neg_inf_count = 10;
  hit.type = {DType::kFloat32, {10}};
  hit.origin = model::Origin::kOrigin;
  hit.absorbed = true;
  hit.time_unix_nano = 1'000'000'000;
  job_->hits.hits = {hit};
  Json page = BodyOf(Get("/jobs/train/hits"));
  ASSERT_EQ(page["hits"].size(), 1u);
  const Json& json = page["hits"][0];
  EXPECT_EQ(json["actual"]["max"], "Infinity");
  EXPECT_EQ(json["params"]["value"], 2.0);
  EXPECT_EQ(json["statistics"]["neg_inf_count"], 10);
  EXPECT_TRUE(json["statistics"]["min"].is_null());
  EXPECT_EQ(json["origin"], "origin");
  EXPECT_EQ(json["absorbed"], true);
  EXPECT_EQ(json["time"], "1970-01-01T00:00:01.000000Z");
  EXPECT_TRUE(json["source"].is_null());
  EXPECT_TRUE(json["error"].is_null());
  EXPECT_TRUE(page["next_cursor"].is_null());
}

TEST_F(WatchpointHandlersTest, HitsAreFiltered) {
  Get("/jobs/train/hits?watchpoint=1&rank=2&step=3&node=a&incident=6&limit=5"
      "&cursor=c");
  ASSERT_TRUE(job_->asked_hits);
  EXPECT_EQ(job_->asked_hits->watchpoint, 1u);
  EXPECT_EQ(job_->asked_hits->rank, 2u);
  EXPECT_EQ(job_->asked_hits->step, 3u);
  EXPECT_EQ(job_->asked_hits->node, "a");
  EXPECT_EQ(job_->asked_hits->incident, 6u);
  EXPECT_EQ(job_->asked_hits->limit, 5u);
  EXPECT_EQ(job_->asked_hits->cursor, "c");
  ExpectProblem(Get("/jobs/train/hits?step=last"), 400, "invalid_parameter",
                "step");
}

TEST_F(WatchpointHandlersTest, NodesAreCountedBeforeAWatchpointIsMade) {
  const char* const target = "/jobs/train/watchpoints/preview";
  const http::Response counted =
      Post(target, R"({"condition":{"id":"max_gt"},"nodes":["a","b"]})");
  EXPECT_EQ(counted.status, 200);
  EXPECT_EQ(BodyOf(counted),
            Json::parse(R"({"node_count":2,"tensors":0,"bytes":0,
                        "seconds_per_step":0.0,"examples":["a","b"]})"));
  EXPECT_TRUE(job_->watchpoints.empty());
  ExpectProblem(Post(target, "{}"), 422, "invalid_field", "condition");
}

TEST_F(WatchpointHandlersTest, TheRecommendedSetIsMadeOnce) {
  model::Watchpoint one;
  one.id = 4;
  one.spec.condition.id = "tensor_overflow";
  job_->recommended.watchpoints = {one};
  job_->recommended.made = {4};
  const char* const target = "/jobs/train/watchpoints/recommended";
  http::Response response = Post(target, "{}");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(BodyOf(response)["watchpoints"][0]["id"], 4);
  EXPECT_EQ(BodyOf(response)["made"], Json::parse("[4]"));
  job_->recommended.made.clear();
  EXPECT_EQ(Post(target, "").status, 200);
  ExpectProblem(Post(target, R"({"device":"ascend"})"), 422, "invalid_field",
                "device");
  ExpectProblem(Post(target, "[]"), 400, "bad_json");
}

}  // namespace
}  // namespace graphdbg::api
