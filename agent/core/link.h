// What lies between the agent and whatever carries its messages.
#ifndef AGENT_CORE_LINK_H_
#define AGENT_CORE_LINK_H_

#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// The agent, as its transport sees it. Calls of one stream come from two
// threads, one that sends and one that receives; streams follow each other.
class Link {
 public:
  virtual ~Link() = default;

  // The first message of a stream that was opened.
  virtual v1::AgentMessage OpenStream() = 0;
  // Waits for the next message to send. False: there is nothing more to send
  // on this stream; `graceful` says whether all was sent.
  virtual bool Next(v1::AgentMessage* message, bool* graceful) = 0;
  // What Next gave was not sent.
  virtual void PutBack(v1::AgentMessage message) = 0;

  // On the receiving thread.
  virtual void OnMessage(const v1::ServerMessage& message) = 0;
  // The receiving side has ended: Next will answer false.
  virtual void OnReceivingEnded() = 0;

  // The stream is over, or could not be opened. When to try again; absent:
  // never.
  virtual std::optional<std::chrono::milliseconds> OnStreamEnded(
      const absl::Status& status) = 0;
};

// Carries messages on threads of its own.
class Transport {
 public:
  virtual ~Transport() = default;

  // Once. `link` must outlive the transport.
  virtual void Start(Link* link) = 0;
  // Ends the present stream and opens no other. Does not wait; any thread.
  virtual void Cancel() = 0;
  // Waits until what Next gives is sent, at most so long, then cancels. No
  // thread of the transport runs after it. Not on one of its threads.
  virtual void Finish(std::chrono::milliseconds limit) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LINK_H_
