// What waits to be sent to the server.
#ifndef AGENT_CORE_OUTBOX_H_
#define AGENT_CORE_OUTBOX_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// Bounded. Training threads put hits and states in and never wait; only
// PutTensor waits, and is for the agent's own thread. Hits that find no room
// are counted, and a Log says how many as soon as there is room again.
//
// Hits, logs and a goodbye outlive a broken stream; all else is about that
// stream and goes with it. Hits are numbered from 1, and where the server
// confirms that it has recorded them, those that it has not are sent again on
// the next stream.
class Outbox {
 public:
  static constexpr size_t kMaxHits = 10'000;
  static constexpr size_t kMaxLogs = 100;
  static constexpr size_t kMaxStatistics = 4;
  static constexpr int64_t kMaxTensorBytes = 8 << 20;

  void PutHit(v1::Hit hit);
  // Left out if the server does not know them, or earlier ones still wait.
  void PutStatistics(v1::StatisticsReport report);
  void PutLog(v1::Log::Level level, std::string message);
  void PutState(const v1::StateUpdate& state);
  void PutCommandResult(uint64_t command_id, const absl::Status& status);
  void PutWatchpointStatus(v1::WatchpointStatus status);
  // The last message: what is put later is not sent.
  void PutGoodbye(v1::Goodbye goodbye);

  // Waits for room. False if the stream ended meanwhile or is not the one
  // numbered `stream`: the tensor has nobody to go to.
  bool PutTensor(v1::TensorData tensor, uint64_t stream);

  // The present stream, from 1; 0 if there is none.
  uint64_t stream() const;

  // --- For the transport.

  // A stream was opened; Take waits until it is welcome.
  void OpenStream();
  // The server has welcomed the stream: what is put in from now on is sent.
  struct Peer {
    // It says which hits it has recorded.
    bool confirms_hits = false;
    bool takes_statistics = false;
  };
  void BeginStream(const Peer& peer);
  // The hits up to this number are recorded.
  void Confirm(uint64_t through);
  // Nothing can be sent from now on; what was about this stream is gone.
  void EndStream();

  enum class Next {
    kMessage,
    // Something else than a message is to be sent; see Wake.
    kWoken,
    // The stream is over, or the goodbye and all before it were taken.
    kEnd,
  };
  // Waits for the next message.
  Next Take(v1::AgentMessage* message);
  // A message that Take gave could not be sent.
  void PutBack(v1::AgentMessage message);

  // Makes the next Take answer kWoken, before any message. Any thread.
  void Wake();

 private:
  // With mu_ held.
  void Put(v1::AgentMessage message);
  bool SurvivesStream(const v1::AgentMessage& message) const;
  void ReportDroppedHits();

  mutable std::mutex mu_;
  std::condition_variable filled_;
  std::condition_variable drained_;
  // All below guarded by mu_.
  std::deque<v1::AgentMessage> queue_;
  // Hits that were taken on this stream and are not confirmed.
  std::deque<v1::AgentMessage> unconfirmed_;
  Peer peer_;
  uint64_t last_hit_ = 0;
  // In the queue or unconfirmed.
  size_t hits_ = 0;
  size_t logs_ = 0;
  size_t statistics_ = 0;
  int64_t tensor_bytes_ = 0;
  uint64_t dropped_hits_ = 0;
  uint64_t streams_ = 0;
  enum { kNoStream, kOpening, kLive } state_ = kNoStream;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_OUTBOX_H_
