// Tensor values from an agent to whoever asked.
#include <chrono>
#include <string>

#include "server/base/error.h"
#include "tests/integration/server_fixture.h"

namespace graphdbg::integration {
namespace {

class TensorTest : public ServerFixture {
 protected:
  static model::TensorQuery Query(const std::string& slice = "") {
    model::TensorQuery query;
    query.node = "forward/log";
    query.slice = slice;
    return query;
  }

  // The header of a float32 answer of shape [rows, 3].
  static v1::AgentMessage Header(uint64_t request_id, int64_t rows) {
    v1::AgentMessage message;
    v1::TensorData& tensor = *message.mutable_tensor();
    tensor.set_request_id(request_id);
    v1::TensorData::Header& header = *tensor.mutable_header();
    header.mutable_type()->set_dtype(v1::DTYPE_FLOAT32);
    header.mutable_type()->add_shape(rows);
    header.mutable_type()->add_shape(3);
    header.add_slice_shape(rows);
    header.add_slice_shape(3);
    header.set_total_bytes(rows * 3 * 4);
    header.set_step(7);
    return message;
  }

  static v1::AgentMessage Piece(uint64_t request_id, std::string data,
                                bool last) {
    v1::AgentMessage message;
    message.mutable_tensor()->set_request_id(request_id);
    message.mutable_tensor()->set_data(std::move(data));
    message.mutable_tensor()->set_last(last);
    return message;
  }
};

TEST_F(TensorTest, PutsChunksOfASliceTogether) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto query = Query("[0:2, :]");
  query.want_statistics = true;
  auto tensor = Begin(job->Tensor(query));
  const v1::TensorRequest request = agent.Receive().tensor_request();
  EXPECT_EQ(request.node(), "forward/log");
  EXPECT_EQ(request.slice_text(), "[0:2, :]");
  EXPECT_TRUE(request.want_data());
  EXPECT_GT(request.max_bytes(), 0u);

  v1::AgentMessage header = Header(request.request_id(), 2);
  header.mutable_tensor()->mutable_header()->mutable_statistics()->set_count(6);
  const std::string bytes = "abcdefghijklmnopqrstuvwx";
  header.mutable_tensor()->set_data(bytes.substr(0, 5));
  agent.Send(header);
  agent.Send(Piece(request.request_id(), bytes.substr(5, 10), false));
  agent.Send(Piece(request.request_id(), bytes.substr(15), true));
  auto value = tensor.get();
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->data, bytes);
  EXPECT_EQ(value->type.dtype, DType::kFloat32);
  EXPECT_EQ(value->slice_shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(value->step, 7u);
  // Statistics that were fetched are known from then on.
  auto summaries = Await(job->Tensors("forward/log", 0));
  ASSERT_TRUE(summaries.ok());
  EXPECT_EQ(summaries->back().statistics->count, 6u);
}

TEST_F(TensorTest, RemembersWhatHitsAndAnswersTellStepByStep) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  model::WatchpointSpec spec;
  spec.condition.id = "nan";
  ASSERT_TRUE(Await(job->AddWatchpoint(spec)).ok());
  const auto pushed = agent.Receive().set_watchpoint();
  v1::AgentMessage message;
  v1::Hit& hit = *message.mutable_hit();
  hit.set_watchpoint(pushed.id());
  hit.set_revision(pushed.revision());
  hit.set_step(9);
  hit.set_node_id(3);
  hit.mutable_statistics()->set_count(6);
  hit.mutable_statistics()->set_nan_count(1);
  agent.Send(message);
  // One that could not be checked tells nothing of the tensor.
  hit.set_step(10);
  hit.set_error("no previous value");
  agent.Send(message);

  auto query = Query();
  query.want_data = false;
  query.want_statistics = true;
  auto asked = Begin(job->Tensor(query));
  message = Header(agent.Receive().tensor_request().request_id(), 2);
  message.mutable_tensor()->mutable_header()->set_total_bytes(0);
  message.mutable_tensor()->mutable_header()->mutable_statistics()->set_count(
      6);
  message.mutable_tensor()->set_last(true);
  agent.Send(message);
  ASSERT_TRUE(asked.get().ok());

  auto history = Await(job->History("forward/log", 0, 0));
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->tensor.type.shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(history->points.size(), 2u);
  EXPECT_EQ(history->points[0].step, 7u);
  EXPECT_EQ(history->points[1].step, 9u);
  EXPECT_EQ(history->points[1].statistics.nan_count, 1u);
  EXPECT_EQ(ReasonOf(Await(job->History("forward/log", 0, 4)).status()),
            "unknown_rank");
  EXPECT_EQ(ReasonOf(Await(job->History("forward/log", 9, 0)).status()),
            "unknown_slot");

  // The same, around the tensor.
  model::NeighbourQuery around;
  around.node = "forward/conv1/conv2d";
  auto neighbours = Await(job->Around(around));
  ASSERT_TRUE(neighbours.ok()) << neighbours.status();
  std::vector<std::string> names;
  for (const auto& at : neighbours->nodes) names.push_back(at.node.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"forward/conv1/weight",
                                      "forward/conv1/conv2d", "forward/log"}));
  EXPECT_EQ(neighbours->edges.size(), 2u);
  ASSERT_EQ(neighbours->tensors.size(), 3u);
  const model::NeighbourTensor& log = neighbours->tensors[2];
  EXPECT_EQ(log.tensor.node, "forward/log");
  EXPECT_EQ(log.statistics_step, 9u);
  EXPECT_EQ(log.hit_count, 2u);
  EXPECT_EQ(log.hits.front().step, 10u);
  EXPECT_FALSE(neighbours->tensors[0].statistics.has_value());
  around.slot = 8;
  EXPECT_EQ(ReasonOf(Await(job->Around(around)).status()), "unknown_slot");
}

TEST_F(TensorTest, CarriesAnAgentsOwnError) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto tensor = Begin(job->Tensor(Query("[9]")));
  v1::AgentMessage message;
  message.mutable_tensor()->set_request_id(
      agent.Receive().tensor_request().request_id());
  v1::Error& error = *message.mutable_tensor()->mutable_error();
  error.set_code(grpc::StatusCode::INVALID_ARGUMENT);
  error.set_reason("bad_slice");
  error.set_message("index 9 is out of bounds");
  agent.Send(message);
  auto value = tensor.get();
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(value.status()), "bad_slice");
}

TEST_F(TensorTest, RefusesAnAnswerThatDoesNotFitItsShape) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto tensor = Begin(job->Tensor(Query()));
  const uint64_t id = agent.Receive().tensor_request().request_id();
  v1::AgentMessage header = Header(id, 2);
  header.mutable_tensor()->mutable_header()->set_total_bytes(8);
  agent.Send(header);
  EXPECT_EQ(ReasonOf(tensor.get().status()), "bad_answer");
  // The rest of it is not wanted any more.
  EXPECT_EQ(agent.Receive().tensor_cancel().request_id(), id);
}

TEST_F(TensorTest, RefusesAnAnswerLargerThanAllowed) {
  jobs::JobOptions options;
  options.max_tensor_bytes = 100;
  Start(options);
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto tensor = Begin(job->Tensor(Query()));
  const v1::TensorRequest request = agent.Receive().tensor_request();
  EXPECT_EQ(request.max_bytes(), 100u);
  agent.Send(Header(request.request_id(), 50));
  auto value = tensor.get();
  EXPECT_EQ(value.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(value.status()), "slice_too_large");
}

TEST_F(TensorTest, GivesUpOnAnAgentThatDoesNotAnswer) {
  jobs::JobOptions options;
  options.tensor_deadline = std::chrono::milliseconds(1);
  Start(options);
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto value = Await(job->Tensor(Query()));
  EXPECT_EQ(value.status().code(), absl::StatusCode::kDeadlineExceeded);
  const uint64_t id = agent.Receive().tensor_request().request_id();
  EXPECT_EQ(agent.Receive().tensor_cancel().request_id(), id);
  // An answer that comes too late harms nobody.
  agent.Send(Header(id, 2));
  agent.SendRunning(1);
  WaitForState("digits", model::JobState::kRunning);
}

TEST_F(TensorTest, NamesWhatItDoesNotKnow) {
  Start();
  ScriptedAgent agent(port());
  auto job = StartJob(agent, ScriptedAgent::MakeHello("digits"));
  auto query = Query();
  query.slot = 1;
  EXPECT_EQ(ReasonOf(Await(job->Tensor(query)).status()), "unknown_slot");
  query = Query();
  query.rank = 3;
  EXPECT_EQ(ReasonOf(Await(job->Tensor(query)).status()), "unknown_rank");
  EXPECT_EQ(
      FieldOf(Await(job->Tensor(Query(std::string(2'000, ':')))).status()),
      "slice");
  query = Query();
  query.node = "nowhere";
  EXPECT_EQ(ReasonOf(Await(job->Tensor(query)).status()), "unknown_node");
  EXPECT_EQ(ReasonOf(Await(job->Tensors("nowhere", 0)).status()),
            "unknown_node");
}

}  // namespace
}  // namespace graphdbg::integration
