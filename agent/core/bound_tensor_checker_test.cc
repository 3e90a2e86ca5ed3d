#include "agent/core/bound_tensor_checker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace graphdbg::agent {
namespace {

const float kNan = std::nanf("");
constexpr float kInf = std::numeric_limits<float>::infinity();

// Nodes that are bound to vectors of the test.
class BoundTensorCheckerTest : public testing::Test {
 protected:
  BoundTensorCheckerTest()
      : host_(MakeHost()), devices_(&host_, [](auto&) {}) {}

  Host MakeHost() {
    graphdbg_host callbacks = {};
    callbacks.struct_size = sizeof(callbacks);
    callbacks.resolve = [](void*, void* bound, graphdbg_tensor* out,
                           int64_t* shape, int64_t*) {
      auto* values = static_cast<std::vector<float>*>(bound);
      if (values->empty()) return 1;
      shape[0] = static_cast<int64_t>(values->size());
      out->dtype = GRAPHDBG_FLOAT32;
      out->data = values->data();
      out->ndim = 1;
      out->shape = shape;
      return 0;
    };
    return Host(&callbacks);
  }

  uint32_t Bind(const std::string& name, std::vector<float> values,
                graphdbg_node_kind kind = GRAPHDBG_PARAMETER) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = kind;
    const uint32_t node = *nodes_.Declare(info);
    watch_.AddNode(node);
    values_[node] = std::move(values);
    bindings_.Bind(node, &values_[node]);
    return node;
  }

  void Watch(const std::string& condition) {
    v1::SetWatchpoint message;
    message.set_id(1);
    message.set_enabled(true);
    message.mutable_condition()->set_id(condition);
    ASSERT_TRUE(watch_.Set(message).ok());
  }

  Findings Check(uint64_t step = 1) {
    Findings findings;
    checker_under_test_.Check(*watch_.snapshot(), step, &findings);
    return findings;
  }

  std::map<uint32_t, std::vector<float>> values_;
  Host host_;
  Devices devices_;
  NodeTable nodes_;
  WatchTable watch_{&nodes_};
  Bindings bindings_;
  PreviousValues previous_{/*generations=*/1, /*budget_bytes=*/1000};
  Checker checker_{&nodes_, &host_, &devices_};
  ExecutionCounter counter_;
  BoundTensorChecker checker_under_test_{{&host_, &devices_, &nodes_,
                                          &bindings_, &previous_, &checker_,
                                          &counter_}};
};

TEST_F(BoundTensorCheckerTest, ReportsBadParametersInOrder) {
  Bind("good", {1, 2});
  const uint32_t first = Bind("first", {1, kNan});
  const uint32_t second = Bind("second", {kNan});
  EXPECT_TRUE(Check().hits.empty());
  Watch("nan");
  const Findings findings = Check(/*step=*/3);
  ASSERT_EQ(findings.hits.size(), 2u);
  EXPECT_EQ(findings.hits[0].node_id(), first);
  EXPECT_EQ(findings.hits[0].step(), 3u);
  EXPECT_EQ(findings.hits[1].node_id(), second);
  EXPECT_LT(findings.hits[0].order(), findings.hits[1].order());
}

TEST_F(BoundTensorCheckerTest, LeavesInputsToTheirExecutions) {
  Bind("input", {kNan}, GRAPHDBG_INPUT);
  Watch("nan");
  EXPECT_TRUE(Check().hits.empty());
}

TEST_F(BoundTensorCheckerTest, SkipsTensorsThatNoLongerExist) {
  values_[Bind("weight", {kNan})].clear();
  Watch("nan");
  EXPECT_TRUE(Check().hits.empty());
}

TEST_F(BoundTensorCheckerTest, DoesNotTestAgainWhatTheAdapterHasTested) {
  NodeFacts* const facts = nodes_.Facts(Bind("weight", {kNan}));
  Watch("nan");
  facts->RecordFinite(true, /*step=*/2);
  EXPECT_TRUE(Check(/*step=*/2).hits.empty());
  EXPECT_EQ(Check(/*step=*/3).hits.size(), 1u);
  // An execution found that, and something may have been written since.
  facts->RecordFinite(true, /*step=*/4);
  facts->last_step = 4;
  EXPECT_EQ(Check(/*step=*/4).hits.size(), 1u);
}

TEST_F(BoundTensorCheckerTest, ComparesWithThePreviousStep) {
  const uint32_t weight = Bind("weight", {1, 2});
  Watch("tensor_not_changed");
  BoundTensor bound;
  ASSERT_TRUE(ResolveBound(host_, &values_[weight], &bound));
  previous_.Keep(weight, 0, bound.tensor, 1);
  // Other conditions than those for NaN and infinities need the values.
  nodes_.Facts(weight)->RecordFinite(true, /*step=*/2);
  EXPECT_EQ(Check(/*step=*/2).hits.size(), 1u);
  values_[weight][0] = 7;
  EXPECT_TRUE(Check(/*step=*/2).hits.empty());
}

TEST_F(BoundTensorCheckerTest, BuffersMadeWithInfinitiesAreIntentional) {
  const uint32_t mask = Bind("mask", {0, -kInf}, GRAPHDBG_BUFFER);
  const uint32_t weight = Bind("weight", {0, -kInf});
  const uint32_t broken = Bind("broken", {kNan, -kInf}, GRAPHDBG_BUFFER);
  checker_under_test_.MarkIntentionalInfinities();
  const auto intentional = [&](uint32_t node) {
    return nodes_.Facts(node)->intentional_infinities_in_step ==
           NodeFacts::kAlways;
  };
  EXPECT_TRUE(intentional(mask));
  EXPECT_FALSE(intentional(weight));
  EXPECT_FALSE(intentional(broken));
}

}  // namespace
}  // namespace graphdbg::agent
