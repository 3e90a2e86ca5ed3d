#include "agent/conditions/selector.h"

#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

TEST(SelectorTest, AnEmptySelectionIsEveryNode) {
  EXPECT_TRUE(Matches({}, "forward/conv1/conv2d", Category::kActivation));
}

TEST(SelectorTest, ListsAreAUnion) {
  NodeSelection selection;
  selection.nodes = {"forward/fc/addmm"};
  selection.scopes = {"forward/conv1"};
  selection.patterns = {"backward/*/mm"};
  selection.categories = {Category::kWeight};
  EXPECT_TRUE(Matches(selection, "forward/fc/addmm", Category::kOther));
  EXPECT_TRUE(Matches(selection, "forward/conv1/conv2d", Category::kOther));
  EXPECT_TRUE(Matches(selection, "backward/fc/mm", Category::kGradient));
  EXPECT_TRUE(Matches(selection, "forward/fc/bias", Category::kWeight));
  EXPECT_FALSE(Matches(selection, "forward/fc/relu", Category::kActivation));
}

TEST(SelectorTest, AScopeIsItsDescendantsOnly) {
  NodeSelection selection;
  selection.scopes = {"forward/conv1"};
  EXPECT_TRUE(Matches(selection, "forward/conv1/a/b/c", Category::kOther));
  EXPECT_FALSE(Matches(selection, "forward/conv1", Category::kOther));
  EXPECT_FALSE(Matches(selection, "forward/conv10/conv2d", Category::kOther));
}

struct PatternCase {
  const char* pattern;
  const char* name;
  bool matches;
};

class PatternTest : public testing::TestWithParam<PatternCase> {};

TEST_P(PatternTest, MatchesAsDocumented) {
  const PatternCase& c = GetParam();
  EXPECT_EQ(MatchesPattern(c.pattern, c.name), c.matches)
      << c.pattern << " against " << c.name;
}

INSTANTIATE_TEST_SUITE_P(
    All, PatternTest,
    testing::Values(
        PatternCase{"", "", true}, PatternCase{"", "a", false},
        PatternCase{"*", "", true}, PatternCase{"*", "ab", true},
        PatternCase{"*", "a/b", false}, PatternCase{"**", "a/b", true},
        PatternCase{"**", "", true}, PatternCase{"a/*/c", "a/b/c", true},
        PatternCase{"a/*/c", "a/b/b/c", false},
        PatternCase{"a/**/c", "a/b/b/c", true},
        PatternCase{"**/conv2d", "forward/conv1/conv2d", true},
        PatternCase{"**/conv2d", "forward/conv1/conv2d_1", false},
        PatternCase{"**/conv2d*", "forward/conv1/conv2d_1", true},
        PatternCase{"a?c", "abc", true}, PatternCase{"a?c", "a/c", false},
        PatternCase{"a?c", "ac", false}, PatternCase{"*a*b*", "xxaxxbxx", true},
        PatternCase{"*a*b*", "xxbxxaxx", false},
        PatternCase{"[a]", "[a]", true}, PatternCase{"[a]", "a", false}));

// Matchers that backtrack take exponential time for this many stars.
TEST(PatternTest, ManyStarsAreNotExponential) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "**a";
  EXPECT_FALSE(MatchesPattern(pattern + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace graphdbg::conditions
