// A rank without training: sends a graph and, at a fixed rate, statistics,
// handles commands, and sends hits on request.
#ifndef TOOLS_BENCH_SCRIPTED_RANK_H_
#define TOOLS_BENCH_SCRIPTED_RANK_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "proto/graphdbg/v1/agent_service.grpc.pb.h"

namespace graphdbg::bench {

class ScriptedRank {
 public:
  struct Options {
    std::string server;
    std::string job;
    uint32_t rank = 0;
    uint32_t world_size = 1;
    uint32_t nodes = 0;
    // Messages per second, each with one tensor.
    uint32_t statistics_per_second = 0;
    // After these many steps, statistics are reported for the same steps again.
    // 0: each pass over the nodes is a new step.
    uint64_t steps = 0;
    // Otherwise the program ends if the server ends the stream.
    bool may_be_ended = false;
  };

  // Connects and sends the graph. Handles commands until it is destroyed.
  explicit ScriptedRank(Options options);
  ~ScriptedRank();

  // Starts to send statistics at the fixed rate. Must be called at most once.
  void StartReporting();
  // Sends this many statistics now. Not to be called while they are sent at a
  // rate.
  void SendStatistics(uint32_t count);

  // Sends a hit of watchpoint 1 at this node.
  void Hit(uint32_t node, uint64_t order);
  // Whether the server, or the connection to it, has ended the stream.
  bool ended() const { return ended_; }
  // Number of statistics sent.
  uint64_t sent() const { return sent_; }

 private:
  // `more_follow` means that more messages follow immediately, so that gRPC may
  // buffer this one.
  void Send(const v1::AgentMessage& message, bool more_follow = false);
  void PrintEnd(const grpc::Status& status) const;
  void SendGraph();
  void SendState(bool paused);
  void Report();
  void HandleCommands();

  const Options options_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ServerMessage>>
      stream_;
  // Serializes writes to stream_.
  absl::Mutex write_mu_;
  std::atomic<bool> running_{true};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ended_{false};
  std::atomic<uint64_t> sent_{0};
  uint64_t hits_ = 0;
  std::thread reporter_;
  std::thread reader_;
};

}  // namespace graphdbg::bench

#endif  // TOOLS_BENCH_SCRIPTED_RANK_H_
