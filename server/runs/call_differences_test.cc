#include "server/runs/call_differences.h"

#include <gtest/gtest.h>

#include <utility>

namespace graphdbg::recorded {
namespace {

using model::CallDifference;
using model::CallDifferenceKind;

constexpr uint32_t kGradient = 1;
constexpr uint32_t kClip = 2;
constexpr uint32_t kStep = 3;
constexpr uint32_t kWeight = 4;

// An optimizer's op that reads a weight and a gradient, which clipping may have
// changed.
ComparedNodes Update(bool clips) {
  ComparedNodes nodes;
  nodes[kGradient].name = "gradient";
  nodes[kWeight].name = "weight";
  if (clips) {
    ComparedNode& clip = nodes[kClip];
    clip.name = "clip";
    clip.op_type = "aten::mul_.Tensor";
    clip.inputs = {{kGradient, 0}};
    clip.place = "train.py:7";
  }
  ComparedNode& step = nodes[kStep];
  step.name = "step";
  step.op_type = "aten::add";
  step.inputs = {{kWeight, 0}, {clips ? kClip : kGradient, 0}};
  step.attributes = {{"alpha", "1"}, {"mode", "train"}};
  return nodes;
}

std::vector<CallDifference> Compare(const ComparedNodes& here,
                                    const ComparedNodes& there) {
  const auto side = [](const ComparedNodes& nodes) {
    return CallSide{nodes, kStep,
                    [&nodes](uint32_t node) { return nodes.at(node).name; }};
  };
  return CallDifferences(side(here), side(there));
}

void ExpectOne(const std::vector<CallDifference>& found,
               const CallDifference& expected) {
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, expected.what);
  EXPECT_EQ(found[0].subject, expected.subject);
  EXPECT_EQ(found[0].here, expected.here);
  EXPECT_EQ(found[0].there, expected.there);
}

TEST(CallDifferencesTest, TheSameCallHasNone) {
  EXPECT_TRUE(Compare(Update(false), Update(false)).empty());
  EXPECT_TRUE(Compare(Update(true), Update(true)).empty());
}

TEST(CallDifferencesTest, AChangeInPlaceOfOneSideIsNamedWithItsLine) {
  ExpectOne(
      Compare(Update(false), Update(true)),
      {CallDifferenceKind::kInPlace, "gradient:0", "", "clip (train.py:7)"});
  ExpectOne(
      Compare(Update(true), Update(false)),
      {CallDifferenceKind::kInPlace, "gradient:0", "clip (train.py:7)", ""});
}

TEST(CallDifferencesTest, AnOpInsertedBetweenIsAnotherInput) {
  ComparedNodes there = Update(true);
  there[kClip].op_type = "aten::dropout";
  ExpectOne(Compare(Update(false), there),
            {CallDifferenceKind::kInput, "1", "gradient:0", "clip:0"});
}

TEST(CallDifferencesTest, AttributesOfTheComputationAreCompared) {
  ComparedNodes there = Update(false);
  there[kStep].attributes = {{"alpha", "2"}, {"mode", "eval"}};
  ExpectOne(Compare(Update(false), there),
            {CallDifferenceKind::kAttribute, "alpha", "1", "2"});
  there[kStep].attributes.clear();
  ExpectOne(Compare(Update(false), there),
            {CallDifferenceKind::kAttribute, "alpha", "1", ""});
}

TEST(CallDifferencesTest, ListsOfOtherLengthsAreNotCompared) {
  ComparedNodes there = Update(false);
  there[kStep].inputs.push_back({kWeight, 0});
  EXPECT_TRUE(Compare(Update(false), there).empty());
}

TEST(CallDifferencesTest, ANodeThatIsNotKnownHasNone) {
  ComparedNodes there = Update(true);
  there.erase(kStep);
  EXPECT_TRUE(Compare(Update(false), there).empty());
}

TEST(CallDifferencesTest, ChangesThatReferToEachOtherEnd) {
  ComparedNodes nodes = Update(true);
  nodes[kClip].inputs = {{kClip, 0}};
  EXPECT_TRUE(Compare(nodes, nodes).empty());
}

}  // namespace
}  // namespace graphdbg::recorded
