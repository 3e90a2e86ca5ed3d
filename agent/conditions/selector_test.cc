#include "agent/conditions/selector.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

TEST(SelectorTest, AnEmptySelectionIsEveryNode) {
  EXPECT_TRUE(
      NodeMatcher().Matches({"forward/conv1/conv2d", Category::kActivation}));
}

TEST(SelectorTest, ListsAreAUnion) {
  NodeSelection selection;
  selection.nodes = {"forward/fc/addmm"};
  selection.scopes = {"forward/conv1"};
  selection.patterns = {"backward/*/mm"};
  selection.categories = {Category::kWeight};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches({"forward/fc/addmm", Category::kOther}));
  EXPECT_TRUE(matcher.Matches({"forward/conv1/conv2d", Category::kOther}));
  EXPECT_TRUE(matcher.Matches({"backward/fc/mm", Category::kGradient}));
  EXPECT_TRUE(matcher.Matches({"forward/fc/bias", Category::kWeight}));
  EXPECT_FALSE(matcher.Matches({"forward/fc/relu", Category::kActivation}));
}

TEST(SelectorTest, AScopeIsItsDescendantsOnly) {
  NodeSelection selection;
  selection.scopes = {"forward/conv1"};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches({"forward/conv1/a/b/c", Category::kOther}));
  EXPECT_FALSE(matcher.Matches({"forward/conv1", Category::kOther}));
  EXPECT_FALSE(matcher.Matches({"forward/conv10/conv2d", Category::kOther}));
}

TEST(SelectorTest, ListedNamesNeedNotBeSorted) {
  NodeSelection selection;
  selection.nodes = {"c", "a", "b"};
  selection.scopes = {"z", "x/y", "x"};
  const NodeMatcher matcher(selection);
  for (const char* name : {"a", "b", "c", "z/1", "x/y/1", "x/1"}) {
    EXPECT_TRUE(matcher.Matches({name, Category::kOther})) << name;
  }
  for (const char* name : {"d", "", "z", "y/1", "x/", "xy/1"}) {
    EXPECT_FALSE(matcher.Matches({name, Category::kOther})) << name;
  }
}

TEST(SelectorTest, TheTargetRestrictsEverySelection) {
  NodeSelection selection;
  const Target kWeights{Category::kWeight};
  EXPECT_TRUE(
      NodeMatcher(selection, kWeights).Matches({"a", Category::kWeight}));
  EXPECT_FALSE(
      NodeMatcher(selection, kWeights).Matches({"a", Category::kGradient}));
  selection.nodes = {"a"};
  EXPECT_FALSE(
      NodeMatcher(selection, kWeights).Matches({"a", Category::kGradient}));
}

NodeDescription Node(absl::string_view name, absl::string_view op_type,
                     absl::string_view file = "", uint32_t line = 0) {
  return {name, Category::kOther, op_type, file, line};
}

TEST(SelectorTest, RegularExpressionsAreFoundAnywhereInEitherCase) {
  NodeSelection selection;
  selection.regexes = {"layers/[0-3]/", "HEAD$"};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches({"forward/Layers/2/mm"}));
  EXPECT_TRUE(matcher.Matches({"forward/head"}));
  EXPECT_FALSE(matcher.Matches({"forward/layers/4/mm"}));
  EXPECT_FALSE(matcher.Matches({"forward/head/mm"}));
}

TEST(SelectorTest, OpTypesAndSourcesNarrowWhatIsNamed) {
  NodeSelection selection;
  selection.scopes = {"forward/encoder"};
  selection.op_types = {"addmm", "aten::relu"};
  EXPECT_TRUE(NodeMatcher(selection).Matches(
      Node("forward/encoder/fc/addmm", "aten::addmm")));
  EXPECT_TRUE(
      NodeMatcher(selection).Matches(Node("forward/encoder/a", "aten::relu")));
  EXPECT_FALSE(
      NodeMatcher(selection).Matches(Node("forward/encoder/t", "aten::t")));
  EXPECT_FALSE(
      NodeMatcher(selection).Matches(Node("forward/addmm", "aten::addmm")));
  EXPECT_FALSE(NodeMatcher(selection).Matches(
      Node("forward/encoder/a", "aten::baddmm")));
  selection.sources = {"model.py:32"};
  EXPECT_TRUE(NodeMatcher(selection).Matches(
      Node("forward/encoder/a", "aten::relu", "/home/a/model.py", 32)));
  EXPECT_FALSE(NodeMatcher(selection).Matches(
      Node("forward/encoder/a", "aten::relu", "/home/a/model.py", 33)));
  EXPECT_FALSE(NodeMatcher(selection).Matches(
      Node("forward/encoder/a", "aten::relu", "/home/a/my_model.py", 32)));
}

TEST(SelectorTest, AFileIsAllItsLinesAndNodesWithoutALineAreOnNone) {
  NodeSelection selection;
  selection.sources = {"src/model.py"};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches(Node("a", "", "/home/src/model.py", 7)));
  EXPECT_FALSE(matcher.Matches(Node("a", "", "/home/model.py", 7)));
  EXPECT_FALSE(matcher.Matches(Node("a", "")));
}

TEST(SelectorTest, ALineToStopAtContainsWhatItCalls) {
  NodeSelection selection;
  selection.sources = {"model.py:32", "train.py"};
  selection.exclude.scopes = {"backward"};
  const NodeMatcher matcher(selection, {std::nullopt, /*ops_only=*/true});
  EXPECT_TRUE(matcher.follows_calls());
  const NodeDescription relu = Node("forward/relu", "relu", "/a/block.py", 9);
  EXPECT_FALSE(matcher.Matches(relu));
  EXPECT_TRUE(matcher.MatchesCall(relu, "/a/model.py", 32));
  EXPECT_FALSE(matcher.MatchesCall(relu, "/a/model.py", 33));
  // Everything is called from the lines of some file.
  EXPECT_FALSE(matcher.MatchesCall(relu, "/a/train.py", 1));
  EXPECT_FALSE(
      matcher.MatchesCall(Node("backward/relu", ""), "/a/model.py", 32));
  EXPECT_FALSE(NodeMatcher(selection).follows_calls());
}

TEST(SelectorTest, EachEntryOfExcludeRemoves) {
  NodeSelection selection;
  selection.exclude.scopes = {"forward/aux"};
  selection.exclude.op_types = {"relu"};
  selection.exclude.categories = {Category::kWeight};
  const NodeMatcher matcher(selection);
  EXPECT_FALSE(matcher.selects_everything());
  EXPECT_TRUE(matcher.Matches(Node("forward/a", "aten::mm")));
  EXPECT_FALSE(matcher.Matches(Node("forward/aux/a", "aten::mm")));
  EXPECT_FALSE(matcher.Matches(Node("forward/a", "aten::relu")));
  EXPECT_FALSE(matcher.Matches({"forward/w", Category::kWeight}));
}

TEST(SelectorTest, TypesAreOfTensorsNotOfNodes) {
  NodeSelection selection;
  selection.dtypes = {DType::kFloat16, DType::kBfloat16};
  selection.exclude.dtypes = {DType::kBfloat16};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches({"a"}));
  EXPECT_TRUE(matcher.MatchesType(DType::kFloat16));
  EXPECT_FALSE(matcher.MatchesType(DType::kBfloat16));
  EXPECT_FALSE(matcher.MatchesType(DType::kFloat32));
  EXPECT_TRUE(NodeMatcher().MatchesType(DType::kFloat8E5m2));
}

TEST(SelectorTest, ConditionsOnExecutionsApplyToOpsOnly) {
  const Target target{std::nullopt, /*ops_only=*/true};
  const NodeMatcher matcher(NodeSelection(), target);
  NodeDescription node{"forward/weight"};
  EXPECT_TRUE(matcher.Matches(node));
  EXPECT_FALSE(matcher.selects_everything());
  node.is_op = false;
  EXPECT_FALSE(matcher.Matches(node));
}

TEST(SelectorTest, RanksAreThoseListedButNotExcluded) {
  NodeSelection selection;
  EXPECT_TRUE(IncludesRank(selection, 5));
  selection.ranks = {0, 1};
  selection.exclude.ranks = {1};
  EXPECT_TRUE(IncludesRank(selection, 0));
  EXPECT_FALSE(IncludesRank(selection, 1));
  EXPECT_FALSE(IncludesRank(selection, 2));
}

std::string FieldOf(const absl::Status& status) {
  const auto field = status.GetPayload("graphdbg/field");
  return field ? std::string(*field) : "";
}

TEST(SelectorTest, ErrorsNameTheEntry) {
  NodeSelection selection;
  EXPECT_TRUE(Validate(selection).ok());
  selection.regexes = {"a", "(b"};
  EXPECT_EQ(FieldOf(Validate(selection)), "regexes[1]");
  EXPECT_THAT(Validate(selection).message(),
              testing::HasSubstr("missing ): (b"));
  for (const char* wrong : {":3", "model.py:", "model.py:x", "model.py:0"}) {
    selection = {};
    selection.exclude.sources = {wrong};
    EXPECT_EQ(FieldOf(Validate(selection)), "exclude.sources[0]") << wrong;
  }
  selection = {};
  selection.op_types.assign(65, "relu");
  EXPECT_EQ(FieldOf(Validate(selection)), "op_types");
  selection = {};
  selection.regexes.assign(5, std::string(1'000, 'x'));
  EXPECT_EQ(FieldOf(Validate(selection)), "regexes");
}

TEST(SelectorTest, OldAgentsDoNotKnowTheNewKeys) {
  NodeSelection selection;
  selection.scopes = {"a"};
  selection.ranks = {1};
  EXPECT_EQ(ExtendedKey(selection), "");
  selection.exclude.nodes = {"a/b"};
  EXPECT_EQ(ExtendedKey(selection), "exclude");
  selection.dtypes = {DType::kFloat16};
  EXPECT_EQ(ExtendedKey(selection), "dtypes");
}

TEST(SelectorTest, CountsTheBytesOfAllPatterns) {
  NodeSelection selection;
  EXPECT_EQ(PatternBytes(selection), 0u);
  selection.patterns = {"**/conv", "a*"};
  EXPECT_EQ(PatternBytes(selection), 9u);
}

}  // namespace
}  // namespace graphdbg::conditions
