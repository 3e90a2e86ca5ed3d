#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "proto/wire/validate.h"
#include "server/base/error.h"
#include "server/ingest/capabilities.h"
#include "server/ingest/decode.h"
#include "server/ingest/encode.h"

namespace graphdbg::ingest {
namespace {

using model::ControlVerb;

template <class T>
T Decoded(v1::AgentMessage message) {
  jobs::AgentReport report = DecodeReport(message);
  EXPECT_TRUE(std::holds_alternative<T>(report));
  return std::get<T>(std::move(report));
}

TEST(DecodeTest, KeepsAllOfANode) {
  v1::AgentMessage message;
  message.mutable_graph()->set_graph("eval");
  (*message.mutable_graph()->mutable_scope_types())["f/conv"] = "Conv2d";
  v1::Node& node = *message.mutable_graph()->add_nodes();
  node.set_id(3);
  node.set_name("f/conv/conv2d");
  node.set_kind(v1::NODE_KIND_BUFFER);
  node.set_category(v1::NODE_CATEGORY_GRADIENT);
  node.set_op_type("aten::conv2d");
  node.set_order(7);
  node.set_first_step(2);
  node.set_last_step(5);
  node.set_forward_node_id(1);
  node.add_inputs()->set_node_id(2);
  node.mutable_inputs(0)->set_slot(1);
  node.mutable_inputs(0)->set_control(true);
  node.add_outputs()->set_slot(4);
  node.mutable_outputs(0)->mutable_type()->set_dtype(v1::DTYPE_BFLOAT16);
  node.mutable_outputs(0)->mutable_type()->add_shape(5);
  node.add_stack()->set_file("train.py");
  node.mutable_stack(0)->set_line(9);
  node.mutable_stack(0)->set_user(true);
  (*node.mutable_attributes())["stride"] = "2";
  v1::SeenNodes& seen = *message.mutable_graph()->add_seen();
  seen.set_step(6);
  seen.add_node_ids(1);
  seen.add_node_ids(2);

  const auto patch = Decoded<graph::GraphPatch>(message);
  EXPECT_EQ(patch.graph, "eval");
  EXPECT_EQ(patch.scope_types.at("f/conv"), "Conv2d");
  EXPECT_EQ(patch.seen.at(6), (std::vector<uint32_t>{1, 2}));
  ASSERT_EQ(patch.nodes.size(), 1u);
  const graph::NodeRecord& record = patch.nodes[0];
  EXPECT_EQ(record.id, 3u);
  EXPECT_EQ(record.name, "f/conv/conv2d");
  EXPECT_EQ(record.kind, model::NodeKind::kBuffer);
  EXPECT_EQ(record.category, model::Category::kGradient);
  EXPECT_EQ(record.op_type, "aten::conv2d");
  EXPECT_EQ(record.order, 7u);
  EXPECT_EQ(record.first_step, 2u);
  EXPECT_EQ(record.last_step, 5u);
  EXPECT_EQ(record.forward_node_id, 1u);
  EXPECT_EQ(record.inputs[0].node_id, 2u);
  EXPECT_EQ(record.inputs[0].slot, 1u);
  EXPECT_TRUE(record.inputs[0].control);
  EXPECT_EQ(record.outputs[0].slot, 4u);
  EXPECT_EQ(record.outputs[0].type.dtype, DType::kBfloat16);
  EXPECT_EQ(record.outputs[0].type.shape, std::vector<int64_t>{5});
  EXPECT_EQ(record.stack[0].line, 9u);
  EXPECT_TRUE(record.stack[0].user);
  EXPECT_EQ(record.attributes.at("stride"), "2");
}

TEST(DecodeTest, TellsAbsentStatisticsFromZero) {
  v1::AgentMessage message;
  message.mutable_hit()->mutable_statistics()->set_min(0);
  message.mutable_hit()->mutable_statistics()->set_nan_count(4);
  const auto hit = Decoded<jobs::HitReport>(message).hit;
  EXPECT_EQ(hit.statistics.min, 0.0);
  EXPECT_FALSE(hit.statistics.max.has_value());
  EXPECT_EQ(hit.statistics.nan_count, 4u);
  EXPECT_EQ(hit.source, nullptr);
}

TEST(DecodeTest, NeverTakesAnUnknownTypeForAKnownOne) {
  v1::AgentMessage message;
  v1::TensorType& type =
      *message.mutable_tensor()->mutable_header()->mutable_type();
  type.set_dtype(v1::DTYPE_OTHER);
  type.set_framework_dtype("float32");
  EXPECT_EQ(model::DTypeName(Decoded<jobs::TensorChunk>(message).header->type),
            "other:float32");
}

TEST(DecodeTest, MakesAnErrorOfAnErrorWhateverItsCode) {
  v1::AgentMessage message;
  v1::Error& error = *message.mutable_command_result()->mutable_error();
  error.set_message("no");
  error.set_reason("busy");
  for (int code : {0, 3, 99, -1}) {
    error.set_code(code);
    const auto outcome = Decoded<jobs::CommandOutcome>(message);
    EXPECT_FALSE(outcome.error.ok()) << code;
    EXPECT_EQ(ReasonOf(outcome.error), "busy");
  }
}

TEST(EncodeTest, GivesEveryCommandAnActionThatAgentsAccept) {
  for (ControlVerb verb :
       {ControlVerb::kContinue, ControlVerb::kStep, ControlVerb::kNextNode,
        ControlVerb::kContinueTo, ControlVerb::kPause, ControlVerb::kTerminate,
        ControlVerb::kRecheck}) {
    jobs::CommandOrder order;
    order.id = 5;
    order.verb = verb;
    order.steps = 2;
    order.node = "f/x";
    order.pending = true;
    order.passed = {"f/y", std::nullopt, true};
    order.watchpoints = {4, 6};
    const auto message = Encode(order, {});
    EXPECT_TRUE(wire::Validate(message).ok()) << message.ShortDebugString();
    const v1::Command& command = message.command();
    EXPECT_EQ(command.id(), 5u);
    if (command.has_step()) {
      EXPECT_EQ(command.step().steps(), 2u);
    }
    if (command.has_continue_to()) {
      EXPECT_EQ(command.continue_to().node(), "f/x");
      EXPECT_TRUE(command.continue_to().pending());
    }
    if (command.has_next_node()) {
      EXPECT_EQ(command.next_node().within(), "f/y");
      EXPECT_FALSE(command.next_node().has_outside());
      EXPECT_TRUE(command.next_node().other_line());
    }
    EXPECT_EQ(command.recheck().watchpoints_size(),
              verb == ControlVerb::kRecheck ? 2 : 0);
  }
}

TEST(EncodeTest, KeepsAllOfAWatchpoint) {
  jobs::SetWatchpointOrder order;
  order.id = 4;
  order.revision = 2;
  order.spec.condition = {"max_gt", {{"value", 1.5}}, {{"text", "mean > 1"}}};
  order.spec.selection.nodes = {"a"};
  order.spec.selection.scopes = {"b"};
  order.spec.selection.patterns = {"c*"};
  order.spec.selection.categories = {model::Category::kOptimizer};
  order.spec.selection.dtypes = {DType::kFloat16};
  order.spec.selection.exclude.regexes = {"d"};
  order.spec.pause = model::PauseMode::kStep;
  order.spec.enabled = true;
  const auto message = Encode(order, {});
  EXPECT_TRUE(wire::Validate(message).ok());
  const v1::SetWatchpoint& watchpoint = message.set_watchpoint();
  EXPECT_EQ(watchpoint.id(), 4u);
  EXPECT_EQ(watchpoint.revision(), 2u);
  EXPECT_EQ(watchpoint.condition().params().at("value"), 1.5);
  EXPECT_EQ(watchpoint.condition().text_params().at("text"), "mean > 1");
  EXPECT_EQ(watchpoint.selection().nodes(0), "a");
  EXPECT_EQ(watchpoint.selection().scopes(0), "b");
  EXPECT_EQ(watchpoint.selection().patterns(0), "c*");
  EXPECT_EQ(watchpoint.selection().categories(0), v1::NODE_CATEGORY_OPTIMIZER);
  EXPECT_EQ(watchpoint.selection().dtypes(0), v1::DTYPE_FLOAT16);
  EXPECT_EQ(watchpoint.selection().exclude().regexes(0), "d");
  EXPECT_EQ(watchpoint.pause(), v1::PAUSE_MODE_STEP);
  EXPECT_TRUE(watchpoint.enabled());
}

TEST(EncodeTest, WelcomesWithWhatTheServerUnderstands) {
  const auto message = Encode(jobs::WelcomeOrder{"digits-2", 3},
                              {"1.2.3", "http://127.0.0.1:8080/"});
  EXPECT_EQ(message.welcome().job(), "digits-2");
  EXPECT_EQ(message.welcome().watchpoint_count(), 3u);
  EXPECT_EQ(message.welcome().server_version(), "1.2.3");
  EXPECT_EQ(message.welcome().page_address(), "http://127.0.0.1:8080/");
  v1::Hello hello;
  *hello.mutable_capabilities() = message.welcome().capabilities();
  EXPECT_TRUE(CheckCapabilities(hello, "1.2.3").ok());
}

}  // namespace
}  // namespace graphdbg::ingest
