#include "server/jobs/overview_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace graphdbg::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsNan;
using Measure = model::OverviewMeasure;

OverviewTensor Tensor(OverviewRole role, float size) {
  OverviewTensor tensor;
  tensor.role = role;
  tensor.count = tensor.measured = 4;
  tensor.mean = tensor.abs_mean = tensor.l2 = size;
  return tensor;
}

model::OverviewStep Step(uint64_t number) {
  model::OverviewStep step;
  step.step = number;
  return step;
}

std::vector<OverviewTable::NamedTensor> Module(float size) {
  return {{"forward/a/0/addmm", Tensor(OverviewRole::kActivation, size)}};
}

TEST(OverviewTableTest, ModulesAreThoseOfAllTheirTensors) {
  OverviewTable table;
  OverviewTensor weight = Tensor(OverviewRole::kWeight, 1);
  weight.change = 0.25F;
  table.Add(Step(1),
            {{"backward/b/detach", Tensor(OverviewRole::kGradient, 3)},
             {"backward/b/detach_1", Tensor(OverviewRole::kGradient, 4)},
             {"forward/a/0/addmm", Tensor(OverviewRole::kActivation, 2)},
             {"forward/b/relu", Tensor(OverviewRole::kActivation, 1)},
             {"forward/b/weight", weight},
             {"forward/nll_loss", Tensor(OverviewRole::kLoss, 9)}});
  // In the order in which their results are computed.
  const model::OverviewSummary summary = table.Summary({});
  EXPECT_THAT(summary.modules, ElementsAre("a/0", "b"));
  ASSERT_EQ(summary.steps.size(), 1U);
  EXPECT_EQ(summary.steps[0].loss, 9);
  EXPECT_THAT(table.Matrix(Measure::kActivation, {}).values, ElementsAre(2, 1));
  EXPECT_THAT(table.Matrix(Measure::kGradient, {}).values,
              ElementsAre(IsNan(), FloatEq(5)));
  EXPECT_THAT(table.Matrix(Measure::kUpdate, {}).values,
              ElementsAre(IsNan(), FloatEq(0.25)));
}

TEST(OverviewTableTest, ValuesThatAreNotFiniteAreCounted) {
  OverviewTable table;
  OverviewTensor broken = Tensor(OverviewRole::kActivation, 0);
  broken.nan_count = 3;
  broken.inf_count = 1;
  table.Add(Step(1), {{"forward/a/log", broken}});
  EXPECT_THAT(table.Matrix(Measure::kNonFinite, {}).values, ElementsAre(4));
  EXPECT_THAT(table.Matrix(Measure::kActivation, {}).values,
              ElementsAre(IsNan()));
}

TEST(OverviewTableTest, LaterStepsAreAskedForAlone) {
  OverviewTable table;
  for (uint64_t step = 1; step <= 3; ++step) {
    table.Add(Step(step), Module(static_cast<float>(step)));
  }
  const model::OverviewMatrix matrix = table.Matrix(Measure::kActivation, 1);
  EXPECT_THAT(matrix.steps, ElementsAre(2, 3));
  EXPECT_THAT(matrix.values, ElementsAre(2, 3));
  EXPECT_TRUE(table.Summary(3).steps.empty());
}

TEST(OverviewTableTest, ModulesThatAppearLaterHaveNoEarlierValues) {
  OverviewTable table;
  table.Add(Step(1), Module(1));
  table.Add(Step(2),
            {{"forward/b/relu", Tensor(OverviewRole::kActivation, 7)}});
  const model::OverviewMatrix matrix = table.Matrix(Measure::kActivation, {});
  EXPECT_EQ(matrix.modules, 2U);
  EXPECT_THAT(matrix.values, ElementsAre(1, IsNan(), IsNan(), 7));
}

TEST(OverviewTableTest, ModulesHaveTheTimeOfTheirOps) {
  OverviewTable table;
  auto tensors = Module(1);
  tensors.push_back({"forward/b/relu", Tensor(OverviewRole::kActivation, 1)});
  // Ops of a part that has no tensors of its own count for the module.
  table.Add(Step(1), tensors,
            {{"forward/a/0/addmm", 2'000'000},
             {"backward/a/0/mm", 1'000'000},
             {"forward/b/inner/deep/relu", 250'000},
             {"forward/outside", 9'000'000},
             {"optimizer/b/add_", 9'000'000}});
  table.Add(Step(2), tensors);
  EXPECT_THAT(table.Matrix(Measure::kTime, {}).values,
              ElementsAre(3, 0.25, IsNan(), IsNan()));
}

TEST(OverviewTableTest, TheNewestStepsAreKept) {
  OverviewTable table;
  for (uint64_t step = 1; step <= OverviewTable::kMaxSteps + 5; ++step) {
    table.Add(Step(step), Module(1));
  }
  const auto steps = table.Summary({}).steps;
  EXPECT_EQ(steps.size(), OverviewTable::kMaxSteps);
  EXPECT_EQ(steps.front().step, 6U);
}

TEST(OverviewTableTest, AProcessThatStartsAgainBeginsAnew) {
  OverviewTable table;
  table.Add(Step(8), Module(1));
  table.Add(Step(1), Module(2));
  EXPECT_THAT(table.Matrix(Measure::kActivation, {}).steps, ElementsAre(1));
}

TEST(OverviewTableTest, AModuleHasItsDistributions) {
  OverviewTable table;
  auto tensors = Module(2);
  tensors[0].tensor.quantiles = {-2, -1, 0, 1, 2};
  table.Add(Step(4), tensors);
  const auto points = table.PointsOf("a/0", 0);
  ASSERT_TRUE(points.ok());
  ASSERT_EQ(points->size(), 1U);
  EXPECT_EQ((*points)[0].step, 4U);
  EXPECT_THAT((*points)[0].quantiles, ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_EQ(table.PointsOf("c", 0).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace graphdbg::jobs
