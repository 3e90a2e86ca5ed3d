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
  void Tell(const std::string& name, std::vector<double> values) {
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT64;
    tensor.data = values.data();
    tensor.ndim = values.size() == 1 ? 0 : 1;
    tensor.shape = shape;
    metrics_.Tell(name, tensor);
  }
  std::map<std::string, double> Told() const {
    v1::Goodbye goodbye;
    metrics_.AddTo(&goodbye);
    std::map<std::string, double> told;
    for (const v1::Metric& each : goodbye.metrics()) {
      told[each.name()] = each.value();
    }
    return told;
  }

  Metrics metrics_;
};

TEST_F(MetricsTest, TheLastValueOfEachCounts) {
  Tell("accuracy", {0.5});
  Tell("perplexity", {INFINITY});
  Tell("accuracy", {0.75});
  EXPECT_THAT(Told(), UnorderedElementsAre(Pair("accuracy", 0.75),
                                           Pair("perplexity", INFINITY)));
  Tell("accuracy", {NAN});
  EXPECT_TRUE(std::isnan(Told()["accuracy"]));
}

TEST_F(MetricsTest, OnlyScalarsAreTold) {
  Tell("vector", {1, 2});
  Tell("empty", {});
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(MetricsTest, TheNumberIsLimited) {
  for (int i = 0; i <= wire::kMaxMetrics; ++i) Tell(absl::StrCat(i), {1});
  EXPECT_EQ(Told().size(), size_t{wire::kMaxMetrics});
  Tell("0", {2});
  EXPECT_EQ(Told()["0"], 2);
}

}  // namespace
}  // namespace graphdbg::agent
