// A MindSpore training process from the server's point of view: the calls of
// its debugger, over real gRPC, in the manner of a given release.
#ifndef TESTS_INTEGRATION_MINDSPORE_CLIENT_H_
#define TESTS_INTEGRATION_MINDSPORE_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/mindspore/debugger.grpc.pb.h"

namespace graphdbg::integration {

// Calls block, and fail after 30 s so that a test ends. Not thread safe.
class MindSporeClient {
 public:
  MindSporeClient(uint16_t port, std::string version, std::string backend,
                  std::string device_name = "0:1",
                  const std::string& host = "127.0.0.1");

  // Opens a new connection. The constructor opens the first one.
  void Connect();

  // The metadata that every message contains.
  debugger::Metadata& metadata() { return metadata_; }

  debugger::EventReply SendMetadata();
  // The same, but may fail.
  grpc::Status TryMetadata();
  debugger::EventReply SendDone();
  // Sends the graph in chunks, as clients do.
  bool SendGraph(const std::string& graph);
  bool SendMultiGraphs(const std::vector<std::string>& graphs);
  bool SendChunks(const std::vector<debugger::Chunk>& chunks, bool several);
  // Repeats the wait-for-command call until it returns a command.
  debugger::EventReply Ask();
  // Makes one wait-for-command call, whose answer may be no command.
  debugger::EventReply AskOnce();
  // Repeats the call a few times if the server disappears during it, as clients
  // do. Counts the failures; a real client ends at the sixth.
  debugger::EventReply AskThroughFailures();
  // Resets the number of failures, as a run command does in a real client.
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
// so on, each with an output of the shape 2 by 3. Each takes about 150 bytes
// plus the padding.
debugger::GraphProto LargeGraph(const std::string& name, int nodes,
                                const std::string& padding = "layer");

// A float32 tensor as the answer to a request for `asked`.
debugger::TensorProto FloatTensor(const debugger::TensorProto& asked,
                                  const std::vector<int64_t>& dims,
                                  const std::vector<float>& values);

// The answer of a client that does not have the tensor.
debugger::TensorProto NoTensor(const debugger::TensorProto& asked);

// The graph of LeNet with Momentum, as MindSpore 1.1 sent it from Ascend.
std::string LeNet();

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_MINDSPORE_CLIENT_H_
