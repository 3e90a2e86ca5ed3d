// A rank without training: sends a graph and, at a fixed rate, statistics,
// handles commands, and sends hits on request. Or it steps, as one of several
// ranks, when it is told to.
#ifndef TOOLS_BENCH_SCRIPTED_RANK_H_
#define TOOLS_BENCH_SCRIPTED_RANK_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
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
    // The rank begins its first step, reports steps and stops at their ends, as
    // training does.
    bool steps_itself = false;
    // Connects again, as the same process, when the stream has ended.
    bool returns = false;
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
  // The rank stops for its hits at the end of its step, or of its next one if
  // it is paused.
  void StopAtHit();

  // Ends the current step, unless the rank is paused. At most one thread calls
  // it.
  void Step();
  uint64_t steps_ended() const { return steps_ended_; }
  bool paused() const { return paused_; }
  // Whether the server, or the connection to it, has ended the stream.
  bool ended() const { return ended_; }
  // Number of statistics sent.
  uint64_t sent() const { return sent_; }

 private:
  // `more_follow` means that more messages follow immediately, so that gRPC may
  // buffer this one.
  void Send(const v1::AgentMessage& message, bool more_follow = false);
  void PrintEnd(const grpc::Status& status) const;
  void Connect();
  // As agents do: offers each part of it, and sends what the server needs.
  void SendGraph();
  v1::NeededGraph AwaitNeeded();
  void SendState(bool paused);
  // Where the rank is, and where it will stop.
  void SendPosition() ABSL_EXCLUSIVE_LOCKS_REQUIRED(position_mu_);
  void SendResult(uint64_t command);
  void Report();
  void HandleCommands();
  // Those that came while the graph was sent.
  void HandleEarlyCommands();
  void Handle(const v1::Command& command);
  // As training handles it.
  void HandleBetweenSteps(const v1::Command& command);

  const Options options_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ServerMessage>>
      stream_;
  // Serializes writes to stream_.
  absl::Mutex write_mu_;
  std::atomic<bool> running_{true};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ended_{false};
  std::atomic<uint64_t> sent_{0};
  absl::Mutex position_mu_;
  std::atomic<uint64_t> steps_ended_{0};
  std::atomic<bool> paused_{false};
  std::atomic<bool> hit_{false};
  // 0: the rank does not stop by itself.
  uint64_t stops_after_ ABSL_GUARDED_BY(position_mu_) = 0;
  v1::PauseReason reason_ ABSL_GUARDED_BY(position_mu_) = v1::PAUSE_REASON_STEP;
  // Pauses that have not taken effect yet.
  std::vector<uint64_t> pauses_ ABSL_GUARDED_BY(position_mu_);
  uint64_t hits_ = 0;
  // Used by the thread that reads.
  std::vector<v1::Command> early_;
  std::thread reporter_;
  std::thread reader_;
};

}  // namespace graphdbg::bench

#endif  // TOOLS_BENCH_SCRIPTED_RANK_H_
