// A MindSpore training process as the server sees it. Makes the calls of its
// debugger over real gRPC, as a given release does.
#ifndef TESTS_INTEGRATION_MINDSPORE_CLIENT_H_
#define TESTS_INTEGRATION_MINDSPORE_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/mindspore/debugger.grpc.pb.h"

namespace graphdbg::integration {

// Calls block, and fail after 30 s so that tests end. Not thread-safe.
class MindSporeClient {
 public:
  MindSporeClient(uint16_t port, std::string version, std::string backend,
                  std::string device_name = "0:1",
                  const std::string& host = "127.0.0.1");

  // Reconnects. The constructor connects, too.
  void Connect();

  // The metadata that every message of the job contains.
  debugger::Metadata& metadata() { return metadata_; }

  debugger::EventReply SendMetadata();
  // Like SendMetadata, but returns errors.
  grpc::Status TryMetadata();
  debugger::EventReply SendDone();
  // Sends the graph in chunks, as clients do.
  bool SendGraph(const std::string& graph);
  bool SendMultiGraphs(const std::vector<std::string>& graphs);
  bool SendChunks(const std::vector<debugger::Chunk>& chunks, bool several);
  // Makes wait-for-command calls until one returns a command.
  debugger::EventReply Ask();
  // Makes one wait-for-command call, which may return without a command.
  debugger::EventReply AskOnce();
  // Like Ask, but retries failed calls a few times, as clients do while the
  // server restarts. Counts the failures; a real client ends after the sixth.
  debugger::EventReply AskThroughFailures();
  // Resets the count of failures, as a run command does in a real client.
  void ForgetFailures() { failures_ = 0; }
  bool SendHits(const std::vector<debugger::WatchpointHit>& hits);
  bool SendTensors(const std::vector<debugger::TensorProto>& tensors);
  bool SendBases(const std::vector<debugger::TensorBase>& bases);
  bool SendStatistics(const std::vector<debugger::TensorSummary>& summaries);
  bool SendHeartbeat(int period);

 private:
  grpc::Status CallWait(debugger::EventReply& reply);
  template <class Message, class Call>
  bool Stream(const std::vector<Message>& messages, Call call);

  std::string address_;
  std::unique_ptr<debugger::EventListener::Stub> stub_;
  debugger::Metadata metadata_;
  int failures_ = 0;
};

// A graph of `nodes` ReLUs without inputs, "Default/net/<padding>/ReLU-op1" and
// so on, each with an output of shape [2, 3]. A node takes about 150 bytes plus
// the padding.
debugger::GraphProto LargeGraph(const std::string& name, int nodes,
                                const std::string& padding = "layer");

// A float32 tensor in response to the request `asked`.
debugger::TensorProto FloatTensor(const debugger::TensorProto& asked,
                                  const std::vector<int64_t>& dims,
                                  const std::vector<float>& values);

// The response of clients to a request for a tensor that they do not have.
debugger::TensorProto NoTensor(const debugger::TensorProto& asked);

// The graph of LeNet with Momentum, as MindSpore 1.1 sent it from Ascend.
std::string LeNet();

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_MINDSPORE_CLIENT_H_
