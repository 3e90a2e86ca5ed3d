// A rank that trains nothing: it tells a graph, sends statistics at a fixed
// rate, obeys, and hits when it is told to.
#ifndef TOOLS_BENCH_SCRIPTED_RANK_H_
#define TOOLS_BENCH_SCRIPTED_RANK_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

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
    // Messages, each of one tensor.
    uint32_t statistics_per_second = 0;
  };

  // Joins and sends the graph; obeys until it is destroyed.
  explicit ScriptedRank(Options options);
  ~ScriptedRank();

  // Begins to send statistics. Once.
  void StartReporting();

  // Of the watchpoint with number 1, at the node with this number.
  void Hit(uint32_t node, uint64_t order);
  // The statistics that were sent.
  uint64_t sent() const { return sent_; }

 private:
  // `more_follow` at once: gRPC may wait for them.
  void Send(const v1::AgentMessage& message, bool more_follow = false);
  void SendGraph();
  void SendState(bool paused);
  void SendStatistics(uint32_t count);
  void Report();
  void Obey();

  const Options options_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ServerMessage>>
      stream_;
  std::mutex writing_;
  std::atomic<bool> running_{true};
  std::atomic<bool> over_{false};
  std::atomic<uint64_t> sent_{0};
  uint64_t hits_ = 0;
  std::thread reporter_;
  std::thread reader_;
};

}  // namespace graphdbg::bench

#endif  // TOOLS_BENCH_SCRIPTED_RANK_H_
