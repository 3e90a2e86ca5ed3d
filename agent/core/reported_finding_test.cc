#include "agent/core/reported_finding.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

class ReportedFindingTest : public testing::Test {
 protected:
  ReportedFindingTest() {
    const graphdbg_source_frame frame = {"train.py", 7, "forward", 1};
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = "forward/loss";
    info.kind = GRAPHDBG_OP;
    info.stack = &frame;
    info.stack_depth = 1;
    node_ = *nodes_.Declare(info);
    finding_.struct_size = sizeof(finding_);
    finding_.condition = "loss_detached";
    finding_.node = node_;
    finding_.message = "it was detached";
  }

  void Watch(uint32_t id, v1::PauseMode pause,
             const std::string& pattern = "**") {
    v1::SetWatchpoint message;
    message.set_id(id);
    message.set_revision(4);
    message.mutable_condition()->set_id("loss_detached");
    message.mutable_selection()->add_patterns(pattern);
    message.set_pause(pause);
    message.set_enabled(true);
    ASSERT_TRUE(watch_.Set(message).ok());
  }

  absl::Status Report() {
    return AddReported(finding_, *watch_.snapshot(), nodes_, {3, 9, false},
                       &findings_);
  }

  NodeTable nodes_;
  WatchTable watch_{&nodes_, /*program_reports=*/true};
  uint32_t node_ = 0;
  graphdbg_finding finding_ = {};
  Findings findings_;
};

TEST_F(ReportedFindingTest, IsAHitOfEachWatchpointThatCoversTheNode) {
  Watch(1, v1::PAUSE_MODE_NODE);
  Watch(2, v1::PAUSE_MODE_NONE);
  Watch(3, v1::PAUSE_MODE_STEP, "backward/**");
  ASSERT_TRUE(Report().ok());
  ASSERT_EQ(findings_.hits.size(), 2u);
  const v1::Hit& hit = findings_.hits[0];
  EXPECT_EQ(hit.watchpoint(), 1u);
  EXPECT_EQ(hit.revision(), 4u);
  EXPECT_EQ(hit.step(), 3u);
  EXPECT_EQ(hit.order(), 9u);
  EXPECT_EQ(hit.node_id(), node_);
  EXPECT_EQ(hit.message(), "it was detached");
  EXPECT_EQ(hit.source().file(), "train.py");
  EXPECT_EQ(hit.source().line(), 7u);
  EXPECT_FALSE(hit.has_statistics());
  EXPECT_GT(hit.time_unix_nano(), 0);
  // Nothing is being executed, so that the program stops when the step ends.
  EXPECT_THAT(findings_.stop_here, testing::IsEmpty());
  EXPECT_THAT(findings_.stop_at_step_end, testing::ElementsAre(1));
}

TEST_F(ReportedFindingTest, NamesTheLineThatTheProgramGives) {
  Watch(1, v1::PAUSE_MODE_NONE);
  const graphdbg_source_frame frame = {"loop.py", 3, nullptr, 1};
  finding_.source = &frame;
  ASSERT_TRUE(Report().ok());
  EXPECT_EQ(findings_.hits[0].source().file(), "loop.py");
  EXPECT_EQ(findings_.hits[0].source().line(), 3u);
}

TEST_F(ReportedFindingTest, RefusesUnknownNodesAndConditionsOnValues) {
  finding_.node = 99;
  EXPECT_EQ(Report().code(), absl::StatusCode::kInvalidArgument);
  finding_.node = node_;
  finding_.condition = "nan";
  EXPECT_EQ(Report().code(), absl::StatusCode::kInvalidArgument);
  finding_.condition = "nonsense";
  EXPECT_EQ(Report().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(findings_.empty());
}

}  // namespace
}  // namespace graphdbg::agent
