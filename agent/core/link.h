// The interface between the agent and the transport that carries its messages.
#ifndef AGENT_CORE_LINK_H_
#define AGENT_CORE_LINK_H_

#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// The agent as seen by its transport. Calls for one stream come from two
// threads, one that sends and one that receives. At most one stream is open at
// a time.
class Link {
 public:
  virtual ~Link() = default;

  // Returns the first message of a new stream.
  virtual v1::AgentMessage OpenStream() = 0;
  // Waits for the next message to send. Returns false if there is nothing more
  // to send on this stream; `graceful` is set to whether everything was sent.
  virtual bool Next(v1::AgentMessage* message, bool* graceful) = 0;
  // Whether Next has another message at hand, so that the last one may be sent
  // along with it. Called on the thread that calls Next.
  virtual bool HasNext() const = 0;
  // A message that Next returned could not be sent.
  virtual void PutBack(v1::AgentMessage message) = 0;

  // Called on the receiving thread.
  virtual void OnMessage(const v1::ServerMessage& message) = 0;
  // The receiving side has ended: Next returns false from now on.
  virtual void OnReceivingEnded() = 0;

  // The stream has ended, or could not be opened. Returns the delay until the
  // next attempt; absent if there is to be none.
  virtual std::optional<std::chrono::milliseconds> OnStreamEnded(
      const absl::Status& status) = 0;
};

// Carries messages on threads of its own.
class Transport {
 public:
  virtual ~Transport() = default;

  // Called once. `link` must outlive the transport.
  virtual void Start(Link* link) = 0;
  // Ends the current stream and opens no other. Does not wait; any thread.
  virtual void Cancel() = 0;
  // Waits until everything that Next returns has been sent, but at most for
  // `limit`, then cancels. Afterwards no thread of the transport runs. Must not
  // be called on one of them.
  virtual void Finish(std::chrono::milliseconds limit) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LINK_H_
