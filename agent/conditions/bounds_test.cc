// A condition that a sketch rules out does not match, for tensors and
// conditions of all kinds.
#include "agent/conditions/bounds.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/kernels/cpu/sketch.h"
#include "gtest/gtest.h"

namespace graphdbg::conditions {
namespace {

class BoundsTest : public testing::Test {
 protected:
  double Uniform(double lo, double hi) {
    return std::uniform_real_distribution<double>(lo, hi)(random_);
  }
  size_t Below(size_t n) { return random_() % n; }

  // Values of some size and sign, with zeros and outliers among them.
  std::vector<float> RandomTensor() {
    const double scale = std::pow(10, Uniform(-30, 15));
    const double mean = Below(2) == 0 ? 0 : Uniform(-10, 10);
    const size_t shape = Below(6);
    std::normal_distribution<double> normal(mean, 1);
    std::vector<float> values(1 + Below(300));
    for (float& x : values) {
      double v = normal(random_);
      if (shape == 1) v = std::fabs(v);
      if (shape == 2) v = std::max(v, 0.0);
      if (shape == 3) v = -std::fabs(v);
      if (shape == 4 && Below(4) != 0) v = -0.0;
      if (shape == 5 && Below(50) == 0) v *= 1000;
      x = static_cast<float>(v * scale);
    }
    return values;
  }

  TensorView ViewOf(const std::vector<float>& values) {
    size_ = static_cast<int64_t>(values.size());
    return {DType::kFloat32, values.data(), 1, &size_, nullptr};
  }

  // A number that occurs in the tensor's statistics, or is close to one.
  std::string RandomNumber(TensorMeasurements* measurements) {
    const Measure& measure = Measures()[Below(Measures().size())];
    const double value = measure.value(measurements);
    if (std::isnan(value)) return "1";
    const double factor = Below(3) == 0 ? 1 : Uniform(0.9, 1.1);
    return absl::StrCat("(0 + ", RoundTrip(std::fabs(value * factor)), ")");
  }

  static std::string RoundTrip(double x) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.17g", x);
    return text;
  }

  std::string RandomSum(TensorMeasurements* measurements, int depth) {
    const size_t kind = Below(depth > 0 ? 8 : 2);
    if (kind == 0) return RandomNumber(measurements);
    if (kind <= 3) return Measures()[Below(Measures().size())].name;
    const std::string a = RandomSum(measurements, depth - 1);
    if (kind == 4) {
      const char* functions[] = {"abs", "sqrt", "log10", "-"};
      return absl::StrCat(functions[Below(4)], "(", a, ")");
    }
    const std::string b = RandomSum(measurements, depth - 1);
    if (kind == 5) {
      return absl::StrCat(Below(2) == 0 ? "min" : "max", "(", a, ",", b, ")");
    }
    const char* operators[] = {"+", "-", "*", "/"};
    return absl::StrCat("(", a, operators[Below(4)], b, ")");
  }

  std::string RandomCondition(TensorMeasurements* measurements, int depth) {
    if (depth > 0 && Below(2) == 0) {
      const std::string a = RandomCondition(measurements, depth - 1);
      if (Below(4) == 0) return absl::StrCat("!(", a, ")");
      return absl::StrCat("(", a, Below(2) == 0 ? " && " : " || ",
                          RandomCondition(measurements, depth - 1), ")");
    }
    const char* relations[] = {"<", "<=", ">", ">=", "==", "!="};
    return absl::StrCat(RandomSum(measurements, 2), relations[Below(6)],
                        RandomSum(measurements, 1));
  }

  std::mt19937_64 random_{20261121};
  int64_t size_ = 0;
};

TEST_F(BoundsTest, EveryMeasureLiesWithinItsBounds) {
  for (int i = 0; i < 2000; ++i) {
    const std::vector<float> values = RandomTensor();
    const TensorView view = ViewOf(values);
    TensorMeasurements sketched(&view, nullptr, 7), exact(&view, nullptr, 7);
    ASSERT_TRUE(sketched.Measure({true, false}));
    if (sketched.sketch() == nullptr) continue;
    ASSERT_TRUE(exact.Measure({true, false}));
    for (const Measure& measure : Measures()) {
      const double value = measure.value(&exact);
      if (std::isnan(value)) continue;
      const Interval bounds = BoundsOf(measure, sketched);
      EXPECT_LE(bounds.lo, value) << measure.name;
      EXPECT_GE(bounds.hi, value) << measure.name;
    }
  }
}

// The sketch is useful only if it rules out most conditions.
TEST_F(BoundsTest, BoundsAreNarrowWhereTheyMatter) {
  std::vector<float> values;
  std::normal_distribution<float> normal(0, 1);
  for (int i = 0; i < 1000; ++i) values.push_back(normal(random_));
  const TensorView view = ViewOf(values);
  const auto rules_out = [&](const char* expression) {
    TensorMeasurements measurements(&view, nullptr, 7);
    EXPECT_TRUE(measurements.Measure({true, false}));
    EXPECT_NE(measurements.sketch(), nullptr);
    return !Expression::Parse(expression)->MayHold(measurements);
  };
  for (const char* expression :
       {"abs_max > 100", "mean > 1", "abs_mean < 1e-9", "abs_mean > 2",
        "sd > 1.5", "variance < 0.5", "zero_percentage == 100", "l2 > 100",
        "inactive_percentage >= 100", "nan_count > 0", "step > 100",
        "max_min < 1 || zero_count > 990", "l1 > 2000", "count == 3",
        "abs_max > 1e3 && step > 5", "log10(abs_max) > 2",
        "sqrt(abs(mean)) > 1", "min(max, 5) > 4.5 && -min < 1"}) {
    EXPECT_TRUE(rules_out(expression)) << expression;
  }
  EXPECT_FALSE(rules_out("negative_count > 500"));
  EXPECT_FALSE(rules_out("change_ratio > 1"));
}

TEST_F(BoundsTest, NoExpressionThatIsMetIsRuledOut) {
  int met = 0, ruled_out = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::vector<float> values = RandomTensor();
    const TensorView view = ViewOf(values);
    TensorMeasurements sketched(&view, nullptr, 7), exact(&view, nullptr, 7);
    ASSERT_TRUE(sketched.Measure({true, false}));
    ASSERT_TRUE(exact.Measure({true, false}));
    exact.statistics();
    if (sketched.sketch() == nullptr) continue;
    const std::string text = RandomCondition(&exact, 2);
    const auto expression = Expression::Parse(text);
    ASSERT_TRUE(expression.ok()) << text << ": " << expression.status();
    const bool may = expression->MayHold(sketched);
    const bool holds = expression->Evaluate(&exact) == 1;
    EXPECT_TRUE(may || !holds) << text;
    met += holds ? 1 : 0;
    ruled_out += may ? 0 : 1;
  }
  // Both cases occur often enough to be significant.
  EXPECT_GT(met, 2000);
  EXPECT_GT(ruled_out, 2000);
}

TEST_F(BoundsTest, NoConditionThatIsMetIsRuledOut) {
  int met = 0;
  for (int i = 0; i < 300; ++i) {
    const std::vector<float> values = RandomTensor();
    const TensorView view = ViewOf(values);
    TensorMeasurements exact(&view, nullptr, 0);
    ASSERT_TRUE(exact.Measure({true, false}));
    const Statistics statistics = exact.statistics();
    TensorMeasurements known(statistics, nullptr, 0);
    for (const Condition& condition : Catalogue()) {
      for (const Parameter& parameter : condition.params) {
        const bool value = parameter.name == "value";
        if (!parameter.tested && !value) continue;
        if (parameter.name.find("range_") == 0) continue;
        const std::string name = value ? condition.id : parameter.name;
        const Measure* measure = FindMeasure(name.substr(0, name.size() - 3));
        if (measure == nullptr || measure->compares_steps) continue;
        const double bound = measure->value(&known) * Uniform(0.999, 1.001);
        const auto predicate =
            Compile(condition.id, {{{parameter.name, bound}}, {}});
        if (!predicate.ok()) continue;
        TensorMeasurements sketched(&view, nullptr, 0);
        ASSERT_TRUE(sketched.Measure(predicate->needs()));
        const Outcome outcome = predicate->Test(&known);
        EXPECT_EQ(predicate->Test(&sketched), outcome)
            << condition.id << " " << parameter.name << " " << bound;
        met += outcome == Outcome::kMatched ? 1 : 0;
      }
    }
  }
  EXPECT_GT(met, 1000);
}

}  // namespace
}  // namespace graphdbg::conditions
