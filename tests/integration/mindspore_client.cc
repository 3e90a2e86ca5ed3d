#include "tests/integration/mindspore_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "tests/integration/patience.h"

namespace graphdbg::integration {
namespace {

constexpr size_t kPieceBytes = 3'145'728;
constexpr char kLeNet[] = "tests/integration/testdata/lenet_graph.pb";

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  // Real clients do not wait, but tests may start before their server.
  context.set_wait_for_ready(false);
}

std::vector<debugger::Chunk> Cut(const std::string& graph) {
  std::vector<debugger::Chunk> chunks;
  for (size_t at = 0; at < graph.size(); at += kPieceBytes) {
    chunks.emplace_back().set_buffer(graph.substr(at, kPieceBytes));
  }
  return chunks;
}

}  // namespace

MindSporeClient::MindSporeClient(uint16_t port, std::string version,
                                 std::string backend, std::string device_name,
                                 const std::string& host)
    : address_(host + ":" + std::to_string(port)) {
  metadata_.set_device_name(std::move(device_name));
  metadata_.set_backend(std::move(backend));
  metadata_.set_ms_version(std::move(version));
  Connect();
}

void MindSporeClient::Connect() {
  grpc::ChannelArguments arguments;
  // A separate connection, like that of another process.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stub_ = debugger::EventListener::NewStub(grpc::CreateCustomChannel(
      address_, grpc::InsecureChannelCredentials(), arguments));
}

debugger::EventReply MindSporeClient::SendMetadata() {
  grpc::ClientContext context;
  SetDeadline(context);
  debugger::EventReply reply;
  const grpc::Status status = stub_->SendMetadata(&context, metadata_, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

grpc::Status MindSporeClient::TryMetadata() {
  grpc::ClientContext context;
  SetDeadline(context);
  debugger::EventReply reply;
  return stub_->SendMetadata(&context, metadata_, &reply);
}

debugger::EventReply MindSporeClient::SendDone() {
  metadata_.set_training_done(true);
  return SendMetadata();
}

template <class Message, class Call>
bool MindSporeClient::Stream(const std::vector<Message>& messages, Call call) {
  grpc::ClientContext context;
  SetDeadline(context);
  debugger::EventReply reply;
  auto writer = call(&context, &reply);
  for (const Message& message : messages) {
    if (!writer->Write(message)) break;
  }
  writer->WritesDone();
  return writer->Finish().ok() && reply.status() == debugger::EventReply::OK;
}

bool MindSporeClient::SendChunks(const std::vector<debugger::Chunk>& chunks,
                                 bool several) {
  return Stream(chunks, [&](auto* context, auto* reply) {
    return several ? stub_->SendMultiGraphs(context, reply)
                   : stub_->SendGraph(context, reply);
  });
}

bool MindSporeClient::SendGraph(const std::string& graph) {
  return SendChunks(Cut(graph), false);
}

bool MindSporeClient::SendMultiGraphs(const std::vector<std::string>& graphs) {
  std::vector<debugger::Chunk> chunks;
  for (const std::string& graph : graphs) {
    for (debugger::Chunk& chunk : Cut(graph)) chunks.push_back(chunk);
    chunks.back().set_finished(true);
  }
  return SendChunks(chunks, true);
}

debugger::EventReply MindSporeClient::Ask() {
  while (true) {
    debugger::EventReply reply = AskOnce();
    if (testing::Test::HasFailure()) return reply;
    if (reply.cmd_case() != debugger::EventReply::CMD_NOT_SET) return reply;
  }
}

grpc::Status MindSporeClient::CallWait(debugger::EventReply& reply) {
  debugger::Metadata position = metadata_;
  // Sent only in the first message of a client.
  position.clear_ms_version();
  position.clear_graph_num();
  grpc::ClientContext context;
  SetDeadline(context);
  return stub_->WaitCMD(&context, position, &reply);
}

debugger::EventReply MindSporeClient::AskOnce() {
  debugger::EventReply reply;
  const grpc::Status status = CallWait(reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.status(), debugger::EventReply::OK);
  return reply;
}

debugger::EventReply MindSporeClient::AskThroughFailures() {
  debugger::EventReply reply;
  grpc::Status status;
  while (failures_ < 6) {
    status = CallWait(reply);
    if (!status.ok()) {
      // Real clients wait a second before each call. A separate channel would
      // wait for seconds before it reconnects.
      std::this_thread::sleep_for(std::chrono::milliseconds(200) * ++failures_);
      Connect();
    } else if (reply.cmd_case() != debugger::EventReply::CMD_NOT_SET) {
      return reply;
    }
  }
  ADD_FAILURE() << "a client would have given up: " << status.error_message();
  return reply;
}

bool MindSporeClient::SendHits(
    const std::vector<debugger::WatchpointHit>& hits) {
  return Stream(hits, [&](auto* context, auto* reply) {
    return stub_->SendWatchpointHits(context, reply);
  });
}

bool MindSporeClient::SendTensors(
    const std::vector<debugger::TensorProto>& tensors) {
  return Stream(tensors, [&](auto* context, auto* reply) {
    return stub_->SendTensors(context, reply);
  });
}

bool MindSporeClient::SendBases(
    const std::vector<debugger::TensorBase>& bases) {
  return Stream(bases, [&](auto* context, auto* reply) {
    return stub_->SendTensorBase(context, reply);
  });
}

bool MindSporeClient::SendStatistics(
    const std::vector<debugger::TensorSummary>& summaries) {
  return Stream(summaries, [&](auto* context, auto* reply) {
    return stub_->SendTensorStats(context, reply);
  });
}

bool MindSporeClient::SendHeartbeat(int period) {
  grpc::ClientContext context;
  SetDeadline(context);
  debugger::Heartbeat beat;
  beat.set_message("alive");
  beat.set_period(period);
  debugger::EventReply reply;
  return stub_->SendHeartbeat(&context, beat, &reply).ok();
}

debugger::GraphProto LargeGraph(const std::string& name, int nodes,
                                const std::string& padding) {
  debugger::GraphProto graph;
  graph.set_name(name);
  for (int i = 1; i <= nodes; ++i) {
    debugger::NodeProto& node = *graph.add_node();
    node.set_name(std::to_string(i));
    node.set_op_type("ReLU");
    node.set_scope("Default/net/" + padding);
    node.set_full_name(node.scope() + "/ReLU-op" + std::to_string(i));
    debugger::TypeProto& type = *node.mutable_output_type();
    type.set_data_type(debugger::DT_TENSOR);
    type.mutable_tensor_type()->set_elem_type(debugger::DT_FLOAT32);
    for (int size : {2, 3}) {
      type.mutable_tensor_type()->mutable_shape()->add_dim()->set_size(size);
    }
  }
  return graph;
}

debugger::TensorProto FloatTensor(const debugger::TensorProto& asked,
                                  const std::vector<int64_t>& dims,
                                  const std::vector<float>& values) {
  debugger::TensorProto tensor = NoTensor(asked);
  tensor.set_data_type(debugger::DT_FLOAT32);
  tensor.set_tensor_content(values.data(), values.size() * sizeof(float));
  for (int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

debugger::TensorProto NoTensor(const debugger::TensorProto& asked) {
  debugger::TensorProto tensor;
  tensor.set_node_name(asked.node_name());
  tensor.set_slot(asked.slot());
  tensor.set_iter(asked.iter());
  tensor.set_truncate(asked.truncate());
  tensor.set_finished(true);
  return tensor;
}

std::string LeNet() {
  std::ifstream file(kLeNet, std::ios::binary);
  EXPECT_TRUE(file.good()) << kLeNet;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace graphdbg::integration
