// Watchpoints of MindSpore jobs: how clients receive them, when they check
// them, and how hits are recorded.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/mindspore_fixture.h"
#include "tests/integration/patience.h"

namespace graphdbg::integration {
namespace {

using debugger::EventReply;
using debugger::SetCMD;
using debugger::WatchCondition;
using debugger::WatchpointHit;

class MindSporeWatchTest : public MindSporeFixture {
 protected:
  // Sets a watchpoint and receives the one command that results.
  SetCMD SetAndTake(MindSporeClient& client, std::future<EventReply>& asking,
                    const Json& body) {
    Watch(body);
    SetCMD command = asking.get().set_cmd();
    asking = Ask(client);
    return command;
  }
  // Lets the job run a step in which the client reports these hits. In the
  // first step a new watchpoint is checked on the initial values beforehand.
  void RunWithHits(MindSporeClient& client, std::future<EventReply>& asking,
                   int step, const std::vector<WatchpointHit>& hits) {
    EventReply reply = asking.get();
    if (RunLevel(reply) == "recheck") reply = client.Ask();
    EXPECT_EQ(RunLevel(reply), "step");
    EXPECT_TRUE(client.SendHits(hits));
    asking = AskAt(client, step);
  }
  void End(std::future<EventReply>& asking) {
    Control({{"command", "terminate"}});
    EXPECT_TRUE(asking.get().exit());
  }
};

// A hit of this watchpoint in the form in which clients report it.
WatchpointHit HitOf(const SetCMD& watchpoint, const std::string& node,
                    const std::map<std::string, double>& actual = {}) {
  WatchpointHit hit;
  hit.set_id(watchpoint.id());
  hit.mutable_tensor()->set_node_name(node);
  hit.mutable_tensor()->set_slot("0");
  hit.mutable_tensor()->set_finished(true);
  *hit.mutable_watch_condition() = watchpoint.watch_condition();
  for (auto& param : *hit.mutable_watch_condition()->mutable_params()) {
    auto it = actual.find(param.name());
    if (it == actual.end()) continue;
    param.set_hit(true);
    param.set_actual_value(it->second);
  }
  return hit;
}

// Names of the parameters, each with its value if it applies.
std::string ParamsOf(const SetCMD& command) {
  std::string text;
  for (const auto& param : command.watch_condition().params()) {
    if (!text.empty()) text += " ";
    text += param.name();
    if (param.disabled()) continue;
    char value[32];
    std::snprintf(value, sizeof(value), "=%g", param.value());
    text += value;
  }
  return text;
}

std::set<std::string> LeavesOf(const SetCMD& command) {
  std::set<std::string> names;
  for (const auto& node : command.watch_nodes()) names.insert(node.node_name());
  return names;
}

// --- Commands to clients -----------------------------------------------------

TEST_F(MindSporeWatchTest, ParametersAreCompleteAndInTheirPlaces) {
  struct Case {
    std::string condition;
    std::map<std::string, double> params;
    int number;
    std::string sent;
  };
  const std::vector<Case> cases = {
      {"tensor_overflow", {}, 13, ""},
      {"operator_overflow", {}, 2, ""},
      {"weight_initialization",
       {{"max_gt", 2}},
       14,
       "zero_percentage_ge max_gt=2 min_lt"},
      {"tensor_too_large",
       {{"min_gt", 3}},
       15,
       "abs_mean_gt max_gt min_gt=3 mean_gt"},
      {"gradient_vanishing",
       {{"abs_mean_lt", 1e-9}},
       16,
       "abs_mean_lt=1e-09 max_lt min_lt mean_lt"},
      {"tensor_all_zero", {}, 17, "zero_percentage_ge=100"},
      {"weight_change_too_large",
       {},
       18,
       "abs_mean_update_ratio_gt=0.1 epsilon=1e-09"},
      {"weight_change_too_small",
       {{"abs_mean_update_ratio_lt", 0.5}},
       19,
       "abs_mean_update_ratio_lt=0.5 epsilon=1e-09"},
      {"activation_range",
       {{"range_start_inclusive", -1},
        {"range_end_inclusive", 0},
        {"range_percentage_gt", 99.9}},
       21,
       "range_start_inclusive=-1 range_end_inclusive=0 range_percentage_lt "
       "range_percentage_gt=99.9 max_min_lt max_min_gt"},
      {"max_gt", {{"value", 7}}, 15, "abs_mean_gt max_gt=7 min_gt mean_gt"},
      {"sd_lt", {{"value", 1}}, 12, "param=1"},
  };
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  for (const Case& each : cases) {
    SCOPED_TRACE(each.condition);
    const SetCMD command = SetAndTake(
        client, asking,
        {{"condition", {{"id", each.condition}, {"params", each.params}}}});
    EXPECT_EQ(command.watch_condition().condition(), each.number);
    EXPECT_EQ(ParamsOf(command), each.sent);
    EXPECT_GT(command.watch_nodes_size(), 0);
  }
  End(asking);
}

class MindSporeNotChangedTest
    : public MindSporeWatchTest,
      public testing::WithParamInterface<std::pair<const char*, const char*>> {
};

// Old clients use the first parameter as atol and the second as rtol.
INSTANTIATE_TEST_SUITE_P(
    Releases, MindSporeNotChangedTest,
    testing::Values(std::pair("1.1.0", "atol=0.25 rtol=0.5 equal_nan=0"),
                    std::pair("1.5.0", "atol=0.25 rtol=0.5 equal_nan=0"),
                    std::pair("1.8.1", "rtol=0.5 atol=0.25 equal_nan=0"),
                    std::pair("2.2.0", "rtol=0.5 atol=0.25 equal_nan=0")));

TEST_P(MindSporeNotChangedTest, HasTheRequestedMeaning) {
  MindSporeClient client = Client(GetParam().first, "Ascend");
  auto asking = Begin(client);
  const SetCMD command =
      SetAndTake(client, asking,
                 {{"condition",
                   {{"id", "weight_not_changed"},
                    {"params", {{"rtol", 0.5}, {"atol", 0.25}}}}}});
  EXPECT_EQ(ParamsOf(command), GetParam().second);
  // Only weights, with the name of their graph if the client expects one.
  EXPECT_EQ(command.watch_nodes_size(), 8);
  EXPECT_TRUE(LeavesOf(command).count(kWeight));
  EXPECT_EQ(command.watch_nodes(0).graph_name(),
            std::string(GetParam().first) == "1.1.0" ? "" : "kernel_graph_0");
  End(asking);
}

TEST_F(MindSporeWatchTest, TheFirstReleaseGetsItsOwnConditions) {
  MindSporeClient client = Client("", "GPU");
  auto asking = Begin(client);
  Watch({{"condition", {{"id", "tensor_overflow"}}}, {"nodes", {kConv}}});
  for (int condition : {WatchCondition::nan, WatchCondition::inf}) {
    const SetCMD command = asking.get().set_cmd();
    asking = Ask(client);
    EXPECT_EQ(command.watch_condition().condition(), condition);
    EXPECT_EQ(command.watch_condition().params_size(), 0);
    ASSERT_EQ(command.watch_nodes_size(), 1);
    EXPECT_EQ(command.watch_nodes(0).node_type(), "leaf");
  }
  const SetCMD larger = SetAndTake(
      client, asking,
      {{"condition", {{"id", "max_min_lt"}, {"params", {{"value", 0.5}}}}},
       {"nodes", {kConv}}});
  EXPECT_EQ(larger.watch_condition().condition(), WatchCondition::max_min_lt);
  EXPECT_EQ(larger.watch_condition().value(), 0.5);

  const int cannot = Watch({{"condition", {{"id", "tensor_all_zero"}}}});
  const Json reported = server().GetUntil(
      "/api/v1/jobs/mindspore-0/watchpoints/" + std::to_string(cannot),
      [](const Json& answer) { return answer.at("error").is_string(); });
  EXPECT_NE(reported.at("error").get<std::string>().find("MindSpore 1.0"),
            std::string::npos);
  End(asking);
}

TEST_F(MindSporeWatchTest, ScopesBecomeTheLeavesBelowThem) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  const std::string scope = kReluScope;
  const SetCMD relus = SetAndTake(
      client, asking, {{"condition", {{"id", "nan"}}}, {"scopes", {scope}}});
  EXPECT_EQ(LeavesOf(relus), (std::set<std::string>{
                                 scope + "/ReLUV2-op87", scope + "/ReLUV2-op89",
                                 scope + "/ReLU-op12", scope + "/ReLU-op15"}));
  for (const auto& node : relus.watch_nodes()) {
    EXPECT_EQ(node.node_type().rfind("ReLU", 0), 0u);
  }
  // All nodes except constants; a node that selects an output counts as that
  // output.
  const SetCMD all =
      SetAndTake(client, asking, {{"condition", {{"id", "inf"}}}});
  for (const auto& node : all.watch_nodes()) {
    EXPECT_NE(node.node_type(), "Constant") << node.node_name();
    EXPECT_NE(node.node_type(), "tuple_getitem") << node.node_name();
  }
  EXPECT_TRUE(LeavesOf(all).count(kConv));
  EXPECT_TRUE(LeavesOf(all).count(kWeight));
  End(asking);
}

TEST_F(MindSporeWatchTest, ChangesAndRemovalsReachTheClient) {
  const std::string path = "/api/v1/jobs/mindspore-0/watchpoints/1";
  MindSporeClient client = Client("1.5.0", "Ascend");
  auto asking = Begin(client);
  const SetCMD first =
      SetAndTake(client, asking,
                 {{"condition", {{"id", "max_gt"}, {"params", {{"value", 1}}}}},
                  {"nodes", {kConv}}});
  const Json change = {
      {"condition", {{"id", "max_gt"}, {"params", {{"value", 2}}}}}};
  EXPECT_EQ(server().Fetch("PATCH", path, change.dump()).status, 200);
  const SetCMD second = asking.get().set_cmd();
  asking = Ask(client);
  EXPECT_EQ(second.id(), first.id());
  EXPECT_EQ(ParamsOf(second), "abs_mean_gt max_gt=2 min_gt mean_gt");

  const Json off = {{"enabled", false}};
  EXPECT_EQ(server().Fetch("PATCH", path, off.dump()).status, 200);
  const SetCMD removed = asking.get().set_cmd();
  asking = Ask(client);
  EXPECT_TRUE(removed.delete_());
  EXPECT_EQ(removed.id(), first.id());

  const Json on = {{"enabled", true}};
  EXPECT_EQ(server().Fetch("PATCH", path, on.dump()).status, 200);
  const SetCMD third = asking.get().set_cmd();
  asking = Ask(client);
  EXPECT_FALSE(third.delete_());
  EXPECT_EQ(server().Fetch("DELETE", path).status, 204);
  const SetCMD gone = asking.get().set_cmd();
  asking = Ask(client);
  EXPECT_TRUE(gone.delete_());
  EXPECT_EQ(gone.id(), third.id());
  End(asking);
}

// Clients refuse messages above 4 MiB.
TEST_F(MindSporeWatchTest, ManyLeavesTravelInSeveralCommands) {
  if (kMegabytesTakeMinutes) GTEST_SKIP() << "messages of megabytes";
  constexpr int kLeaves = 60'000;
  constexpr size_t kLimit = 3'670'016;
  const std::string padding(60, 'x');
  MindSporeClient client = Client("1.2.0", "Ascend");
  EXPECT_TRUE(client.SendMetadata().version_matched());
  EXPECT_TRUE(client.SendGraph(
      LargeGraph("kernel_graph_0", kLeaves, padding).SerializeAsString()));
  auto asking = Ask(client);
  AwaitPause("start", 0);
  const int watchpoint = Watch({{"condition", {{"id", "nan"}}}});
  std::vector<SetCMD> commands;
  std::set<std::string> leaves;
  std::set<int> numbers;
  while (leaves.size() < kLeaves) {
    const EventReply reply = asking.get();
    asking = Ask(client);
    EXPECT_LT(reply.ByteSizeLong(), kLimit);
    commands.push_back(reply.set_cmd());
    EXPECT_TRUE(numbers.insert(reply.set_cmd().id()).second);
    ASSERT_GT(reply.set_cmd().watch_nodes_size(), 0);
    leaves.merge(LeavesOf(reply.set_cmd()));
  }
  EXPECT_GE(commands.size(), 2u);

  // Hits of any of these commands belong to the one watchpoint.
  std::vector<WatchpointHit> hits;
  for (const SetCMD& command : commands) {
    for (const auto& node : command.watch_nodes()) {
      hits.push_back(HitOf(command, node.node_name()));
    }
  }
  Control({{"command", "continue"}});
  RunWithHits(client, asking, 1, hits);
  const Json job = AwaitPause("watchpoint", 1);
  EXPECT_EQ(job.at("stopped_by"), Json({watchpoint}));
  EXPECT_EQ(job.at("hit_count"), kLeaves);
  EXPECT_EQ(Watchpoint(watchpoint).at("hit_count"), kLeaves);
  End(asking);
}

// --- Hits --------------------------------------------------------------------

// A job on Ascend gets the set that MindInsight recommends, and more.
TEST_F(MindSporeWatchTest, TheRecommendedSetUsesTheConditionsOfMindSpore) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  EXPECT_EQ(Job().at("recommended_offered"), true);
  const auto reply = server().Fetch(
      "POST", "/api/v1/jobs/mindspore-0/watchpoints/recommended", "{}");
  EXPECT_EQ(reply.status, 201) << reply.body;
  std::set<int> wanted = {2, 13, 14, 15, 16, 17, 18, 21};
  while (!wanted.empty()) {
    const SetCMD command = asking.get().set_cmd();
    asking = Ask(client);
    const int condition = command.watch_condition().condition();
    ASSERT_EQ(wanted.erase(condition), 1u) << condition;
    if (condition != WatchCondition::tensor_range) continue;
    std::set<std::string> types;
    for (const auto& node : command.watch_nodes()) {
      types.insert(node.node_type());
    }
    EXPECT_EQ(types, (std::set<std::string>{"ReLU", "ReLUV2"}));
  }
  End(asking);
}

TEST_F(MindSporeWatchTest, HitsAreThereBeforeThePauseThatTheyCause) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  const SetCMD command = SetAndTake(
      client, asking,
      {{"condition", {{"id", "tensor_too_large"}, {"params", {{"max_gt", 1}}}}},
       {"nodes", {kConv, kRelu}}});
  Control({{"command", "step"}, {"steps", 10}});
  WatchpointHit unknown_number = HitOf(command, kConv);
  unknown_number.set_id(4711);
  // Unordered, as old clients send them, and including invalid hits.
  RunWithHits(client, asking, 1,
              {HitOf(command, kRelu, {{"max_gt", 3}}), unknown_number,
               HitOf(command, "Default/who-op1"),
               HitOf(command, kConv, {{"max_gt", 2.5}})});
  // This ends the run of ten steps.
  const Json job = AwaitPause("watchpoint", 1);
  EXPECT_EQ(job.at("stopped_by"), Json({1}));
  EXPECT_EQ(job.at("hit_count"), 2);
  const Json hits = Hits();
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_EQ(hits.at(0).at("node"), kConv);
  EXPECT_EQ(hits.at(0).at("step"), 1);
  EXPECT_EQ(hits.at(0).at("actual"), Json({{"max_gt", 2.5}}));
  EXPECT_EQ(hits.at(0).at("op_type"), "Conv2D");
  EXPECT_TRUE(hits.at(0).at("error").is_null());
  // The hit contains the compared value and no other statistics.
  EXPECT_TRUE(hits.at(0).at("statistics").is_null());
  const Json tensors = server().Get("/api/v1/jobs/mindspore-0/tensors?node=" +
                                    UrlEncoded(kConv));
  for (const Json& tensor : tensors.at("tensors")) {
    EXPECT_TRUE(tensor.at("statistics").is_null()) << tensor.at("name");
  }
  EXPECT_EQ(hits.at(1).at("node"), kRelu);
  EXPECT_EQ(hits.at(1).at("actual"), Json({{"max_gt", 3}}));
  End(asking);
}

TEST_F(MindSporeWatchTest, UncheckedHitsNameTheReason) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  const SetCMD command =
      SetAndTake(client, asking,
                 {{"condition", {{"id", "weight_change_too_large"}}},
                  {"nodes", {kWeight}}});
  Control({{"command", "continue"}});
  // The lack of a step before the first one does not pause the job.
  WatchpointHit none_before = HitOf(command, kWeight);
  none_before.set_error_code(4);
  RunWithHits(client, asking, 1, {none_before});
  WatchpointHit not_finite = HitOf(command, kWeight);
  not_finite.set_error_code(1 + 2);
  RunWithHits(client, asking, 2, {not_finite});
  AwaitPause("watchpoint", 2);
  const Json hits = Hits();
  ASSERT_EQ(hits.size(), 2u);
  EXPECT_NE(hits.at(0).at("error").get<std::string>().find("previous step"),
            std::string::npos);
  const std::string error = hits.at(1).at("error");
  EXPECT_NE(error.find("NaN"), std::string::npos);
  EXPECT_NE(error.find("infinities"), std::string::npos);
  EXPECT_TRUE(hits.at(1).at("actual").empty());
  End(asking);
}

TEST_F(MindSporeWatchTest, WatchpointsThatDoNotPauseRecordAndGoOn) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  const SetCMD command = SetAndTake(
      client, asking,
      {{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}, {"pause", "none"}});
  Control({{"command", "step"}, {"steps", 2}});
  RunWithHits(client, asking, 1, {HitOf(command, kConv)});
  RunWithHits(client, asking, 2, {HitOf(command, kConv)});
  EXPECT_EQ(AwaitPause("step", 2).at("hit_count"), 2);
  End(asking);
}

// --- Checks without running --------------------------------------------------

TEST_F(MindSporeWatchTest, InitialValuesAreCheckedBeforeTheFirstStep) {
  MindSporeClient client = Client("1.2.0", "Ascend");
  auto asking = Begin(client);
  const SetCMD command = SetAndTake(
      client, asking, {{"condition", {{"id", "weight_initialization"}}}});
  Control({{"command", "continue"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  EXPECT_TRUE(client.SendHits(
      {HitOf(command, kWeight, {{"zero_percentage_ge", 100}})}));
  asking = Ask(client);
  const Json job = AwaitPause("watchpoint", 0);
  EXPECT_EQ(job.at("hit_count"), 1);
  EXPECT_EQ(Hits().at(0).at("actual"), Json({{"zero_percentage_ge", 100}}));

  // It is sent when the job runs next.
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1);
  AwaitPause("step", 1);
  // Later watchpoints are not checked before a run.
  SetAndTake(client, asking,
             {{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 2);
  AwaitPause("step", 2);
  End(asking);
}

TEST_F(MindSporeWatchTest, UsersCanRecheckThem) {
  MindSporeClient client = Client("2.2.0", "Ascend");
  auto asking = Begin(client);
  Control({{"command", "step"}});
  EXPECT_EQ(RunLevel(asking.get()), "step");
  asking = AskAt(client, 1);
  AwaitPause("step", 1);
  const SetCMD command = SetAndTake(
      client, asking, {{"condition", {{"id", "nan"}}}, {"nodes", {kConv}}});
  EXPECT_EQ(Job().at("unchecked_watchpoints"), Json({1}));
  Control({{"command", "recheck"}});
  EXPECT_EQ(RunLevel(asking.get()), "recheck");
  EXPECT_TRUE(client.SendHits({HitOf(command, kConv)}));
  asking = Ask(client);
  const Json hits = server().GetUntil(
      "/api/v1/jobs/mindspore-0/hits",
      [](const Json& answer) { return !answer.at("hits").empty(); });
  EXPECT_EQ(hits.at("hits").at(0).at("step"), 1);
  EXPECT_EQ(Job().at("state"), "paused");
  EXPECT_EQ(Job().at("unchecked_watchpoints"), Json::array());
  End(asking);
}

}  // namespace
}  // namespace graphdbg::integration
