#include "server/runs/rule_check.h"

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <cmath>
#include <filesystem>

#include "server/base/error.h"
#include "server/runs/recording.h"
#include "server/runs/testing/run_writer.h"

namespace graphdbg::recorded {
namespace {

using model::SeriesPart;
using testing::NodeName;
using testing::RankWriter;

class RuleCheckTest : public ::testing::Test {
 protected:
  RuleCheckTest()
      : path_(::testing::TempDir() + "/rules_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~RuleCheckTest() override { std::filesystem::remove_all(path_); }

  absl::StatusOr<model::CheckReport> Run(model::CheckSpec spec) {
    Recording recording("abc", *Folder::Open(path_), nullptr);
    recording.Refresh();
    auto check = recording.PrepareRules(spec);
    if (!check.ok()) return check.status();
    boost::asio::thread_pool threads(2);
    (*check)->Start(threads.get_executor());
    threads.join();
    return (*check)->Report();
  }
  absl::StatusOr<model::CheckReport> Run(model::RuleSpec rule) {
    model::CheckSpec spec;
    spec.rules = {std::move(rule)};
    return Run(std::move(spec));
  }
  static model::RuleSpec Rule(const std::string& when, uint32_t cool_down = 0) {
    model::RuleSpec rule;
    rule.name = "a rule";
    rule.when = when;
    rule.cool_down = cool_down;
    return rule;
  }
  // The steps of the findings.
  std::vector<uint64_t> Steps(model::RuleSpec rule) {
    const auto report = Run(std::move(rule));
    EXPECT_TRUE(report.ok()) << report.status();
    std::vector<uint64_t> steps;
    if (!report.ok()) return steps;
    for (const auto& each : report->findings) steps.push_back(each.step);
    return steps;
  }
  // Each op has the step's number as its value, plus `more` in op 2.
  void WriteRank(uint32_t rank, double more = 0, uint32_t steps = 10) {
    RankWriter writer(path_, rank);
    writer.WriteGraph(3);
    writer.WriteInfo();
    for (uint64_t step = 1; step <= steps; ++step) {
      writer.Begin(step);
      for (uint32_t node = 1; node <= 3; ++node) {
        const double value = static_cast<double>(step);
        writer.Statistics(step, node, node == 2 ? value + more : value);
      }
      writer.End(step);
    }
    writer.WriteSegment();
  }

  const std::string path_;
};

TEST_F(RuleCheckTest, AFindingNamesSeriesAndValues) {
  WriteRank(3, 100);
  const auto report = Run(Rule("max > 100 && prev(max, 2) > 107"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->state, model::CheckState::kDone);
  EXPECT_EQ(report->done, 10u);
  EXPECT_EQ(report->total, 10u);
  ASSERT_EQ(report->findings.size(), 1u);
  const model::Finding& finding = report->findings[0];
  EXPECT_EQ(finding.rule, "a rule");
  EXPECT_EQ(finding.rank, 3u);
  EXPECT_EQ(finding.tensor, NodeName(2) + ":0");
  EXPECT_EQ(finding.mode, model::RunMode::kTrain);
  EXPECT_EQ(finding.step, 10u);
  EXPECT_EQ(finding.values, (std::map<std::string, double>{{"max", 110}}));
  EXPECT_EQ(finding.message, "max > 100 && prev(max, 2) > 107: max = 110");
  ASSERT_EQ(report->rules.size(), 1u);
  EXPECT_EQ(report->rules[0].observations, 30u);
  EXPECT_EQ(report->rules[0].unknown, 2u);
  EXPECT_EQ(report->rules[0].findings, 1u);
}

TEST_F(RuleCheckTest, FiresOncePerEpisode) {
  RankWriter writer(path_, 0);
  writer.WriteGraph(1);
  const double values[] = {1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1};
  for (uint64_t step = 1; step <= 11; ++step) {
    writer.Begin(step);
    writer.Statistics(step, 1, values[step - 1]);
    writer.End(step);
  }
  writer.WriteSegment();
  EXPECT_EQ(Steps(Rule("max > 0", 0)), (std::vector<uint64_t>{1, 2, 4, 7, 11}));
  EXPECT_EQ(Steps(Rule("max > 0", 1)), (std::vector<uint64_t>{1, 4, 7, 11}));
  EXPECT_EQ(Steps(Rule("max > 0", 2)), (std::vector<uint64_t>{1, 7, 11}));
  EXPECT_EQ(Steps(Rule("max > 0", 3)), (std::vector<uint64_t>{1, 11}));
  EXPECT_EQ(Steps(Rule("max > 0", 4)), (std::vector<uint64_t>{1}));
}

TEST_F(RuleCheckTest, ForCountsObservationsInARow) {
  WriteRank(0);
  model::RuleSpec rule = Rule("max > 3");
  rule.selection.nodes = {NodeName(1)};
  rule.hold = 3;
  EXPECT_EQ(Steps(rule), (std::vector<uint64_t>{6, 7, 8, 9, 10}));
}

TEST_F(RuleCheckTest, SelectsTensors) {
  WriteRank(0);
  const auto count = [this](const auto& change) {
    model::RuleSpec rule = Rule("step == 1");
    change(rule.selection);
    return Steps(rule).size();
  };
  EXPECT_EQ(count([](auto&) {}), 3u);
  EXPECT_EQ(count([](auto& s) { s.include = {"op[12]$"}; }), 2u);
  EXPECT_EQ(count([](auto& s) { s.exclude = {"op1"}; }), 2u);
  EXPECT_EQ(count([](auto& s) {
              s.include = {"op1"};
              s.nodes = {NodeName(3)};
            }),
            2u);
  EXPECT_EQ(count([](auto& s) { s.scopes = {"forward"}; }), 3u);
  EXPECT_EQ(count([](auto& s) { s.patterns = {"forward/*1"}; }), 1u);
  EXPECT_EQ(count([](auto& s) { s.op_types = {"no such type"}; }), 0u);
}

TEST_F(RuleCheckTest, ReducesOverTheRanksOfATensor) {
  WriteRank(0);
  WriteRank(1, 0.5);
  model::RuleSpec rule = Rule("hi - lo > 0.01 * hi && members == 2", 100);
  rule.series = {SeriesPart::kTensor};
  rule.reduce = {
      {"hi", "max(max)"}, {"lo", "min(max)"}, {"members", "count(max)"}};
  const auto report = Run(rule);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->findings.size(), 1u);
  const model::Finding& finding = report->findings[0];
  EXPECT_EQ(finding.step, 1u);
  EXPECT_EQ(finding.tensor, NodeName(2) + ":0");
  EXPECT_FALSE(finding.rank.has_value());
  EXPECT_FALSE(finding.mode.has_value());
  EXPECT_EQ(finding.values.at("hi"), 1.5);
  EXPECT_EQ(report->rules[0].observations, 30u);
  EXPECT_EQ(report->total, 20u);
}

TEST_F(RuleCheckTest, ObservesSteps) {
  RankWriter writer(path_, 0);
  writer.WriteGraph(1);
  for (uint64_t step = 1; step <= 6; ++step) {
    writer.Begin(step);
    const uint64_t began = writer.last().mark.monotonic_ns;
    writer.Statistics(step, 1, 1);
    writer.End(step);
    writer.last().mark.monotonic_ns =
        began + (step == 5 ? 9'000'000'000 : 1'000'000'000);
  }
  writer.WriteSegment();
  model::RuleSpec rule =
      Rule("step_seconds > 3 * mean_before(step_seconds, 2)");
  rule.series = {SeriesPart::kRank};
  const auto report = Run(rule);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].step, 5u);
  EXPECT_EQ(report->findings[0].tensor, "");
  EXPECT_EQ(report->findings[0].values.at("step_seconds"), 9);
  EXPECT_EQ(report->rules[0].observations, 6u);
}

TEST_F(RuleCheckTest, ReadsChangesAndIdleUnits) {
  RankWriter writer(path_, 0);
  writer.WriteGraph(1);
  for (uint64_t step = 1; step <= 3; ++step) {
    writer.Begin(step);
    writer.Statistics(step, 1, 1);
    runs::Record change = writer.last();
    change.kind = static_cast<uint16_t>(runs::Kind::kChange);
    change.change = {};
    change.change.count = 4;
    change.change.finite_count = 4;
    change.change.changed_count = step == 2 ? 3 : 0;
    if (step > 1) writer.Append(change);
    runs::Record units = change;
    units.kind = static_cast<uint16_t>(runs::Kind::kUnits);
    units.units = {};
    units.units.units = 8;
    units.units.idle_units = static_cast<uint32_t>(2 * step);
    writer.Append(units);
    // As another collection counts them.
    units.units.idle_units = 0;
    writer.Append(units);
    writer.End(step);
  }
  writer.WriteSegment();
  EXPECT_EQ(Steps(Rule("changed_count == 0")), (std::vector<uint64_t>{3}));
  EXPECT_EQ(Steps(Rule("idle_unit_percentage >= 50")),
            (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(Steps(Rule("mode_step == 2")), (std::vector<uint64_t>{2}));
}

TEST_F(RuleCheckTest, ReportsThatWhatItNeedsWasNotRecorded) {
  WriteRank(0);
  for (const char* when : {"changed_count == 0", "held(changed_count == 0, 2)",
                           "change_ratio > 1 && change_l2 > 0"}) {
    const auto report = Run(Rule(when));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->rules[0].observations, 30u) << when;
    EXPECT_EQ(report->rules[0].unknown, 30u) << when;
  }
}

// Windows take memory for each series.
TEST_F(RuleCheckTest, MemoryIsBounded) {
  RankWriter writer(path_, 0);
  constexpr uint32_t kNodes = 1'000;
  writer.WriteGraph(kNodes);
  writer.Step(1, kNodes, 1);
  writer.WriteSegment();
  model::RuleSpec rule = Rule("prev(l2, 1000) > 0");
  while (rule.when.size() < 900) rule.when += " || prev(l2, 1000) > 0";
  ASSERT_TRUE(Run(rule).ok());
  EXPECT_EQ(Run(rule)->state, model::CheckState::kFailed);
  EXPECT_EQ(Run(rule)->error,
            "the rules look at too many series: rule 'a rule' and those "
            "before it need more than 256 MiB for windows");
  rule.selection.nodes = {NodeName(1)};
  EXPECT_EQ(Run(rule)->state, model::CheckState::kDone);
}

TEST_F(RuleCheckTest, OnlyTheGivenStepsAreObserved) {
  WriteRank(0);
  WriteRank(1);
  model::CheckSpec spec;
  spec.rules = {Rule("prev(max, 1) > 0")};
  spec.from = 4;
  spec.to = 6;
  spec.ranks = {1};
  const auto report = Run(spec);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->findings.size(), 6u);
  EXPECT_EQ(report->rules[0].observations, 9u);
  spec.ranks = {7};
  EXPECT_EQ(ReasonOf(Run(spec).status()), "unknown_rank");
}

TEST_F(RuleCheckTest, ErrorsNameTheField) {
  WriteRank(0);
  const auto field = [this](const auto& change) {
    model::CheckSpec spec;
    spec.rules = {Rule("max > 0"), Rule("max > 0")};
    change(spec.rules[1]);
    const absl::Status status = Run(spec).status();
    return FieldOf(status) + ": " + std::string(status.message());
  };
  EXPECT_EQ(field([](auto& rule) {
              rule.when = "maxx > 0";
            }).find("rules[1].when: column 1: unknown statistic"),
            0u);
  EXPECT_EQ(field([](auto& rule) {
              rule.reduce = {{"hi", "most(l2)"}};
            }).find("rules[1].when: column 1: unknown statistic \"max\""),
            0u);
  EXPECT_EQ(field([](auto& rule) {
              rule.reduce = {{"max", "most(l2)"}};
            }).find("rules[1].reduce.max: expected min, max, sum, mean"),
            0u);
  EXPECT_EQ(field([](auto& rule) { rule.series = {SeriesPart::kRank}; }),
            "rules[1].series: a series of several tensors or ranks needs "
            "`reduce`");
  EXPECT_EQ(field([](auto& rule) {
              rule.when = "step_seconds > max";
            }).find("rules[1].when: step_seconds describes steps"),
            0u);
  EXPECT_EQ(field([](auto& rule) {
              rule.selection.include = {"("};
            }).find("rules[1].select.include[0]: '(' is no regular"),
            0u);
  EXPECT_EQ(field([](auto& rule) { rule.selection.collections = {"losses"}; }),
            "rules[1].select.collections[0]: the run has no collection "
            "'losses'; there are none");
}

}  // namespace
}  // namespace graphdbg::recorded
