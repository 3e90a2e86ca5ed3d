// The agent: one per process, behind the C interface.
//
// Agent itself coordinates. The work is done by the objects that it owns:
//
//   program's threads                      server
//        |                                    |
//      Agent -- Gate (stops the program)   ServerLink -- ServerConnection
//        |-- NodeTable, WatchTable            |
//        |-- NodeInterest -> HostLevel     Outbox
//        |-- ValueKeeper (values of this step and the one before)
//        |-- Checker, DeferredChecks, BoundTensorChecker, UndecidedInfinities
//        |      '-- FindingsReporter -> Outbox
//        |-- RecordingControl -> Recorder -> Recording (agent/recording)
//        '-- Worker: TensorRequests, Rechecker, DeferredChecks
//
// Threads: the program's own threads call Start, Executed, StepEnd and the
// declarations; two threads of the transport deliver and fetch messages; one
// thread of the agent answers requests for tensors and looks after timeouts.
// Locks are held briefly, and never while the host is called back, except for
// host.retain.
#ifndef AGENT_CORE_AGENT_H_
#define AGENT_CORE_AGENT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/core/bindings.h"
#include "agent/core/bound_tensor_checker.h"
#include "agent/core/captures.h"
#include "agent/core/checker.h"
#include "agent/core/config.h"
#include "agent/core/deferred_checks.h"
#include "agent/core/devices.h"
#include "agent/core/execution_counter.h"
#include "agent/core/failed_op.h"
#include "agent/core/findings_reporter.h"
#include "agent/core/gate.h"
#include "agent/core/hello.h"
#include "agent/core/host.h"
#include "agent/core/host_level.h"
#include "agent/core/link.h"
#include "agent/core/metrics.h"
#include "agent/core/node_interest.h"
#include "agent/core/node_table.h"
#include "agent/core/outbox.h"
#include "agent/core/overview.h"
#include "agent/core/own_time.h"
#include "agent/core/rechecker.h"
#include "agent/core/recording.h"
#include "agent/core/recording_control.h"
#include "agent/core/requested_nodes.h"
#include "agent/core/server_connection.h"
#include "agent/core/server_link.h"
#include "agent/core/statistics_recorder.h"
#include "agent/core/tensor_requests.h"
#include "agent/core/undecided_infinities.h"
#include "agent/core/value_keeper.h"
#include "agent/core/watch_table.h"
#include "agent/core/worker.h"

namespace graphdbg::agent {

class Agent final {
 public:
  // Updates the rank and the job in the configuration.
  using ReadPlaceFunction =
      std::function<void(const std::optional<Place>& known, Config* config)>;

  // `open_recording` is called if the configuration has the job recorded.
  Agent(Config config, Identity identity, const Host& host,
        std::unique_ptr<Transport> transport,
        ReadPlaceFunction read_place = nullptr,
        OpenRecordingFunction open_recording = nullptr);
  ~Agent();

  // Has the host follow the program until it starts. Called once. The agent
  // has no threads yet, so that a program may still fork.
  void Open();
  // Claims the process's place in its job: starts the agent's threads, which
  // connect to the server. Called by Start; only the first call has an effect.
  void Dial();
  bool dialed() const { return dialed_.load(); }
  graphdbg_status Failed(const graphdbg_ending& ending);
  // Like graphdbg_close. Called at most once.
  graphdbg_status Close(const graphdbg_ending& ending);

  // --- Like the functions of the C interface.

  absl::StatusOr<uint32_t> DeclareNode(const graphdbg_node_info& info);
  absl::Status DeclareScope(absl::string_view graph, absl::string_view name,
                            absl::string_view type);
  absl::Status BindTensor(uint32_t node, void* bound);
  // Returns GRAPHDBG_INTEREST_...
  int Interest(uint32_t node);
  // This thread begins to execute a node, and has ended it.
  void BeginOp(uint32_t node);
  void EndOp();
  graphdbg_status Start();
  // Returns INVALID_ARGUMENT for nodes that were not declared.
  graphdbg_status Executed(const graphdbg_execution& execution);
  // Whether the adapter has found the tensors bound to these nodes finite.
  void RecordTested(const uint32_t* nodes, size_t count, bool finite);
  graphdbg_status StepEnd();
  void BeginPass(graphdbg_mode mode, bool within_step);
  void EndPass();
  void SetMode(graphdbg_mode mode);
  // `status` receives what Executed returned. INVALID_ARGUMENT if another node
  // has this name.
  absl::Status SaveTensor(const char* name, const char* collection,
                          const graphdbg_tensor& tensor,
                          graphdbg_status* status);
  void Notify(const std::string& line);
  bool Watches(const char* condition) const;
  bool IsIdle() const { return live() && interest_.idle(); }
  bool SeeksOnlyNonFinite() const {
    return live() && interest_.only_nonfinite();
  }
  // The adapter has repeated a part of the program in order to see its values.
  void AddRepetition(std::chrono::nanoseconds time);
  // INVALID_ARGUMENT for unknown nodes and conditions.
  absl::Status Report(const graphdbg_finding& finding);
  // INVALID_ARGUMENT for unknown nodes.
  absl::Status CompareReplicas(const graphdbg_replicas& replicas);

  // Measures the time that the program's threads spend in the agent and its
  // adapter.
  OwnTime* own_time() { return &own_time_; }

  // Logs the line and does nothing more in this process. Only the first call
  // has an effect.
  void Detach(const std::string& line);
  // Detaches in a forked child: without a message, a lock or a thread.
  void GoInert();
  bool live() const { return live_.load(std::memory_order_relaxed); }

 private:
  // Done by the worker.
  void Work();
  void ApplyDisconnectPolicy();

  // Empty for 0.
  std::string NameOf(uint32_t node) const;
  // Tells the user what GRAPHDBG_OVERHEAD has left out.
  void ReportLeftOut();
  v1::Goodbye MakeGoodbye(const graphdbg_ending& ending, bool terminated) const;

  // Reports what waited for a decision, since no op follows in this step.
  // Returns the watchpoints that stop the program.
  std::vector<uint32_t> DecideInfinities();

  // The parts of Executed. Check tests the conditions on the execution and
  // keeps what is needed of its values; CheckAndReport returns the watchpoints
  // that stop the program.
  void Record(const Execution& execution, const ExecutionPoint& point,
              bool is_new);
  std::vector<uint32_t> CheckAndReport(const WatchSnapshot& watch,
                                       const Execution& execution,
                                       const ExecutionPoint& point,
                                       bool is_new);
  Findings Check(const Execution& execution, const ExecutionPoint& point,
                 const WatchSnapshot& watch);
  // After the check of an execution, if infinities wait for a decision.
  void FollowInfinities(const Execution& execution, const ExecutionPoint& point,
                        Findings* findings);

  // Whatever determines which executions are followed has changed.
  void UpdateInterest();
  void ReportState(v1::StateUpdate state);
  absl::Status ReportAt(const graphdbg_finding& finding,
                        const ExecutionPoint& point);
  // Tests what is tested at the end of a step. Returns the watchpoints that
  // stop the program there.
  std::vector<uint32_t> CheckStepEnd(uint64_t step);
  // Between two steps while only the overview may have something to do.
  void EndOverviewStep(uint64_t step);
  void BeginOverviewStep(uint64_t step);
  // Reports where the non-finite values of this step came from, if a watchpoint
  // has hit on them.
  void ReportOrigin(uint64_t step);
  // Reports a finding that the server made by comparing ranks.
  void ReportServerFinding(const v1::Finding& finding);

  // Sets the watchpoints of the configuration, since there is no server that
  // would do so.
  void SetOwnWatchpoints();
  // Calls `change`, after which the recorder may be interested in other nodes
  // than before.
  void ChangePass(const std::function<void(Recorder&)>& change);

  // Sets *found to whether there is a server. If not, the agent looks for one
  // in the background.
  graphdbg_status WaitForServer(bool* found);
  // Checks the state before the first step.
  graphdbg_status CheckBeforeFirstStep(bool waited);
  // Whether the user steps through the program, so that values are kept to
  // compare with.
  bool Stepping() const { return gate_.needs().tensors && live(); }

  // Constant, except that Dial sets the place and the incarnation before it
  // starts the threads that read them.
  Config config_;
  const Identity identity_;
  std::string incarnation_;
  const ReadPlaceFunction read_place_;
  const Host host_;

  // Each protects itself; see the classes. Ordered so that each outlives those
  // that point to it.
  Devices devices_;
  NodeTable nodes_;
  WatchTable watch_;
  Bindings bindings_;
  RequestedNodes requested_;
  Outbox outbox_;
  Overview overview_{&outbox_};
  Metrics metrics_;
  StatisticsRecorder statistics_;
  ExecutionCounter counter_;
  // Inputs that were counted since the last execution of another node.
  std::atomic<uint32_t> inputs_{0};
  OwnTime own_time_;
  RecordingControl recordings_;
  BundleWriter bundle_writer_;
  Captures captures_;
  FailedOp failed_op_;
  ServerConnection connection_;
  ValueKeeper values_;
  HostLevel level_;
  Gate gate_;
  NodeInterest interest_;
  FindingsReporter reporter_;
  Checker checker_;
  UndecidedInfinities undecided_;
  BoundTensorChecker bound_checker_;
  DeferredChecks deferred_;
  BundleRequests bundle_requests_;
  TensorRequests tensor_requests_;
  Rechecker rechecker_;
  ServerLink link_;

  std::atomic<bool> live_{true};
  std::atomic<bool> detaching_{false};
  std::atomic<bool> dialed_{false};
  std::atomic<bool> started_{false};
  // Start has returned control to the program.
  std::atomic<bool> running_{false};

  // How many steps had their non-finite values traced. Only used by the thread
  // that ends steps.
  int origins_ = 0;

  // Set by Open, before the program can start.
  std::chrono::steady_clock::time_point opened_at_;
  std::unique_ptr<Transport> transport_;
  Worker worker_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_AGENT_H_
