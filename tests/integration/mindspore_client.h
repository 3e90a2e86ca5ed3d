// A MindSpore training process as a server sees it: the calls of its debugger,
// over real gRPC, in the way of a release.
#ifndef TESTS_INTEGRATION_MINDSPORE_CLIENT_H_
#define TESTS_INTEGRATION_MINDSPORE_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/mindspore/debugger.grpc.pb.h"

namespace graphdbg::integration {

// Calls block, and fail after 30 s so that a test ends. One thread.
class MindSporeClient {
 public:
  MindSporeClient(uint16_t port, std::string version, std::string backend,
                  std::string device_name = "0:1",
                  const std::string& host = "127.0.0.1");

  // Anew; done by the constructor, too.
  void Connect();

  // What every message of the job says of itself.
  debugger::Metadata& metadata() { return metadata_; }

  debugger::EventReply SendMetadata();
  // The same, where it may fail.
  grpc::Status TryMetadata();
  debugger::EventReply SendDone();
  // In pieces as clients cut them.
  bool SendGraph(const std::string& graph);
  bool SendMultiGraphs(const std::vector<std::string>& graphs);
  bool SendChunks(const std::vector<debugger::Chunk>& chunks, bool several);
  // Asks until there is a command.
  debugger::EventReply Ask();
  // Asks once: the answer may be no command.
  debugger::EventReply AskOnce();
  // As clients do where the server goes away while they ask: again, a few
  // times. Counts the failures, of which the sixth ends a real client.
  debugger::EventReply AskThroughFailures();
  // As if the client had been told to run since: its patience is new.
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
// so on, each with an output of the shape 2 by 3. About 150 bytes each, and
// what the padding takes.
debugger::GraphProto LargeGraph(const std::string& name, int nodes,
                                const std::string& padding = "layer");

// A float32 tensor, as the answer to being asked for `asked`.
debugger::TensorProto FloatTensor(const debugger::TensorProto& asked,
                                  const std::vector<int64_t>& dims,
                                  const std::vector<float>& values);

// "Not there": what clients send of a tensor that they have not.
debugger::TensorProto NoTensor(const debugger::TensorProto& asked);

// The graph of LeNet with Momentum, as MindSpore 1.1 sent it from Ascend.
std::string LeNet();

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_MINDSPORE_CLIENT_H_
