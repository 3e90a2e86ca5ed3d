// Tests translations that the clients of the integration tests do not exercise.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/mindspore/graph_assembly.h"
#include "server/mindspore/graph_translation.h"
#include "server/mindspore/hits.h"
#include "server/mindspore/profile.h"
#include "server/mindspore/source_lines.h"
#include "server/mindspore/types.h"
#include "server/mindspore/values.h"

namespace graphdbg::mindspore {
namespace {

TEST(ProfileTest, ReleasesByTheFirstTwoNumbers) {
  EXPECT_TRUE(ProfileOf("").simple_conditions);
  EXPECT_TRUE(ProfileOf("1.0.1").simple_conditions);
  EXPECT_FALSE(ProfileOf("1.1.0").simple_conditions);
  EXPECT_FALSE(ProfileOf("1.2.9").graph_names);
  EXPECT_TRUE(ProfileOf("1.3.0").graph_names);
  EXPECT_FALSE(ProfileOf("1.4.1").view_levels);
  EXPECT_TRUE(ProfileOf("1.5.0-rc1").view_levels);
  EXPECT_TRUE(ProfileOf("1.5.0").atol_first);
  EXPECT_FALSE(ProfileOf("1.10.0").atol_first);
  EXPECT_FALSE(ProfileOf("2.0.0a").atol_first);
  // A version that cannot be parsed counts as the newest.
  EXPECT_TRUE(ProfileOf("master").view_levels);
}

debugger::Chunk Piece(std::string bytes, bool finished) {
  debugger::Chunk chunk;
  chunk.set_buffer(std::move(bytes));
  chunk.set_finished(finished);
  return chunk;
}

debugger::GraphProto Named(const std::string& name) {
  debugger::GraphProto graph;
  graph.add_node()->set_name("1");
  graph.set_name(name);
  return graph;
}

TEST(GraphAssemblyTest, EndsWithTheStreamOrWithAPieceThatSaysSo) {
  GraphAssembly assembly;
  const std::string first = Named("a").SerializeAsString();
  const std::string second = Named("b").SerializeAsString();
  ASSERT_TRUE(assembly.Add(Piece(first, true)).ok());
  ASSERT_TRUE(assembly.Add(Piece(second.substr(0, 3), false)).ok());
  ASSERT_TRUE(assembly.Add(Piece(second.substr(3), false)).ok());
  const auto graphs = assembly.Take();
  ASSERT_TRUE(graphs.ok());
  ASSERT_EQ(graphs->size(), 2u);
  EXPECT_EQ(graphs->at(0).name(), "a");
  EXPECT_EQ(graphs->at(1).name(), "b");
}

// If a graph is split between two nodes, both halves can be parsed.
TEST(GraphAssemblyTest, AWholePieceWithoutANameIsNotTheLast) {
  debugger::GraphProto half;
  debugger::NodeProto& node = *half.add_node();
  node.set_name("1");
  const size_t rest = GraphAssembly::kPieceBytes - 20;
  node.set_full_name(std::string(rest, 'x'));
  while (half.ByteSizeLong() < GraphAssembly::kPieceBytes) {
    node.mutable_full_name()->push_back('x');
  }
  ASSERT_EQ(half.ByteSizeLong(), GraphAssembly::kPieceBytes);
  GraphAssembly assembly;
  ASSERT_TRUE(assembly.Add(Piece(half.SerializeAsString(), true)).ok());
  ASSERT_TRUE(assembly.Add(Piece(Named("a").SerializeAsString(), true)).ok());
  const auto graphs = assembly.Take();
  ASSERT_TRUE(graphs.ok());
  ASSERT_EQ(graphs->size(), 1u);
  EXPECT_EQ(graphs->at(0).node_size(), 2);
}

TEST(GraphTranslationTest, IdsAreTheSameForTheSameGraphs) {
  debugger::GraphProto graph = Named("kernel_graph_0");
  graph.mutable_node(0)->set_full_name("Default/a-op1");
  graph.mutable_node(0)->add_input()->set_name("w");
  graph.add_parameters()->set_name("w");
  NodeTable first, second;
  const auto original = TranslateGraph(graph, first);
  const auto again = TranslateGraph(graph, first);
  const auto restored = TranslateGraph(graph, second);
  ASSERT_EQ(original.nodes.size(), 2u);
  for (size_t i = 0; i < original.nodes.size(); ++i) {
    EXPECT_EQ(original.nodes[i].id, again.nodes[i].id);
    EXPECT_EQ(original.nodes[i].id, restored.nodes[i].id);
    EXPECT_EQ(original.nodes[i].name, restored.nodes[i].name);
  }
}

// A malicious client could send references that form a cycle.
TEST(GraphTranslationTest, CirclesOfPicksEnd) {
  debugger::GraphProto graph;
  debugger::NamedValueProto& zero = *graph.add_const_vals();
  zero.set_key("cst1");
  zero.mutable_value()->set_int_val(0);
  for (const char* other : {"2", "1"}) {
    debugger::NodeProto& node = *graph.add_node();
    node.set_name(std::to_string(graph.node_size()));
    node.set_op_type("tuple_getitem");
    node.add_input()->set_name(other);
    node.add_input()->set_name("cst1");
  }
  NodeTable table;
  TranslateGraph(graph, table);
  for (const NodeEntry& node : table.nodes()) {
    uint32_t slot = 0;
    EXPECT_NE(table.OwnerOf(node, slot).id, 0u);
  }
}

TEST(SourceLinesTest, WithAndWithoutMarks) {
  const auto lines = SourceLinesOf(
      "# In file /usr/lib/python3/site-packages/nn.py:7/y = op(x)/\n"
      "       # ~  In file /home/me/net.py:42/x = self.conv(x) # a/b/\n"
      "nothing\n# In file /home/me/x:y.py:3");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_FALSE(lines[0].user);
  EXPECT_EQ(lines[1].file, "/home/me/net.py");
  EXPECT_EQ(lines[1].line, 42u);
  EXPECT_EQ(lines[1].text, "x = self.conv(x) # a/b");
  EXPECT_EQ(lines[2].file, "/home/me/x:y.py");
  EXPECT_EQ(lines[2].line, 3u);
  EXPECT_EQ(UserLine(lines)->line, 42u);
}

TEST(ErrorTextTest, NamesEveryReasonAndWhatItDoesNotKnow) {
  EXPECT_EQ(ErrorText(0), "");
  const std::string text = ErrorText(1 | 2 | 64);
  EXPECT_NE(text.find("NaN"), std::string::npos);
  EXPECT_NE(text.find("infinities"), std::string::npos);
  EXPECT_NE(text.find("64"), std::string::npos);
}

TEST(ValuesTest, ATensorWhoseBytesDoNotFitHasNoValue) {
  debugger::ValueProto value;
  debugger::TensorProto& tensor = *value.mutable_tensor_val();
  tensor.set_data_type(debugger::DT_FLOAT32);
  tensor.add_dims(2);
  tensor.set_tensor_content("1234");
  EXPECT_FALSE(ValueOf(value).has_value());
  tensor.set_tensor_content("12345678");
  EXPECT_TRUE(ValueOf(value).has_value());
  tensor.set_dims(0, -1);
  EXPECT_FALSE(ValueOf(value).has_value());
}

TEST(TypesTest, NumbersOfNewerClientsAreOpaque) {
  EXPECT_EQ(DTypeOf(4711), DType::kOther);
  EXPECT_EQ(model::DTypeName(ScalarOf(4711)), "other:4711");
  EXPECT_EQ(model::DTypeName(ScalarOf(debugger::DT_BASE_FLOAT)), "float32");
  EXPECT_EQ(model::DTypeName(ScalarOf(0)), "");
}

}  // namespace
}  // namespace graphdbg::mindspore
