#include "agent/core/host_level.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace graphdbg::agent {
namespace {

class HostLevelTest : public testing::Test {
 protected:
  HostLevelTest() {
    graphdbg_host callbacks = {};
    callbacks.struct_size = sizeof(callbacks);
    callbacks.user = this;
    callbacks.set_level = [](void* user, int level) {
      auto* test = static_cast<HostLevelTest*>(user);
      test->delivered_.push_back(level);
      if (test->during_delivery_) test->during_delivery_();
    };
    host_ = Host(&callbacks);
  }

  Host host_;
  std::vector<int> delivered_;
  void (*during_delivery_)() = nullptr;
};

TEST_F(HostLevelTest, DeliversChangesOnly) {
  HostLevel level(&host_);
  level.Set(GRAPHDBG_LEVEL_OPS);
  level.Set(GRAPHDBG_LEVEL_OPS);
  level.Set(GRAPHDBG_LEVEL_STEPS);
  EXPECT_EQ(delivered_,
            (std::vector<int>{GRAPHDBG_LEVEL_OPS, GRAPHDBG_LEVEL_STEPS}));
}

TEST_F(HostLevelTest, StaysOffOnceTurnedOff) {
  HostLevel level(&host_);
  level.Set(GRAPHDBG_LEVEL_OPS);
  level.TurnOff();
  level.Deliver();
  level.Set(GRAPHDBG_LEVEL_OPS);
  EXPECT_EQ(delivered_,
            (std::vector<int>{GRAPHDBG_LEVEL_OPS, GRAPHDBG_LEVEL_OFF}));
}

// The host's callback may wait for a lock that another thread holds while it
// changes the level, so that thread must not wait for the callback.
TEST_F(HostLevelTest, LevelSetDuringADeliveryIsDeliveredAfterIt) {
  static HostLevel* level;
  HostLevel under_test(&host_);
  level = &under_test;
  during_delivery_ = [] {
    std::thread([] { level->Set(GRAPHDBG_LEVEL_STEPS); }).join();
  };
  under_test.Set(GRAPHDBG_LEVEL_OPS);
  EXPECT_EQ(delivered_,
            (std::vector<int>{GRAPHDBG_LEVEL_OPS, GRAPHDBG_LEVEL_STEPS}));
}

}  // namespace
}  // namespace graphdbg::agent
