#include "agent/conditions/selector.h"

#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

TEST(SelectorTest, AnEmptySelectionIsEveryNode) {
  EXPECT_TRUE(
      NodeMatcher().Matches("forward/conv1/conv2d", Category::kActivation));
}

TEST(SelectorTest, ListsAreAUnion) {
  NodeSelection selection;
  selection.nodes = {"forward/fc/addmm"};
  selection.scopes = {"forward/conv1"};
  selection.patterns = {"backward/*/mm"};
  selection.categories = {Category::kWeight};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches("forward/fc/addmm", Category::kOther));
  EXPECT_TRUE(matcher.Matches("forward/conv1/conv2d", Category::kOther));
  EXPECT_TRUE(matcher.Matches("backward/fc/mm", Category::kGradient));
  EXPECT_TRUE(matcher.Matches("forward/fc/bias", Category::kWeight));
  EXPECT_FALSE(matcher.Matches("forward/fc/relu", Category::kActivation));
}

TEST(SelectorTest, AScopeIsItsDescendantsOnly) {
  NodeSelection selection;
  selection.scopes = {"forward/conv1"};
  const NodeMatcher matcher(selection);
  EXPECT_TRUE(matcher.Matches("forward/conv1/a/b/c", Category::kOther));
  EXPECT_FALSE(matcher.Matches("forward/conv1", Category::kOther));
  EXPECT_FALSE(matcher.Matches("forward/conv10/conv2d", Category::kOther));
}

TEST(SelectorTest, ListedNamesNeedNotBeSorted) {
  NodeSelection selection;
  selection.nodes = {"c", "a", "b"};
  selection.scopes = {"z", "x/y", "x"};
  const NodeMatcher matcher(selection);
  for (const char* name : {"a", "b", "c", "z/1", "x/y/1", "x/1"}) {
    EXPECT_TRUE(matcher.Matches(name, Category::kOther)) << name;
  }
  for (const char* name : {"d", "", "z", "y/1", "x/", "xy/1"}) {
    EXPECT_FALSE(matcher.Matches(name, Category::kOther)) << name;
  }
}

TEST(SelectorTest, TheTargetRestrictsEverySelection) {
  NodeSelection selection;
  selection.target = Category::kWeight;
  EXPECT_TRUE(NodeMatcher(selection).Matches("a", Category::kWeight));
  EXPECT_FALSE(NodeMatcher(selection).Matches("a", Category::kGradient));
  selection.nodes = {"a"};
  EXPECT_FALSE(NodeMatcher(selection).Matches("a", Category::kGradient));
}

TEST(SelectorTest, CountsTheBytesOfAllPatterns) {
  NodeSelection selection;
  EXPECT_EQ(PatternBytes(selection), 0u);
  selection.patterns = {"**/conv", "a*"};
  EXPECT_EQ(PatternBytes(selection), 9u);
}

}  // namespace
}  // namespace graphdbg::conditions
