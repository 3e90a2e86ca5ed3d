#include "agent/core/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class MetricsTest : public ::testing::Test {
 protected:
  void Set(const std::string& name, std::vector<double> values) {
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT64;
    tensor.data = values.data();
    tensor.ndim = values.size() == 1 ? 0 : 1;
    tensor.shape = shape;
    metrics_.Set(name, tensor);
  }
  std::map<std::string, double> Values() const {
    v1::Goodbye goodbye;
    metrics_.AddTo(&goodbye);
    std::map<std::string, double> values;
    for (const v1::Metric& each : goodbye.metrics()) {
      values[each.name()] = each.value();
    }
    return values;
  }

  Metrics metrics_;
};

TEST_F(MetricsTest, TheLastValueOfEachCounts) {
  Set("accuracy", {0.5});
  Set("perplexity", {INFINITY});
  Set("accuracy", {0.75});
  EXPECT_THAT(Values(), UnorderedElementsAre(Pair("accuracy", 0.75),
                                             Pair("perplexity", INFINITY)));
  Set("accuracy", {NAN});
  EXPECT_TRUE(std::isnan(Values()["accuracy"]));
}

TEST_F(MetricsTest, OnlyScalarsAreKept) {
  Set("vector", {1, 2});
  Set("empty", {});
  EXPECT_THAT(Values(), IsEmpty());
}

TEST_F(MetricsTest, TheNumberIsLimited) {
  for (int i = 0; i <= wire::kMaxMetrics; ++i) Set(absl::StrCat(i), {1});
  EXPECT_EQ(Values().size(), size_t{wire::kMaxMetrics});
  Set("0", {2});
  EXPECT_EQ(Values()["0"], 2);
}

}  // namespace
}  // namespace graphdbg::agent
