#include "server/diagnosis/incidents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace graphdbg::diagnosis {
namespace {

using ::testing::ElementsAre;

// forward/log reads forward/weight; add reads log; mm, elsewhere, reads
// nothing, and neither does div, the derivative of log.
enum Nodes : graph::NodeIndex { kWeight, kLog, kAdd, kReceive, kMm, kDiv };

class IncidentsTest : public testing::Test {
 protected:
  IncidentsTest() {
    graph::GraphPatch patch;
    const auto add = [&](const char* name, std::vector<uint32_t> inputs,
                         model::NodeKind kind = model::NodeKind::kOp) {
      graph::NodeRecord record;
      record.id = static_cast<uint32_t>(patch.nodes.size()) + 1;
      record.name = name;
      record.kind = kind;
      record.op_type = "aten::op";
      for (const uint32_t input : inputs) record.inputs.push_back({input, 0});
      patch.nodes.push_back(record);
    };
    add("forward/weight", {}, model::NodeKind::kParameter);
    add("forward/log", {1});
    add("forward/add", {2});
    add("forward/receive", {});
    add("forward/mm", {});
    add("backward/div", {});
    patch.nodes.back().forward_node_id = 2;
    graph::AgentIds ids;
    EXPECT_TRUE(graph_.Apply(patch, ids).ok());
  }

  // Adds a hit by a NaN.
  model::Hit& Nan(uint64_t step, uint64_t order, graph::NodeIndex node,
                  model::Origin origin = model::Origin::kPropagated,
                  uint32_t rank = 0, const char* condition = "nan") {
    watch::HitRecord record;
    record.node = node;
    record.hit.step = step;
    record.hit.order = order;
    record.hit.rank = rank;
    record.hit.origin = origin;
    record.hit.statistics.count = 4;
    record.hit.statistics.nan_count = 1;
    record.hit.condition = std::make_shared<const model::Condition>(
        model::Condition{condition, {}});
    records_.push_back(record);
    return records_.back().hit;
  }

  model::IncidentPage Page(size_t limit = 100) {
    for (const watch::HitRecord& record : records_) hits_.Add(record);
    records_.clear();
    incidents_ = std::make_unique<Incidents>(
        graph_, hits_, [this](const model::Hit& hit) {
          return hit.rank == 0 ? sender_ : graph::kNoNode;
        });
    return incidents_->Page(
        graph_, hits_, [](model::Hit&) {}, limit);
  }

  graph::GraphStore graph_;
  watch::HitLog hits_{graph_};
  std::vector<watch::HitRecord> records_;
  std::unique_ptr<Incidents> incidents_;
  graph::NodeIndex sender_ = graph::kNoNode;
};

// A chain of gradients: mul reads loss; t, which is not watched, reads mul; and
// mm reads t. sum reads nothing.
class GradientIncidentsTest : public IncidentsTest {
 protected:
  GradientIncidentsTest() {
    graph::GraphPatch patch;
    const auto add = [&](const char* name, std::vector<uint32_t> inputs) {
      graph::NodeRecord record;
      record.id = kFirstId + static_cast<uint32_t>(patch.nodes.size());
      record.name = name;
      record.kind = model::NodeKind::kOp;
      record.category = model::Category::kGradient;
      record.op_type = "aten::op";
      for (const uint32_t input : inputs) {
        record.inputs.push_back({kFirstId + input, 0});
      }
      patch.nodes.push_back(record);
    };
    add("backward/loss", {});
    add("backward/2/mul", {0});
    add("backward/1/t", {1});
    add("backward/0/mm", {2});
    add("backward/0/sum", {});
    graph::AgentIds ids;
    EXPECT_TRUE(graph_.Apply(patch, ids).ok());
  }

  void Vanishing(uint64_t step, uint64_t order, const char* node,
                 uint32_t watchpoint = 1) {
    model::Hit& hit = Nan(step, order, graph_.FindNode(node),
                          model::Origin::kUnknown, 0, "gradient_vanishing");
    hit.statistics.nan_count = 0;
    hit.watchpoint = watchpoint;
  }

  static constexpr uint32_t kFirstId = 100;
};

TEST_F(GradientIncidentsTest, AChainOfGradientsIsOneIncident) {
  Vanishing(1, 1, "backward/loss");
  Vanishing(1, 2, "backward/2/mul");
  Vanishing(1, 3, "backward/0/mm");
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 1u);
  EXPECT_EQ(page.incidents[0].origin.node, "backward/loss");
  EXPECT_EQ(page.incidents[0].hit_count, 3u);
  EXPECT_EQ(page.incidents[0].reached_count, 2u);
}

TEST_F(GradientIncidentsTest, StepsRepeatAChain) {
  for (uint64_t step = 1; step <= 3; ++step) {
    Vanishing(step, 2, "backward/2/mul");
    Vanishing(step, 3, "backward/0/mm");
  }
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 1u);
  EXPECT_EQ(page.incidents[0].origin.node, "backward/2/mul");
  EXPECT_EQ(page.incidents[0].reached_count, 1u);
}

TEST_F(GradientIncidentsTest, OthersAreIncidentsOfTheirOwn) {
  Vanishing(1, 1, "backward/2/mul");
  // Reads none of them.
  Vanishing(1, 2, "backward/0/sum");
  // Another watchpoint, and another step.
  Vanishing(1, 3, "backward/0/mm", 2);
  EXPECT_EQ(Page().total, 3u);
}

TEST_F(IncidentsTest, AnOriginExplainsTheHitsThatPassItOn) {
  Nan(1, 2, kAdd);
  Nan(1, 1, kLog, model::Origin::kOrigin);
  Nan(1, 1, kLog, model::Origin::kOrigin, 0, "overflow");
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 1u);
  const model::Incident& incident = page.incidents[0];
  EXPECT_EQ(incident.id, 2u);
  EXPECT_EQ(incident.origin.node, "forward/log");
  EXPECT_THAT(incident.conditions, ElementsAre("nan", "overflow"));
  EXPECT_EQ(incident.hit_count, 3u);
  EXPECT_EQ(incident.reached_count, 1u);
  EXPECT_EQ(incident.first_reached->node, "forward/add");
  EXPECT_EQ(incidents_->IncidentOf(1), 2u);
  EXPECT_EQ(incidents_->IncidentOf(99), 0u);
}

TEST_F(IncidentsTest, AnOpThatReadsABadTensorIsNoOrigin) {
  Nan(1, 1, kLog, model::Origin::kOrigin, 0, "inf");
  // NaN of infinities: an origin of NaN only.
  Nan(1, 2, kAdd, model::Origin::kOrigin);
  EXPECT_EQ(Page().total, 1u);
}

TEST_F(IncidentsTest, TheDerivativeOfABadOpIsNoOrigin) {
  Nan(1, 1, kLog, model::Origin::kOrigin);
  Nan(1, 2, kDiv, model::Origin::kOrigin);
  // Of an op that was good in this step.
  Nan(2, 1, kDiv, model::Origin::kOrigin);
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 2u);
  EXPECT_EQ(page.incidents[0].hit_count, 2u);
  EXPECT_EQ(page.incidents[1].origin.node, "backward/div");
}

TEST_F(IncidentsTest, RepeatsOfSuccessiveStepsAreOneRange) {
  for (const uint64_t step : {1, 2, 3, 7}) {
    Nan(step, 1, kLog, model::Origin::kOrigin);
  }
  EXPECT_THAT(Page().incidents.at(0).steps,
              ElementsAre(model::StepRange{1, 3}, model::StepRange{7, 7}));
}

TEST_F(IncidentsTest, WeightsCarryItToTheNextStep) {
  Nan(1, 1, kMm, model::Origin::kOrigin);
  Nan(1, 9, kWeight, model::Origin::kUnknown);
  // Another cause, and the weight that was bad before.
  Nan(2, 1, kAdd, model::Origin::kOrigin);
  Nan(2, 2, kLog);
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 2u);
  EXPECT_EQ(incidents_->IncidentOf(4), 1u);
  EXPECT_THAT(page.incidents[0].steps, ElementsAre(model::StepRange{1, 2}));
  // A weight that was good for a step carries nothing.
  Nan(9, 1, kLog, model::Origin::kOrigin);
  EXPECT_EQ(Page().total, 3u);
}

TEST_F(IncidentsTest, RanksThatReceiveItBelongToTheSender) {
  Nan(1, 1, kLog, model::Origin::kOrigin, 1);
  Nan(1, 5, kReceive, model::Origin::kOrigin, 0);
  sender_ = kLog;
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 1u);
  EXPECT_EQ(page.incidents[0].first_rank, 1u);
  EXPECT_THAT(page.incidents[0].ranks, ElementsAre(0, 1));
}

TEST_F(IncidentsTest, WhatARankPassesOnBeganOnAnother) {
  Nan(1, 1, kLog, model::Origin::kOrigin, 1);
  Nan(1, 9, kMm, model::Origin::kPropagated, 0);
  // In a later step, nothing is known to have brought it.
  Nan(2, 9, kMm, model::Origin::kPropagated, 0);
  const model::IncidentPage page = Page();
  ASSERT_EQ(page.total, 2u);
  EXPECT_EQ(page.incidents[0].first_rank, 1u);
  EXPECT_THAT(page.incidents[0].ranks, ElementsAre(0u, 1u));
  EXPECT_EQ(page.incidents[1].steps[0].first, 2u);
}

TEST_F(IncidentsTest, WithoutAnOriginTheFirstHitStandsForIt) {
  Nan(3, 1, kAdd);
  Nan(3, 2, kMm);
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 1u);
  EXPECT_EQ(page.incidents[0].origin.node, "forward/add");
}

TEST_F(IncidentsTest, OtherHitsDoNotSpread) {
  for (const graph::NodeIndex node : {kLog, kAdd, kLog}) {
    Nan(1, 1, node).statistics.nan_count = 0;
  }
  const auto page = Page();
  ASSERT_EQ(page.incidents.size(), 2u);
  EXPECT_EQ(page.incidents[0].hit_count, 2u);
}

TEST_F(IncidentsTest, AbsorbedHitsBelongToNone) {
  Nan(1, 1, kLog, model::Origin::kOrigin).absorbed = true;
  EXPECT_EQ(Page().total, 0u);
  EXPECT_EQ(incidents_->IncidentOf(1), 0u);
}

TEST_F(IncidentsTest, APageHasTheFirstOnes) {
  Nan(1, 1, kLog, model::Origin::kOrigin);
  Nan(1, 1, kMm, model::Origin::kOrigin);
  const auto page = Page(1);
  EXPECT_EQ(page.incidents.size(), 1u);
  EXPECT_EQ(page.total, 2u);
}

}  // namespace
}  // namespace graphdbg::diagnosis
