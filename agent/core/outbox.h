// Messages that wait to be sent to the server.
#ifndef AGENT_CORE_OUTBOX_H_
#define AGENT_CORE_OUTBOX_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "agent/base/mutex.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// Bounded. Training threads add hits and states and never wait; only PutTensor
// waits, and is called on the agent's own thread. Hits that find no room are
// counted, and a Log reports how many as soon as there is room again.
//
// Hits, logs and a goodbye outlive a broken stream. All other messages belong
// to their stream and are dropped with it. Hits are numbered from 1. If the
// server confirms the hits that it has recorded, those that it has not are sent
// again on the next stream.
class Outbox {
 public:
  static constexpr size_t kMaxHits = 10'000;
  static constexpr size_t kMaxLogs = 100;
  // Reports, and tensors in them.
  static constexpr size_t kMaxStatistics = 64;
  static constexpr size_t kMaxStatisticTensors = 20'000;
  static constexpr size_t kMaxReplicas = 16;
  static constexpr size_t kMaxOverviews = 4;
  static constexpr int64_t kMaxTensorBytes = 8 << 20;

  explicit Outbox(
      std::chrono::milliseconds gathers = std::chrono::milliseconds(100))
      : gathers_(gathers) {}

  void PutHit(v1::Hit hit);
  // Dropped if the server does not accept them, or earlier ones still wait.
  void PutStatistics(v1::StatisticsReport report);
  // These are also dropped if the server does not understand them.
  void PutReplicas(v1::ReplicaDigests replicas);
  void PutOrigin(v1::NonFiniteOrigin origin);
  // Also dropped if earlier ones still wait.
  void PutOverview(v1::OverviewStep overview);
  void PutLog(v1::Log::Level level, std::string message);
  // Replaces the last state if that still waits, and both tell only that the
  // program runs: the server needs the newest step, not each.
  void PutState(const v1::StateUpdate& state);
  void PutCommandResult(uint64_t command_id, const absl::Status& status);
  void PutWatchpointStatus(v1::WatchpointStatus status);
  // Dropped if the server does not understand it.
  void PutRecordingStatus(v1::RecordingStatus status);
  // The last message: nothing that is added later is sent.
  void PutGoodbye(v1::Goodbye goodbye);

  // Waits for room. Returns false if the stream numbered `stream`, on which the
  // tensor was requested, has ended.
  bool PutTensor(v1::TensorData tensor, uint64_t stream);

  // Whether the newest server distinguishes hits that were absorbed. Takes no
  // lock.
  bool peer_knows_absorbed() const { return knows_absorbed_; }

  // The number of the current stream, from 1; 0 if there is none.
  uint64_t stream() const;

  // --- For the transport.

  // A stream was opened. Take waits until the server has accepted it.
  void OpenStream();
  // The capabilities of the server.
  struct Peer {
    // It confirms the hits that it has recorded.
    bool confirms_hits = false;
    bool takes_statistics = false;
    // It distinguishes hits that were absorbed.
    bool knows_absorbed = false;
    bool takes_recordings = false;
    bool compares_replicas = false;
    bool takes_origins = false;
    bool takes_overviews = false;
  };
  // The server accepted the stream: messages added from now on are sent.
  void BeginStream(const Peer& peer);
  // The server has recorded the hits up to this number.
  void Confirm(uint64_t through);
  // Nothing can be sent from now on. Messages of this stream are dropped.
  void EndStream();

  enum class Next {
    kMessage,
    // Something other than a queued message is to be sent; see Wake.
    kWoken,
    // The stream has ended, or all messages up to the goodbye were taken.
    kEnd,
  };
  // Waits for the next message. Statistics of short steps also wait for each
  // other, for a moment: whenever one is sent, two processes wake up.
  Next Take(v1::AgentMessage* message);
  // Whether Take would return a message at once. The sending thread.
  bool HasMessage() const;
  // A message that Take returned could not be sent.
  void PutBack(v1::AgentMessage message);

  // Has the next Take return kWoken, before any message. Any thread.
  void Wake();

 private:
  using Clock = std::chrono::steady_clock;
  enum class StreamState { kNone, kOpening, kLive };

  void Put(v1::AgentMessage message) GRAPHDBG_REQUIRES(mu_);
  // Whether there is nothing but statistics, and soon after the last ones.
  bool Gathers() const GRAPHDBG_REQUIRES(mu_);
  // Whether `state` has taken the place of the one that waits.
  bool ReplaceProgress(const v1::StateUpdate& state) GRAPHDBG_REQUIRES(mu_);
  void ReportDroppedHits() GRAPHDBG_REQUIRES(mu_);
  // Whether Take has something to return.
  bool HasNext() const GRAPHDBG_REQUIRES(mu_);
  // Whether the stream can no longer be sent to.
  bool Ended(uint64_t stream) const GRAPHDBG_REQUIRES(mu_);
  // Updates the counters for a message that leaves the queue.
  void CountTaken(const v1::AgentMessage& message) GRAPHDBG_REQUIRES(mu_);

  const std::chrono::milliseconds gathers_;
  mutable Mutex mu_;
  CondVar filled_;
  CondVar drained_;
  std::deque<v1::AgentMessage> queue_ GRAPHDBG_GUARDED_BY(mu_);
  // Hits that were sent on this stream and are not confirmed yet.
  std::deque<v1::AgentMessage> unconfirmed_ GRAPHDBG_GUARDED_BY(mu_);
  // The last state in the queue, if it tells that the program runs.
  v1::StateUpdate* progress_ GRAPHDBG_GUARDED_BY(mu_) = nullptr;
  Peer peer_ GRAPHDBG_GUARDED_BY(mu_);
  std::atomic<bool> knows_absorbed_{false};
  // The number of the newest hit.
  uint64_t last_hit_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // How many of each are in the queue, and for hits, unconfirmed.
  size_t hits_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  size_t logs_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  size_t statistics_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  size_t statistic_tensors_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // When the next statistics need not wait for others, and whether Take waits
  // for that.
  Clock::time_point next_statistics_ GRAPHDBG_GUARDED_BY(mu_);
  bool gathering_ GRAPHDBG_GUARDED_BY(mu_) = false;
  size_t overviews_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  size_t replicas_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  int64_t tensor_bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint64_t dropped_hits_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // The number of the current stream, or the last one.
  uint64_t streams_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  StreamState state_ GRAPHDBG_GUARDED_BY(mu_) = StreamState::kNone;
  bool woken_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // The goodbye was added.
  bool closed_ GRAPHDBG_GUARDED_BY(mu_) = false;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_OUTBOX_H_
