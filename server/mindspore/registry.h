// The clients of a server. Calls do not identify their client, so they are
// assigned by the network address that they come from. A client that reconnects
// is recognized by its device.
#ifndef SERVER_MINDSPORE_REGISTRY_H_
#define SERVER_MINDSPORE_REGISTRY_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/mindspore/client_connection.h"

namespace graphdbg::mindspore {

// Thread-safe.
class Registry {
 public:
  using ConnectionPtr = std::shared_ptr<ClientConnection>;

  // Restores the clients of an earlier server.
  explicit Registry(std::shared_ptr<const ClientConnection::Shared> shared);

  // Returns the client at this address. Creates it if necessary.
  ConnectionPtr Get(const std::string& peer) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the client for a call that opens a session: a new one if the
  // previous client at this address has ended.
  ConnectionPtr GetForMetadata(const std::string& peer)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the client for a call that continues a session. If no client has
  // opened a session from this address, it may be a disconnected one.
  ConnectionPtr GetOrReconnect(const std::string& peer,
                               const debugger::Metadata& metadata)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Removes the client that has been disconnected for the longest time, with
  // its files.
  void DiscardOldest() ABSL_LOCKS_EXCLUDED(mu_);

  // Detects disconnected clients. Call it every few seconds.
  void Sweep() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // If several clients match, returns the one whose step is closest.
  ConnectionPtr FindDisconnected(const Identity& identity, uint64_t step) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveExpired() ABSL_LOCKS_EXCLUDED(mu_);
  // The keys of disconnected clients, the oldest first.
  std::vector<std::pair<int64_t, std::string>> Disconnected() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Discard(const std::string& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  ConnectionPtr& Slot(const std::string& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const ClientConnection::Shared> shared_;
  mutable absl::Mutex mu_;
  std::map<std::string, ConnectionPtr> by_peer_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_REGISTRY_H_
