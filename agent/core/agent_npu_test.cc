// The overflow flag of an emulated Ascend NPU.
#include <cmath>
#include <future>
#include <string>
#include <vector>

#include "agent/testing/agent_fixture.h"
#include "agent/testing/stub_control.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using testing_support::StubLibrary;

const float kNan = std::nanf("");

StubLibrary& Stub() {
  static auto* stub = new StubLibrary("agent/testing/stubs/libascendcl.so");
  return *stub;
}

class AgentNpuTest : public AgentFixture {
 protected:
  void SetUp() override {
    Stub().Reset();
    Stub().SetOverflow(false);
    Run(1);
    first_ = Declare("first");
    second_ = Declare("second");
  }

  graphdbg_status ExecuteOnNpu(uint32_t node,
                               const std::vector<float>& values = {1}) {
    return ExecuteOn(GRAPHDBG_NPU, 0, node, values);
  }

  // Waits for the reason why a watchpoint is not checked.
  v1::WatchpointStatus WaitForUnchecked() {
    return server_
        ->WaitFor([](const v1::AgentMessage& message) {
          return message.watchpoint_status().has_error();
        })
        .watchpoint_status();
  }

  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

TEST_F(AgentNpuTest, ValuesAreWatchedAsOnAnyDevice) {
  server_->Watch(1, "nan", "", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnNpu(first_), GRAPHDBG_OK);
  auto stopped = std::async(std::launch::async, [this] {
    EXPECT_EQ(ExecuteOnNpu(second_, {1, kNan}), GRAPHDBG_OK);
  });
  EXPECT_EQ(server_->WaitForHit().node_id(), second_);
  EXPECT_EQ(server_->WaitForPause().device(), "npu");
  Resume(&stopped);
}

TEST_F(AgentNpuTest, TheOpThatRaisedTheOverflowFlagIsAHit) {
  server_->Watch(1, "operator_overflow", "", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnNpu(first_), GRAPHDBG_OK);
  Stub().SetOverflow(true);
  auto stopped = std::async(std::launch::async, [this] {
    EXPECT_EQ(ExecuteOnNpu(second_), GRAPHDBG_OK);
    // Reading the flag has cleared it.
    EXPECT_EQ(ExecuteOnNpu(first_), GRAPHDBG_OK);
  });
  const v1::Hit hit = server_->WaitForHit();
  EXPECT_EQ(hit.node_id(), second_);
  EXPECT_EQ(hit.origin(), v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(hit.actual().at("overflow_flag"), 1);
  server_->WaitForPause();
  Resume(&stopped);
}

TEST_F(AgentNpuTest, ALibraryWithoutTheFlagIsSaid) {
  Stub().Fail("aclrtGetOverflowStatus", 207000);
  server_->Watch(1, "operator_overflow", "", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnNpu(first_), GRAPHDBG_OK);
  const v1::WatchpointStatus status = WaitForUnchecked();
  EXPECT_EQ(status.id(), 1u);
  EXPECT_EQ(status.error().message(), "this NPU does not report overflows");
}

TEST_F(AgentNpuTest, AProgramWithoutAnNpuIsToldThatTheFlagIsNotChecked) {
  server_->Watch(1, "operator_overflow", "", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_TRUE(Execute(first_, {1}));
  EXPECT_EQ(WaitForUnchecked().error().reason(), "unsupported_condition");
}

TEST_F(AgentNpuTest, TensorsOfTheHostBesideThoseOfAnNpuAreNoReason) {
  server_->Watch(1, "operator_overflow", "", v1::PAUSE_MODE_NODE);
  EXPECT_EQ(agent_->Start(), GRAPHDBG_OK);
  EXPECT_EQ(ExecuteOnNpu(first_), GRAPHDBG_OK);
  EXPECT_TRUE(Execute(second_, {1}));
  Stub().SetOverflow(true);
  auto stopped = std::async(std::launch::async, [this] {
    EXPECT_EQ(ExecuteOnNpu(first_), GRAPHDBG_OK);
  });
  // Nothing was reported before.
  const v1::AgentMessage sent =
      server_->WaitFor([](const v1::AgentMessage& message) {
        return message.has_hit() || message.watchpoint_status().has_error();
      });
  EXPECT_TRUE(sent.has_hit());
  server_->WaitForPause();
  Resume(&stopped);
}

}  // namespace
}  // namespace graphdbg::agent
