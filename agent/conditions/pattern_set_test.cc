#include "agent/conditions/pattern_set.h"

#include <string>
#include <vector>

#include "agent/conditions/selection.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

bool MatchesPattern(const std::string& pattern, const std::string& name) {
  return PatternSet({pattern}).Matches(name);
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
        PatternCase{"**", "", true}, PatternCase{"***", "a/b", true},
        PatternCase{"a/*/c", "a/b/c", true},
        PatternCase{"a/*/c", "a/b/b/c", false},
        PatternCase{"a/**/c", "a/b/b/c", true},
        PatternCase{"**/conv2d", "forward/conv1/conv2d", true},
        PatternCase{"**/conv2d", "forward/conv1/conv2d_1", false},
        PatternCase{"**/conv2d*", "forward/conv1/conv2d_1", true},
        PatternCase{"a?c", "abc", true}, PatternCase{"a?c", "a/c", false},
        PatternCase{"a?c", "ac", false}, PatternCase{"a??", "ab", false},
        PatternCase{"*a*b*", "xxaxxbxx", true},
        PatternCase{"*a*b*", "xxbxxaxx", false},
        PatternCase{"[a]", "[a]", true}, PatternCase{"[a]", "a", false},
        PatternCase{"\xc3\xa9*", "\xc3\xa9/x", false},
        PatternCase{"\xc3\xa9*", "\xc3\xa9x", true}));

TEST(PatternSetTest, IsAUnion) {
  const PatternSet set({"forward/*", "**/relu", ""});
  EXPECT_TRUE(set.Matches("forward/x"));
  EXPECT_TRUE(set.Matches("a/b/relu"));
  EXPECT_TRUE(set.Matches(""));
  EXPECT_FALSE(set.Matches("forward/x/y"));
  // The end of one pattern is not the start of the next.
  EXPECT_FALSE(set.Matches("forward/x/y/relu_"));
}

TEST(PatternSetTest, AnEmptySetMatchesNothing) {
  EXPECT_FALSE(PatternSet().Matches(""));
  EXPECT_FALSE(PatternSet(std::vector<std::string>()).Matches("a"));
}

// The definition, without regard to time.
bool Defined(absl::string_view pattern, absl::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    const bool across = pattern.size() > 1 && pattern[1] == '*';
    const absl::string_view rest = pattern.substr(across ? 2 : 1);
    for (size_t i = 0; i <= name.size(); ++i) {
      if (Defined(rest, name.substr(i))) return true;
      if (i < name.size() && name[i] == '/' && !across) return false;
    }
    return false;
  }
  if (name.empty()) return false;
  const bool takes = pattern[0] == '?' ? name[0] != '/' : pattern[0] == name[0];
  return takes && Defined(pattern.substr(1), name.substr(1));
}

// Every text of up to `length` of these characters.
std::vector<std::string> Texts(const std::string& characters, size_t length) {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == length) break;
    for (const char c : characters) texts.push_back(texts[i] + c);
  }
  return texts;
}

TEST(PatternSetTest, AgreesWithTheDefinitionOnAllShortTexts) {
  const std::vector<std::string> names = Texts("ab/", 5);
  for (const std::string& pattern : Texts("a/?*", 5)) {
    const PatternSet set({pattern});
    for (const std::string& name : names) {
      ASSERT_EQ(set.Matches(name), Defined(pattern, name))
          << pattern << " against " << name;
    }
  }
}

// States cross the borders of words.
TEST(PatternSetTest, MatchesLongPatterns) {
  std::vector<std::string> patterns;
  for (size_t length = 60; length < 200; ++length) {
    patterns.push_back(std::string(length, 'a') + "*b");
  }
  const PatternSet set(patterns);
  EXPECT_TRUE(set.Matches(std::string(63, 'a') + "b"));
  EXPECT_TRUE(set.Matches(std::string(199, 'a') + "xyzb"));
  EXPECT_FALSE(set.Matches(std::string(59, 'a') + "b"));
  EXPECT_FALSE(set.Matches(std::string(199, 'a') + "/b"));
}

// A name takes words() steps a byte. Matchers that backtrack take exponential
// time for this many stars, those that walk the pattern for each byte 64 times
// as many steps.
TEST(PatternSetTest, TheNumberOfStepsDependsOnTheLengthOnly) {
  std::string stars;
  for (int i = 0; i < 330; ++i) stars += "**a";
  stars += "b";
  const std::string letters(stars.size(), 'a');
  EXPECT_EQ(PatternSet({stars}).words(), PatternSet({letters}).words());
  EXPECT_LE(PatternSet({letters}).words(), letters.size() / 64 + 1);
  EXPECT_FALSE(PatternSet({stars}).Matches(std::string(4096, 'a')));
}

TEST(PatternSetTest, TheLimitsBoundTheSteps) {
  const std::vector<std::string> patterns(
      kMaxSelectionPatternBytes / kMaxPatternBytes,
      std::string(kMaxPatternBytes, '?'));
  EXPECT_LE(PatternSet(patterns).words(), 66u);
}

}  // namespace
}  // namespace graphdbg::conditions
