#include "agent/core/hit_limits.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/core/checker.h"

namespace graphdbg::agent {
namespace {

using Ids = std::vector<uint32_t>;

class HitLimitsTest : public ::testing::Test {
 protected:
  void Set(uint32_t id, uint32_t revision, uint32_t ignore_count, bool once) {
    v1::SetWatchpoint watchpoint;
    watchpoint.set_id(id);
    watchpoint.set_revision(revision);
    watchpoint.set_ignore_count(ignore_count);
    watchpoint.set_once(once);
    limits_.Set(watchpoint);
  }

  // Hits of these watchpoints, each of which stops the program. Returns those
  // that count and the stops.
  Findings Hit(const Ids& ids, uint32_t revision = 1) {
    Findings findings;
    for (const uint32_t id : ids) {
      v1::Hit& hit = findings.hits.emplace_back();
      hit.set_watchpoint(id);
      hit.set_revision(revision);
      findings.AddStop(id, v1::PAUSE_MODE_STEP);
    }
    limits_.Apply(&findings);
    return findings;
  }

  HitLimits limits_;
};

TEST_F(HitLimitsTest, TheFirstHitsArePassedOver) {
  Set(1, 1, 2, false);
  EXPECT_TRUE(Hit({1}).hits.empty());
  // Two in one op: the second counts, and stops.
  const Findings second = Hit({1, 1});
  EXPECT_EQ(second.hits.size(), 1u);
  EXPECT_EQ(second.stop_at_step_end, Ids{1});
  EXPECT_EQ(Hit({1}).hits.size(), 1u);
}

TEST_F(HitLimitsTest, NothingStopsForHitsThatDoNotCount) {
  Set(1, 1, 1, false);
  const Findings findings = Hit({1, 2});
  EXPECT_EQ(findings.hits.size(), 1u);
  EXPECT_EQ(findings.stop_at_step_end, Ids{2});
}

TEST_F(HitLimitsTest, OnceIsOneHit) {
  Set(1, 1, 1, true);
  EXPECT_TRUE(Hit({1}).hits.empty());
  EXPECT_EQ(Hit({1, 1}).hits.size(), 1u);
  EXPECT_TRUE(Hit({1}).hits.empty());
}

TEST_F(HitLimitsTest, AnotherRevisionCountsAnew) {
  Set(1, 1, 1, false);
  EXPECT_TRUE(Hit({1}).hits.empty());
  // Setting the same revision again does not restart the count.
  Set(1, 1, 1, false);
  EXPECT_EQ(Hit({1}).hits.size(), 1u);
  Set(1, 2, 1, false);
  EXPECT_TRUE(Hit({1}, 2).hits.empty());
  Set(1, 3, 0, false);
  EXPECT_EQ(Hit({1}, 3).hits.size(), 1u);
  Set(1, 4, 1, false);
  limits_.Remove(1);
  EXPECT_EQ(Hit({1}, 4).hits.size(), 1u);
}

}  // namespace
}  // namespace graphdbg::agent
