// Data that the agent sends: the graph, hits and values.
#include <cmath>
#include <cstring>
#include <string>

#include "agent/abi/abi_fixture.h"

namespace graphdbg::agent {
namespace {

using ::testing::ElementsAre;

class AbiValuesTest : public AbiFixture {
 protected:
  v1::SetWatchpoint WatchAll(const std::string& condition) {
    v1::SetWatchpoint watchpoint;
    watchpoint.set_id(1);
    watchpoint.set_revision(1);
    watchpoint.mutable_condition()->set_id(condition);
    watchpoint.set_enabled(true);
    return watchpoint;
  }
};

TEST_F(AbiValuesTest, LearnsTheGraphInTheFirstStep) {
  setenv("GRAPHDBG_WAIT", "0", 1);
  auto session = Attach([&] {
    program_.Start();
    return program_.Step();
  });
  EXPECT_FALSE(session->hello().waits_at_start());
  session->Welcome();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  program_.Close();
  session->WaitForGoodbye();
  const auto sum = session->FindNode("forward/sum");
  const auto log = session->FindNode("forward/log");
  ASSERT_TRUE(sum && log);
  EXPECT_EQ(sum->op_type(), "toy::sum");
  EXPECT_EQ(sum->category(), v1::NODE_CATEGORY_ACTIVATION);
  ASSERT_EQ(sum->inputs_size(), 1);
  EXPECT_EQ(sum->inputs(0).node_id(), log->id());
  ASSERT_EQ(log->outputs_size(), 1);
  EXPECT_THAT(log->outputs(0).type().shape(), ElementsAre(4));
  EXPECT_EQ(sum->order(), 2u);
  EXPECT_EQ(sum->first_step(), 1u);
  EXPECT_EQ(log->stack(0).line(), 10u);
}

TEST_F(AbiValuesTest, StopsAtTheNodeThatHitsAndShowsItsValues) {
  auto session = Attach([&] {
    graphdbg_status status = program_.Start();
    if (status == GRAPHDBG_OK) status = program_.Step();
    program_.y() = {0, kNan, -kInf, 3};
    if (status == GRAPHDBG_OK) status = program_.Step();
    return status;
  });
  session->Welcome();
  session->WaitForPause();
  const v1::WatchpointStatus status = session->Watch(WatchAll("nan"));
  EXPECT_FALSE(status.has_error());
  EXPECT_EQ(status.node_count(), 3u);
  session->Continue();

  const v1::Hit hit = session->WaitForHit();
  EXPECT_EQ(hit.watchpoint(), 1u);
  EXPECT_EQ(hit.step(), 2u);
  EXPECT_EQ(hit.order(), 1u);
  EXPECT_EQ(session->NameOf(hit.node_id()), "forward/log");
  EXPECT_EQ(hit.actual().at("nan_count"), 1);
  EXPECT_EQ(hit.statistics().neg_inf_count(), 1u);
  EXPECT_EQ(hit.statistics().max(), 3);
  EXPECT_EQ(hit.origin(), v1::HIT_ORIGIN_ORIGIN);
  EXPECT_EQ(hit.source().file(), "train.py");
  EXPECT_EQ(hit.source().line(), 42u);
  EXPECT_THAT(hit.type().shape(), ElementsAre(4));
  EXPECT_EQ(hit.type().framework_dtype(), "toy.float32");

  const v1::StateUpdate pause = session->WaitForPause();
  EXPECT_EQ(pause.reason(), v1::PAUSE_REASON_WATCHPOINT);
  EXPECT_EQ(pause.step(), 2u);
  EXPECT_EQ(pause.node_id(), hit.node_id());
  EXPECT_THAT(pause.watchpoints(), ElementsAre(1));

  v1::TensorRequest request;
  request.set_node("forward/log");
  request.set_slice_text("[1:]");
  request.set_want_data(true);
  request.set_want_statistics(true);
  const v1::TensorData data = session->Tensor(request);
  EXPECT_FALSE(data.has_error()) << data.ShortDebugString();
  EXPECT_EQ(data.header().step(), 2u);
  EXPECT_THAT(data.header().slice_shape(), ElementsAre(3));
  EXPECT_EQ(data.header().statistics().count(), 4u);
  ASSERT_EQ(data.data().size(), 12u);
  float values[3];
  std::memcpy(values, data.data().data(), 12);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], -kInf);
  EXPECT_EQ(values[2], 3);

  request.set_slice_text("[9]");
  EXPECT_EQ(session->Tensor(request).error().reason(), "bad_slice");
  request.set_slice_text("");
  request.set_max_elements(2);
  EXPECT_EQ(session->Tensor(request).error().reason(), "slice_too_large");
  request.set_node("forward/none");
  EXPECT_EQ(session->Tensor(request).error().reason(), "unknown_node");

  session->Continue();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  program_.Close();
  EXPECT_EQ(program_.host().retained(), 0);
}

}  // namespace
}  // namespace graphdbg::agent
