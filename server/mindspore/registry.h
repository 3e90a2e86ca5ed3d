// All conversations of a server: which call belongs to which. Calls carry no
// name, so a conversation is found by the connection it comes through, and a
// client that has lost its connection by what it says of its device.
#ifndef SERVER_MINDSPORE_REGISTRY_H_
#define SERVER_MINDSPORE_REGISTRY_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/mindspore/conversation.h"

namespace graphdbg::mindspore {

// Threads: any.
class Registry {
 public:
  using ConversationPtr = std::shared_ptr<Conversation>;

  // With the clients that an earlier server had.
  explicit Registry(std::shared_ptr<const Conversation::Shared> shared);

  // Of this connection; a new one if it is.
  ConversationPtr Of(const std::string& peer);
  // Of a client that opens a session: a new one if that of its connection has
  // ended.
  ConversationPtr ForMetadata(const std::string& peer);
  // Of a client that asks, or ends. If it has not introduced itself through
  // this connection it may be one that was lost.
  ConversationPtr ForKnown(const std::string& peer,
                           const debugger::Metadata& metadata);

  // Notices clients that are gone. To be called every few seconds.
  void Sweep();

 private:
  // Of several the one that stands nearest to this step.
  ConversationPtr FindLost(const Identity& identity, uint64_t step) const;
  void ForgetLongLost();
  ConversationPtr& Slot(const std::string& peer);

  const std::shared_ptr<const Conversation::Shared> shared_;
  mutable std::mutex mu_;
  // Guarded by mu_.
  std::map<std::string, ConversationPtr> by_peer_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_REGISTRY_H_
