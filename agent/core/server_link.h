// The agent's side of the conversation with the server.
#ifndef AGENT_CORE_SERVER_LINK_H_
#define AGENT_CORE_SERVER_LINK_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/core/captures.h"
#include "agent/core/config.h"
#include "agent/core/gate.h"
#include "agent/core/graph_sender.h"
#include "agent/core/link.h"
#include "agent/core/node_table.h"
#include "agent/core/outbox.h"
#include "agent/core/rechecker.h"
#include "agent/core/recording_control.h"
#include "agent/core/requested_nodes.h"
#include "agent/core/server_connection.h"
#include "agent/core/tensor_requests.h"
#include "agent/core/watch_table.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// Collects the messages to send, and passes each message of the server to the
// object that handles it. Runs on the transport's threads, see Link.
class ServerLink final : public Link {
 public:
  // All must outlive this.
  struct Parts {
    const Config* config;
    NodeTable* nodes;
    WatchTable* watch;
    RequestedNodes* requested;
    Outbox* outbox;
    Gate* gate;
    TensorRequests* tensor_requests;
    Captures* captures;
    Rechecker* rechecker;
    RecordingControl* recordings;
    ServerConnection* connection;
  };
  struct Callbacks {
    // False once the agent has detached.
    std::function<bool()> live;
    std::function<v1::Hello()> make_hello;
    // Watchpoints or requests have changed.
    std::function<void()> update_interest;
    // There is work for the agent's own thread.
    std::function<void()> wake_worker;
    // The server found this by comparing ranks.
    std::function<void(const v1::Finding& finding)> report;
    // The server refused the agent; `line` is for the user.
    std::function<void(const std::string& line)> detach;
  };
  ServerLink(const Parts& parts, Callbacks callbacks)
      : parts_(parts),
        callbacks_(std::move(callbacks)),
        graph_(parts.nodes, parts.config->source_files) {}

  v1::AgentMessage OpenStream() override;
  bool Next(v1::AgentMessage* message, bool* graceful) override;
  // Not after a part of the graph, for which Next may wait for an answer.
  bool HasNext() const override {
    return last_was_queued_ && parts_.outbox->HasMessage();
  }
  void PutBack(v1::AgentMessage message) override;
  void OnMessage(const v1::ServerMessage& message) override;
  void OnReceivingEnded() override;
  std::optional<std::chrono::milliseconds> OnStreamEnded(
      const absl::Status& status) override;

 private:
  void Handle(const v1::ServerMessage& message);
  // Answers an order that is beyond what the job's owner allows.
  void Refuse(const v1::ServerMessage& message, const absl::Status& status);
  void OnWelcome(const v1::Welcome& welcome);
  void OnCommand(const v1::Command& command);
  void OnContinueTo(const v1::Command& command);
  void OnCatchTensor(const v1::CatchTensor& request);
  void OnSetWatchpoint(const v1::SetWatchpoint& watchpoint);
  // `count` is the number of known nodes that the watchpoint covers.
  void PutWatchpointStatus(const v1::SetWatchpoint& watchpoint,
                           const absl::StatusOr<uint32_t>& count);

  const Parts parts_;
  const Callbacks callbacks_;
  GraphSender graph_;
  // The last message came from the outbox. Used by the sending thread only.
  bool last_was_queued_ = false;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SERVER_LINK_H_
