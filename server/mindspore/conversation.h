// One training process and the session's job that it is: a dialogue, the call
// that waits for an answer, and the way to the session.
#ifndef SERVER_MINDSPORE_CONVERSATION_H_
#define SERVER_MINDSPORE_CONVERSATION_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/client_files.h"
#include "server/mindspore/dialogue.h"
#include "server/mindspore/identity.h"
#include "server/mindspore/wait_call.h"

namespace graphdbg::mindspore {

// Threads: any; nothing blocks. Neither gRPC nor the session is called back
// while the lock is held, but for the session's ports, which only post.
class Conversation final : public std::enable_shared_from_this<Conversation> {
 public:
  // Shared by the conversations of a server.
  struct Shared {
    std::shared_ptr<jobs::AgentAcceptor> entrance;
    std::function<int64_t()> now_unix_nano;
    std::function<void(std::string_view)> log;
    // After which a call that waits is answered with nothing, so that it is
    // asked again: connections that look dead are cut by boxes in between.
    std::chrono::milliseconds refresh{25'000};
    // Where it is written down what has to outlive the server. Not null.
    std::shared_ptr<ClientFiles> files;
  };

  Conversation(std::shared_ptr<const Shared> shared, std::string peer);
  // One of an earlier server; lost, until the client asks.
  Conversation(std::shared_ptr<const Shared> shared, const SavedClient& saved);

  // --- The client's calls; in its order ------------------------------------
  void Met(const debugger::Metadata& metadata);
  void Graphs(std::vector<debugger::GraphProto> graphs);
  void Hits(std::vector<debugger::WatchpointHit> hits);
  // Gives the views to `take`.
  void Views(const std::function<void(ViewDesk&)>& take);
  void Wait(std::shared_ptr<WaitCall> call, const debugger::Metadata& metadata);
  void Done(const debugger::Metadata& metadata);
  void Heartbeat(std::chrono::seconds period);

  // --- Its connection ------------------------------------------------------
  void WaitedLong(WaitCall* call);
  void WaitBroken(WaitCall* call);
  // The client is gone; a later call brings it back.
  void Lost();
  // It is not waited for any more.
  void Forget();
  // It calls from elsewhere now, and said this before it said who it is.
  void MovedTo(const std::string& peer,
               std::vector<debugger::WatchpointHit> hits);
  std::vector<debugger::WatchpointHit> TakeHits();

  // --- What it is ------------------------------------------------------------
  std::string peer() const;
  // Absent until it has said something of itself.
  std::optional<Identity> identity() const;
  bool has_graph() const;
  bool lost() const;
  // Unix time in nanoseconds; only of one that is.
  int64_t lost_since() const;
  uint64_t step() const;
  bool ended() const;
  // Whether one of its calls waits for an answer.
  bool waits() const;
  // No heartbeat came where there should have been some.
  bool silent() const;

 private:
  class Link;

  void Locked(const std::function<void()>& change);
  // These: with the lock held.
  void Identify(const debugger::Metadata& metadata);
  void Heard();
  // Writes down what has changed, before a client or the session hears of it.
  void Save();
  void WantSession();
  void TellGraphs();
  void Detach();
  jobs::AgentHello Hello() const;
  void DeliverReports();
  bool MayDeliver() const;
  void Delivered(uint64_t attachment, const absl::Status& dealt_with);
  std::shared_ptr<WaitCall> TakeAnswer(debugger::EventReply& reply);

  // Without the lock.
  void Attach(jobs::AgentHello hello, uint64_t attachment);
  void Attached(uint64_t attachment,
                absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port);
  void Send(uint64_t attachment, jobs::AgentOrder order);
  void Closed(uint64_t attachment, const absl::Status& status);

  const std::shared_ptr<const Shared> shared_;

  mutable std::mutex mu_;
  // All guarded by mu_.
  std::string peer_;
  std::optional<Identity> identity_;
  std::string ms_version_;
  const std::string incarnation_;
  Dialogue dialogue_;
  // What is written down: the last state, and which graphs (their hashes).
  std::string saved_;
  std::set<size_t> saved_graphs_;
  std::shared_ptr<WaitCall> waiting_;
  bool lost_ = false;
  int64_t lost_since_ = 0;
  std::chrono::seconds heartbeat_period_{0};
  int64_t last_heard_unix_nano_ = 0;

  // Counts attachments; what belongs to an earlier one is void.
  uint64_t attachment_ = 0;
  enum class Session {
    kNone,
    kComing,
    kThere,
    kRefused
  } session_ = Session::kNone;
  // A job of the session has had its graph.
  bool ever_attached_ = false;
  // How many other jobs have the name that it would have.
  int namesakes_ = 0;
  std::shared_ptr<jobs::AgentPort> port_;
  // Not handed to the session yet, which takes one at a time: a pause is not
  // to be seen before the hits that caused it.
  std::deque<jobs::AgentReport> backlog_;
  // Handed over and not dealt with; several only of hits.
  size_t delivering_ = 0;
  bool delivering_hits_ = false;
  // To be said to the session once the lock is free: it may answer at once.
  std::optional<jobs::AgentHello> hello_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_CONVERSATION_H_
