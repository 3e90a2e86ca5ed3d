#include "agent/core/node_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

class NodeTableTest : public testing::Test {
 protected:
  uint32_t Declare(const std::string& name,
                   graphdbg_node_kind kind = GRAPHDBG_OP) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = kind;
    info.op_type = "toy::op";
    return nodes_.Declare(info).value_or(0);
  }

  void Execute(uint32_t node, std::vector<graphdbg_input> inputs,
               std::vector<int64_t> shape, uint64_t step = 1) {
    graphdbg_tensor output = {};
    output.struct_size = sizeof(output);
    output.dtype = GRAPHDBG_FLOAT32;
    output.ndim = static_cast<uint32_t>(shape.size());
    output.shape = shape.data();
    for (graphdbg_input& input : inputs) input.tensor = output;
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.inputs = inputs.data();
    execution.input_count = inputs.size();
    execution.outputs = &output;
    execution.output_count = 1;
    nodes_.Learn(ExecutionOf(execution), 1, step);
  }

  // An execution of a host that describes its input when it is needed.
  struct LazyExecution {
    explicit LazyExecution(uint32_t node) {
      input.tensor.struct_size = sizeof(input.tensor);
      execution.struct_size = sizeof(execution);
      execution.node = node;
      execution.describe_inputs_context = this;
      execution.describe_inputs = [](void* context, const graphdbg_input** in) {
        auto* const self = static_cast<LazyExecution*>(context);
        ++self->described;
        *in = &self->input;
        return size_t{1};
      };
    }

    graphdbg_input input = {};
    graphdbg_execution execution = {};
    int described = 0;
  };

  // Learns as many executions with this input.
  void LearnFrom(LazyExecution* lazy, uint32_t input, int executions) {
    lazy->input.node = input;
    for (int i = 0; i < executions; ++i) {
      nodes_.Learn(ExecutionOf(lazy->execution), 1, 1);
    }
  }

  v1::GraphUpdate Take(size_t max_bytes = 1 << 20) {
    v1::GraphUpdate update;
    nodes_.TakeUpdate(max_bytes, &update);
    return update;
  }

  NodeTable nodes_;
};

TEST_F(NodeTableTest, IdsAreDenseAndTheSameForTheSameName) {
  EXPECT_EQ(Declare("a"), 1u);
  EXPECT_EQ(Declare("b"), 2u);
  EXPECT_EQ(Declare("a"), 1u);
  EXPECT_EQ(nodes_.Find("b"), 2u);
  EXPECT_EQ(nodes_.Find("c"), 0u);
  EXPECT_EQ(nodes_.size(), 2u);
}

TEST_F(NodeTableTest, NamesThatCannotBeAreRefused) {
  EXPECT_EQ(Declare(""), 0u);
  EXPECT_EQ(Declare(std::string(5000, 'x')), 0u);
  EXPECT_EQ(Declare("a", static_cast<graphdbg_node_kind>(9)), 0u);
}

TEST_F(NodeTableTest, NamesThatAreNotUtf8DoNotBreakTheStream) {
  const uint32_t node = Declare("bad\xFFname");
  EXPECT_EQ(node, 1u);
  EXPECT_EQ(Declare("bad\xFFname"), node);
  EXPECT_EQ(Take().nodes(0).name(), "bad\xEF\xBF\xBDname");
}

TEST_F(NodeTableTest, AnExecutionThatFailedHasItsInputsAndTheOutputsOfBefore) {
  const uint32_t before = Declare("before");
  const uint32_t other = Declare("other");
  const uint32_t op = Declare("op");
  graphdbg_input input = {};
  input.node = before;
  Execute(op, {input}, {2});
  Take();
  input.node = other;
  graphdbg_execution failed = {};
  failed.struct_size = sizeof(failed);
  failed.node = op;
  failed.inputs = &input;
  failed.input_count = 1;
  failed.error = "shapes cannot be multiplied";
  nodes_.Learn(ExecutionOf(failed), 1, 2);
  const v1::GraphUpdate update = Take();
  ASSERT_EQ(update.nodes_size(), 1);
  EXPECT_EQ(update.nodes(0).inputs(0).node_id(), other);
  EXPECT_EQ(update.nodes(0).outputs_size(), 1);
}

TEST_F(NodeTableTest, OnlyOpsThatHaveNotRunAreOfInterestByThemselves) {
  const uint32_t op = Declare("op");
  const uint32_t parameter = Declare("p", GRAPHDBG_PARAMETER);
  EXPECT_TRUE(nodes_.Facts(op)->has(kNeverExecuted));
  EXPECT_FALSE(nodes_.Facts(parameter)->has(kNeverExecuted));
  Execute(op, {}, {2});
  EXPECT_FALSE(nodes_.Facts(op)->has(kNeverExecuted));
  EXPECT_EQ(nodes_.Facts(0), nullptr);
}

TEST_F(NodeTableTest, ExecutionsTeachEdgesAndShapes) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  Execute(a, {}, {2, 3}, 4);
  Execute(b, {{a, 0, {}}, {0, 0, {}}, {99, 0, {}}}, {6}, 4);
  const v1::GraphUpdate update = Take();
  ASSERT_EQ(update.nodes_size(), 2);
  const v1::Node& node = update.nodes(1);
  // Unknown producers do not become edges.
  ASSERT_EQ(node.inputs_size(), 1);
  EXPECT_EQ(node.inputs(0).node_id(), a);
  EXPECT_EQ(node.first_step(), 4u);
  EXPECT_THAT(update.nodes(0).outputs(0).type().shape(),
              testing::ElementsAre(2, 3));
}

TEST_F(NodeTableTest, InputsThatStayTheSameAreDescribedNowAndThen) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  LazyExecution lazy(Declare("c"));
  LearnFrom(&lazy, a, 160);
  EXPECT_GT(lazy.described, 10);
  EXPECT_LT(lazy.described, 30);
  EXPECT_EQ(nodes_.LastExecutionOf(3).inputs[0].node, a);

  LearnFrom(&lazy, b, 17);
  EXPECT_EQ(nodes_.LastExecutionOf(3).inputs[0].node, b);
}

TEST_F(NodeTableTest, InputsThatAlternateAreAlwaysDescribed) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  LazyExecution lazy(Declare("c"));
  LearnFrom(&lazy, a, 40);
  for (int i = 0; i < 80; ++i) {
    const uint32_t input = i % 2 == 0 ? b : a;
    LearnFrom(&lazy, input, 1);
    // By then, the change has been noticed.
    if (i >= 40) {
      EXPECT_EQ(nodes_.LastExecutionOf(3).inputs[0].node, input);
    }
  }
}

TEST_F(NodeTableTest, InputsThatSomebodyLooksAtAreLearnedAtOnce) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  LazyExecution lazy(Declare("c"));
  LearnFrom(&lazy, a, 20);
  lazy.input.node = b;
  const Execution execution = ExecutionOf(lazy.execution);
  const int described = lazy.described;
  nodes_.LearnInputs(execution, 1, 1);
  EXPECT_EQ(nodes_.LastExecutionOf(3).inputs[0].node, b);
  EXPECT_EQ(lazy.described, described + 1);
}

TEST_F(NodeTableTest, AnOrderThatIsKnownBeforehandStays) {
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.name = "a";
  info.kind = GRAPHDBG_OP;
  info.order = 7;
  const uint32_t a = *nodes_.Declare(info);
  EXPECT_EQ(Take().nodes(0).order(), 7u);
  Execute(a, {}, {2});
  EXPECT_EQ(Take().nodes(0).order(), 7u);
}

TEST_F(NodeTableTest, LastStepsAreToldWhenAskedForAndOnce) {
  const uint32_t a = Declare("a");
  const uint32_t b = Declare("b");
  Execute(a, {}, {2}, 1);
  Execute(b, {}, {2}, 1);
  v1::GraphUpdate update = Take();
  EXPECT_EQ(update.nodes(0).last_step(), 1u);
  EXPECT_EQ(update.seen_size(), 0);
  Execute(a, {}, {2}, 4);
  EXPECT_EQ(Take().seen_size(), 0);
  nodes_.ReportLastSteps();
  update = Take();
  ASSERT_EQ(update.seen_size(), 1);
  EXPECT_EQ(update.seen(0).step(), 4u);
  EXPECT_THAT(update.seen(0).node_ids(), testing::ElementsAre(a));
  nodes_.ReportLastSteps();
  EXPECT_EQ(Take().seen_size(), 0);
}

TEST_F(NodeTableTest, OnlyWhatChangedIsTakenAgain) {
  const uint32_t a = Declare("a");
  Execute(a, {}, {2});
  EXPECT_EQ(Take().nodes_size(), 1);
  Execute(a, {}, {2});
  EXPECT_EQ(Take().nodes_size(), 0);
  Execute(a, {}, {3});
  EXPECT_EQ(Take().nodes_size(), 1);
  nodes_.ResendAll();
  EXPECT_EQ(Take().nodes_size(), 1);
}

TEST_F(NodeTableTest, UpdatesKeepToTheirSize) {
  for (int i = 0; i < 100; ++i) Declare("node" + std::to_string(i));
  int nodes = 0;
  for (v1::GraphUpdate update = Take(200); update.nodes_size() > 0;
       update = Take(200)) {
    EXPECT_LT(update.nodes_size(), 20);
    nodes += update.nodes_size();
  }
  EXPECT_EQ(nodes, 100);
}

TEST_F(NodeTableTest, ScopesAreToldOnce) {
  ASSERT_TRUE(nodes_.DeclareScope("", "forward/conv1", "Conv2d").ok());
  EXPECT_EQ(Take().scope_types().at("forward/conv1"), "Conv2d");
  ASSERT_TRUE(nodes_.DeclareScope("", "forward/conv1", "Conv2d").ok());
  EXPECT_EQ(Take().scope_types_size(), 0);
}

TEST_F(NodeTableTest, AnUpdateIsOfOneGraph) {
  for (const char* graph : {"", "a", "b"}) {
    const std::string name = std::string(graph) + "/op";
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.kind = GRAPHDBG_OP;
    info.name = name.c_str();
    info.graph = graph;
    ASSERT_TRUE(nodes_.Declare(info).ok());
  }
  ASSERT_TRUE(nodes_.DeclareScope("b", "b", "Model").ok());
  // In the order in which they were declared.
  for (const char* graph : {"", "a", "b"}) {
    const v1::GraphUpdate update = Take();
    EXPECT_EQ(update.graph(), graph);
    ASSERT_EQ(update.nodes_size(), 1);
    EXPECT_EQ(update.nodes(0).name(), std::string(graph) + "/op");
    EXPECT_EQ(update.scope_types_size(), std::string(graph) == "b" ? 1 : 0);
  }
  Execute(2, {}, {});
  Take();
  Execute(2, {}, {}, 2);
  nodes_.ReportLastSteps();
  EXPECT_EQ(Take().seen_size(), 1);
}

TEST_F(NodeTableTest, ThereAreAsManyGraphsAsTheServerTakes) {
  for (size_t i = 0; i < wire::kMaxGraphs; ++i) {
    ASSERT_TRUE(nodes_.DeclareScope(std::to_string(i), "s", "t").ok());
  }
  EXPECT_EQ(nodes_.DeclareScope("more", "s", "t").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(nodes_.DeclareScope("1", "other", "t").ok());
}

TEST_F(NodeTableTest, AGraphCanBeKnownBeforeItRuns) {
  const uint32_t weight = Declare("weight");
  const graphdbg_edge edges[] = {{weight, 1}, {99, 0}};
  const graphdbg_attribute attributes[] = {{"pads", "[1, 1]"}};
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.kind = GRAPHDBG_OP;
  info.name = "conv";
  info.inputs = edges;
  info.input_count = 2;
  info.attributes = attributes;
  info.attribute_count = 1;
  ASSERT_TRUE(nodes_.Declare(info).ok());
  const v1::GraphUpdate update = Take();
  const v1::Node& conv = update.nodes(1);
  // Nodes that do not exist are not reported.
  ASSERT_EQ(conv.inputs_size(), 1);
  EXPECT_EQ(conv.inputs(0).node_id(), weight);
  EXPECT_EQ(conv.inputs(0).slot(), 1u);
  EXPECT_EQ(conv.attributes().at("pads"), "[1, 1]");
}

TEST_F(NodeTableTest, ABackwardOpHasTheLineOfItsForwardOp) {
  graphdbg_source_frame frames[] = {{"lib.py", 1, "f", 0},
                                    {"train.py", 7, "main", 1}};
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.kind = GRAPHDBG_OP;
  info.name = "forward/a";
  info.stack = frames;
  info.stack_depth = 2;
  const uint32_t forward = *nodes_.Declare(info);
  frames[1].line = 99;
  info.name = "backward/a";
  info.forward_node = forward;
  const uint32_t backward = *nodes_.Declare(info);
  EXPECT_EQ(nodes_.UserFrameOf(forward).line(), 7u);
  EXPECT_EQ(nodes_.UserFrameOf(backward).line(), 7u);
}

}  // namespace
}  // namespace graphdbg::agent
