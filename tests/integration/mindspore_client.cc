#include "tests/integration/mindspore_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

namespace graphdbg::integration {
namespace {

constexpr size_t kPieceBytes = 3'145'728;
constexpr char kLeNet[] = "tests/integration/testdata/lenet_graph.pb";

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  // As clients do not, so that tests may start before their server.
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
                                 std::string backend, std::string device_name) {
  grpc::ChannelArguments arguments;
  // A connection of its own, as another process has.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  stub_ = debugger::EventListener::NewStub(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                grpc::InsecureChannelCredentials(), arguments));
  metadata_.set_device_name(std::move(device_name));
  metadata_.set_backend(std::move(backend));
  metadata_.set_ms_version(std::move(version));
}

debugger::EventReply MindSporeClient::SendMetadata() {
  grpc::ClientContext context;
  SetDeadline(context);
  debugger::EventReply reply;
  const grpc::Status status = stub_->SendMetadata(&context, metadata_, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
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
  debugger::Metadata position = metadata_;
  // Only the first message of a client says these.
  position.clear_ms_version();
  position.clear_graph_num();
  while (true) {
    grpc::ClientContext context;
    SetDeadline(context);
    debugger::EventReply reply;
    const grpc::Status status = stub_->WaitCMD(&context, position, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.status(), debugger::EventReply::OK);
    if (!status.ok() || reply.cmd_case() != debugger::EventReply::CMD_NOT_SET) {
      return reply;
    }
  }
}

bool MindSporeClient::AskFails() {
  grpc::ClientContext context;
  SetDeadline(context);
  debugger::EventReply reply;
  return !stub_->WaitCMD(&context, metadata_, &reply).ok();
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
