// Connects one training process to its job: the protocol's state, the
// wait-for-command call that is waiting for a reply, and the port to the job.
#ifndef SERVER_MINDSPORE_CLIENT_CONNECTION_H_
#define SERVER_MINDSPORE_CLIENT_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/base/memory_budget.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/client_files.h"
#include "server/mindspore/client_protocol.h"
#include "server/mindspore/identity.h"
#include "server/mindspore/wait_call.h"

namespace graphdbg::mindspore {

// Thread-safe; no function blocks. Calls neither gRPC nor the job's acceptor
// while it holds its lock. It does call the job's port, which only posts.
class ClientConnection final
    : public std::enable_shared_from_this<ClientConnection> {
 public:
  // State that all connections of a server share.
  struct Shared {
    std::shared_ptr<jobs::AgentAcceptor> acceptor;
    std::function<int64_t()> now_unix_nano;
    // The time of a clock that is never set.
    std::function<int64_t()> steady_nano;
    std::function<void(std::string_view)> log;
    // A wait-for-command call gets an empty reply after this time, upon which
    // the client sends another one. Middleboxes close connections that seem
    // idle.
    std::chrono::milliseconds refresh{25'000};
    // The memory budget of the server. May be null.
    std::shared_ptr<MemoryBudget> memory;
    // Stores the state that outlives the server. Not null.
    std::shared_ptr<ClientFiles> files;
  };

  ClientConnection(std::shared_ptr<const Shared> shared, std::string peer);
  // Restores a client of an earlier server. It counts as disconnected until it
  // waits for a command.
  ClientConnection(std::shared_ptr<const Shared> shared,
                   const SavedClient& saved);

  // --- Calls from the client, in its order ---------------------------------
  void OnMetadata(const debugger::Metadata& metadata) ABSL_LOCKS_EXCLUDED(mu_);
  void OnGraphs(std::vector<debugger::GraphProto> graphs)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnHits(std::vector<debugger::WatchpointHit> hits)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Passes the tensor fetcher to `take`.
  void OnTensors(const std::function<void(TensorFetcher&)>& take)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnWait(std::shared_ptr<WaitCall> call,
              const debugger::Metadata& metadata) ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone(const debugger::Metadata& metadata) ABSL_LOCKS_EXCLUDED(mu_);
  void OnHeartbeat(std::chrono::seconds period) ABSL_LOCKS_EXCLUDED(mu_);

  // --- Events of the network connection ------------------------------------
  // Answers a wait-for-command call that has been held for too long.
  void RefreshWait() ABSL_LOCKS_EXCLUDED(mu_);
  void OnWaitCancelled(WaitCall* call) ABSL_LOCKS_EXCLUDED(mu_);
  // The client may reconnect later.
  void OnDisconnect() ABSL_LOCKS_EXCLUDED(mu_);
  // The server no longer expects the client to reconnect.
  void Discard() ABSL_LOCKS_EXCLUDED(mu_);
  // The client has reconnected from `peer`, where it sent `hits` before it
  // could be identified.
  void MoveTo(const std::string& peer,
              std::vector<debugger::WatchpointHit> hits)
      ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<debugger::WatchpointHit> TakeHits() ABSL_LOCKS_EXCLUDED(mu_);

  // --- State ---------------------------------------------------------------
  std::string peer() const ABSL_LOCKS_EXCLUDED(mu_);
  // Absent until the client has sent its metadata.
  std::optional<Identity> identity() const ABSL_LOCKS_EXCLUDED(mu_);
  bool has_graph() const ABSL_LOCKS_EXCLUDED(mu_);
  bool disconnected() const ABSL_LOCKS_EXCLUDED(mu_);
  // Unix time in nanoseconds. Valid if the client is disconnected.
  int64_t disconnected_since() const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t step() const ABSL_LOCKS_EXCLUDED(mu_);
  bool ended() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the client waits for a command.
  bool waiting() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether several heartbeats are overdue.
  bool silent() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class Link;
  class Update;

  enum class Attachment { kNone, kPending, kAttached, kRefused };

  // The work that remains after an update, done without the lock.
  struct FollowUp {
    std::shared_ptr<WaitCall> call;
    debugger::EventReply reply;
    std::optional<jobs::AgentHello> hello;
    uint64_t attachment_id = 0;
  };
  FollowUp FinishUpdate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run(FollowUp follow_up) ABSL_LOCKS_EXCLUDED(mu_);

  void Identify(const debugger::Metadata& metadata)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordActivity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Stores what has changed, before the client or the job learns of it.
  void Save() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RequestAttachment() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReportGraphs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Detach() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Lets the process run without debugging.
  void Release(const absl::Status& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  jobs::AgentHello Hello() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DeliverReports() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool CanDeliver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes the call that is waiting, if there is a reply for it.
  std::shared_ptr<WaitCall> TakeAnswerable(debugger::EventReply& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<WaitCall> TakeWaiting(const WaitCall* call)
      ABSL_LOCKS_EXCLUDED(mu_);
  void HandleAttached(absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Attach(jobs::AgentHello hello, uint64_t attachment_id);
  // Events from the job. They are ignored if the attachment has ended.
  void OnAttached(uint64_t attachment_id,
                  absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnOrder(uint64_t attachment_id, const jobs::AgentOrder& order)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnHitsStored(uint64_t attachment_id, uint64_t through)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnDelivered(uint64_t attachment_id, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnClosed(uint64_t attachment_id, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<const Shared> shared_;
  const std::string incarnation_;

  mutable absl::Mutex mu_;
  std::string peer_ ABSL_GUARDED_BY(mu_);
  std::optional<Identity> identity_ ABSL_GUARDED_BY(mu_);
  std::string ms_version_ ABSL_GUARDED_BY(mu_);
  ClientProtocol protocol_ ABSL_GUARDED_BY(mu_);
  // The state that was saved last, and the hashes of the saved graphs.
  std::string saved_ ABSL_GUARDED_BY(mu_);
  std::set<size_t> saved_graphs_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<WaitCall> waiting_ ABSL_GUARDED_BY(mu_);
  bool disconnected_ ABSL_GUARDED_BY(mu_) = false;
  int64_t disconnected_since_ ABSL_GUARDED_BY(mu_) = 0;
  std::chrono::seconds heartbeat_period_ ABSL_GUARDED_BY(mu_){0};
  int64_t last_activity_steady_nano_ ABSL_GUARDED_BY(mu_) = 0;

  // Incremented with each attachment to a job. Events that carry the number of
  // an earlier attachment are ignored.
  uint64_t attachment_id_ ABSL_GUARDED_BY(mu_) = 0;
  Attachment attachment_ ABSL_GUARDED_BY(mu_) = Attachment::kNone;
  // Whether a job has received the graphs.
  bool ever_attached_ ABSL_GUARDED_BY(mu_) = false;
  // The number of other jobs with the same name.
  int duplicate_names_ ABSL_GUARDED_BY(mu_) = 0;
  std::shared_ptr<jobs::AgentPort> port_ ABSL_GUARDED_BY(mu_);
  // Reports that have not been delivered yet. They are delivered one at a time,
  // so that clients of the server do not see a pause before the hits that
  // caused it.
  std::deque<jobs::AgentReport> backlog_ ABSL_GUARDED_BY(mu_);
  // Reports that the job has not processed yet: one, or several hits.
  size_t delivering_ ABSL_GUARDED_BY(mu_) = 0;
  bool delivering_hits_ ABSL_GUARDED_BY(mu_) = false;
  // Sent after the lock is released, since the acceptor may answer immediately.
  std::optional<jobs::AgentHello> hello_ ABSL_GUARDED_BY(mu_);
};

// Holds the lock of a connection for its lifetime. Its destructor delivers the
// resulting reports to the job and replies to the client, if it has a command.
class ABSL_SCOPED_LOCKABLE ClientConnection::Update {
 public:
  explicit Update(ClientConnection* connection)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(connection->mu_)
      : connection_(connection) {
    connection_->mu_.Lock();
  }
  Update(const Update&) = delete;
  Update& operator=(const Update&) = delete;

  ~Update() ABSL_UNLOCK_FUNCTION();

 private:
  ClientConnection* const connection_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CLIENT_CONNECTION_H_
