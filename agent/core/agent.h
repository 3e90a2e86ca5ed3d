// The agent: everything that is known about the program, and what is done at
// its execution points. One per process.
//
// Threads: the program's own call Start, Executed, StepEnd and the
// declarations; the transport's two deliver and fetch messages; one thread of
// the agent's own answers requests for tensors. Locks are held for moments
// only and never while the host is called back, except host.retain.
#ifndef AGENT_CORE_AGENT_H_
#define AGENT_CORE_AGENT_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/bindings.h"
#include "agent/core/checker.h"
#include "agent/core/config.h"
#include "agent/core/deferred_checks.h"
#include "agent/core/devices.h"
#include "agent/core/gate.h"
#include "agent/core/host.h"
#include "agent/core/kept_tensors.h"
#include "agent/core/link.h"
#include "agent/core/node_table.h"
#include "agent/core/outbox.h"
#include "agent/core/previous_values.h"
#include "agent/core/rechecker.h"
#include "agent/core/requested_nodes.h"
#include "agent/core/seen_values.h"
#include "agent/core/source_text.h"
#include "agent/core/statistics_recorder.h"
#include "agent/core/tensor_requests.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

// What the adapter says about itself.
struct Identity {
  std::string framework;
  std::string framework_version;
  std::string device;
  int32_t device_id = 0;
  std::string job_name;
  std::vector<std::string> command_line;
};

class Agent final : public Link {
 public:
  Agent(Config config, Identity identity, const Host& host,
        std::unique_ptr<Transport> transport);
  ~Agent() override;

  // Starts threads. Once.
  void Open();
  // As graphdbg_close. Once, or never.
  graphdbg_status Close(const graphdbg_ending& ending);

  // --- As the functions of the C interface.

  absl::StatusOr<uint32_t> DeclareNode(const graphdbg_node_info& info);
  absl::Status DeclareScope(absl::string_view graph, absl::string_view name,
                            absl::string_view type);
  absl::Status BindTensor(uint32_t node, void* bound);
  // GRAPHDBG_INTEREST_...
  int Interest(uint32_t node);
  graphdbg_status Start();
  // INVALID_ARGUMENT for nodes that were not declared.
  graphdbg_status Executed(const graphdbg_execution& execution);
  graphdbg_status StepEnd();
  // A line for the user, here and where the job is watched.
  void Notify(const std::string& line);

  // Says the line, once, and does nothing more in this process.
  void Detach(const std::string& line);
  // In a forked child: as detached, without a word, a lock or a thread.
  void GoInert();
  bool live() const { return live_.load(std::memory_order_relaxed); }

  // --- Link

  v1::AgentMessage OpenStream() override;
  bool Next(v1::AgentMessage* message, bool* graceful) override;
  void PutBack(v1::AgentMessage message) override;
  void OnMessage(const v1::ServerMessage& message) override;
  void OnReceivingEnded() override;
  std::optional<std::chrono::milliseconds> OnStreamEnded(
      const absl::Status& status) override;

 private:
  enum class Connection { kNever, kUp, kLost };

  // agent.cc
  void Work();
  void ApplyDisconnectPolicy();
  void UpdateNeeds();
  int ComputeNeeds();
  void DeliverLevel();
  void ReportState(v1::StateUpdate state);

  // agent_execution.cc
  graphdbg_status WaitForServer();
  void RecordDevices();
  void MarkIntentionalInfinities();
  void CheckBoundTensors(uint64_t step, Findings* findings);
  void CheckBoundTensor(const WatchSnapshot& watch, uint32_t node,
                        const BoundTensor& bound, uint64_t step,
                        Findings* findings);
  struct BoundNode;
  void CheckBoundOnDevices(const WatchSnapshot& watch,
                           std::vector<BoundNode> nodes, uint64_t step,
                           Findings* findings);
  void CheckBatch(const WatchSnapshot& watch, runtime::Accelerator* device,
                  runtime::Stream stream,
                  const std::vector<BoundNode*>& members, uint64_t step,
                  Findings* findings);
  // Copies what the next step will be compared with.
  void KeepPreviousBound(uint64_t step);
  void KeepPreviousOutputs(const WatchSnapshot& watch,
                           const Execution& execution, SeenValues* seen,
                           uint64_t step);
  // The same at the end of the step in which a watchpoint was set, for what is
  // still there.
  void KeepMissedOutputs(uint64_t step);
  void KeepTensors(const Execution& execution, uint64_t step, bool hit);
  // The step is over: its values go, but for those that are to be caught.
  void ReleaseStep();
  uint64_t NextOrder();
  // Queues hits; gives those that stop the program here.
  void Report(Findings findings, std::vector<uint32_t>* stop_here);
  void ReportStatistics(uint64_t step);
  bool ResolveBound(void* bound, BoundTensor* out) const;

  // agent_link.cc
  v1::Hello MakeHello() const;
  void Handle(const v1::ServerMessage& message);
  void OnWelcome(const v1::Welcome& welcome);
  void OnCommand(const v1::Command& command);
  void OnCatchTensor(const v1::CatchTensor& request);
  void WakeWorker();
  void OnSetWatchpoint(const v1::SetWatchpoint& watchpoint);
  std::string ServerName() const;
  std::string RefusalLine(const absl::Status& status) const;

  const Config config_;
  const Identity identity_;
  const std::string incarnation_;
  const Host host_;

  // Outlives whatever has memory on them.
  Devices devices_;
  NodeTable nodes_;
  WatchTable watch_;
  KeptTensors kept_;
  // The values of bound tensors at the end of the last step, and those of
  // outputs in this step and the one before.
  PreviousValues previous_bound_;
  PreviousValues previous_outputs_;
  // Whose outputs are kept from their executions on.
  std::shared_ptr<const WatchSnapshot> kept_for_;
  SeenValues seen_;
  StatisticsRecorder recorder_;
  RequestedNodes requested_;
  Bindings bindings_;
  Outbox outbox_;
  Gate gate_;
  Checker checker_;
  DeferredChecks deferred_;
  TensorRequests tensor_requests_;
  Rechecker rechecker_;
  // On the transport's sending thread.
  SourceText source_text_;

  std::atomic<bool> live_{true};
  std::atomic<bool> detaching_{false};
  std::atomic<bool> started_{false};
  // Start has let the program go.
  std::atomic<bool> running_{false};
  std::atomic<bool> first_step_ended_{false};

  // The hot path: which NodeFlags make an execution interesting, and whether
  // each execution has to go through the gate.
  std::atomic<uint8_t> interest_flags_{0};
  // Those of them that are somebody's look at the node.
  std::atomic<uint8_t> required_flags_{0};
  std::atomic<bool> gate_wants_every_node_{false};
  // Whether all executions that write are interesting.
  std::atomic<bool> sees_writes_{false};
  enum class Keep : uint8_t { kNothing, kWatched, kEverything };
  std::atomic<Keep> keep_{Keep::kNothing};
  // Values of a few nodes are kept from step to step.
  std::atomic<bool> catching_{false};
  std::atomic<uint64_t> steps_ended_{0};
  // Executions of this step so far, and the highest order given to one.
  std::atomic<uint64_t> executions_{0};
  std::atomic<uint64_t> last_order_{0};

  std::mutex needs_mu_;
  // Guarded by needs_mu_.
  uint32_t awaited_node_ = 0;
  uint64_t resumed_pause_ = 0;
  // Held by the thread that tells the host a level.
  std::mutex level_mu_;
  std::atomic<int> level_{-1};
  int delivered_level_ = -1;  // Guarded by level_mu_.

  std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_; notified by changed_.
  Connection connection_ = Connection::kNever;
  std::chrono::steady_clock::time_point lost_since_;
  bool reported_lost_ = false;
  bool start_running_ = false;
  // Of the server's page; empty: it told none.
  std::string page_address_;
  // Watchpoints that the server announced and that have not come yet.
  uint32_t awaited_watchpoints_ = 0;
  bool work_to_do_ = false;
  bool closing_ = false;
  std::chrono::milliseconds retry_delay_{0};
  // Watchpoints that stop at the end of this step.
  std::vector<uint32_t> step_end_stops_;

  std::chrono::steady_clock::time_point opened_at_;
  std::unique_ptr<Transport> transport_;
  std::thread worker_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_AGENT_H_
