// Who may hold how many connections.
#ifndef SERVER_HTTP_PLACES_H_
#define SERVER_HTTP_PLACES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::http {

struct PlaceLimits {
  uint32_t all = 1'024;
  // Places that only connections whose client has shown a credential may take.
  uint32_t reserved = 64;
  // Connections of one address whose client has shown none.
  uint32_t per_address = 256;
};

// The places of a server's connections. When they are all taken, or all that
// an address may have, the connection that has been idle longest makes room for
// a new one: that of a stranger if there is one. So connections that merely
// wait keep nobody out.
//
// Thread-safe.
class Places : public std::enable_shared_from_this<Places> {
 public:
  // The place of one connection, which is free again when this is destroyed.
  class Place {
   public:
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Whether the connection waits for a request, as it does at first. Returns
    // false if the connection has been asked to make room.
    bool SetIdle(bool idle);
    // The client has shown a credential. It stays known for the rest of the
    // connection.
    void MarkAuthenticated();

   private:
    friend class Places;
    struct Entry {
      std::string address;
      std::function<void()> close;
      bool idle = true;
      bool authenticated = false;
      // Asked to make room: it no longer counts.
      bool leaving = false;
      // The order in which connections became idle.
      uint64_t idle_since = 0;
    };
    using Entries = std::list<Entry>;

    Place(std::shared_ptr<Places> places, Entries::iterator entry)
        : places_(std::move(places)), entry_(entry) {}

    const std::shared_ptr<Places> places_;
    const Entries::iterator entry_;
  };

  explicit Places(PlaceLimits limits) : limits_(limits) {}

  // Null if no place is free and nobody can make room. `close` is called, on
  // any thread, to ask this connection to make room for another one.
  std::unique_ptr<Place> Take(const std::string& address,
                              std::function<void()> close)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Asks the connection that has been idle longest to close, for example
  // because the process is out of descriptors.
  void CloseOne() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Entries = Place::Entries;

  // Who may be asked to make room.
  using Filter = std::function<bool(const Place::Entry&)>;

  // The idle connection that should make room first, or end().
  Entries::iterator FindIdle(const Filter& filter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes that connection leave. Returns what closes it, or null if none is
  // idle.
  std::function<void()> Evict(const Filter& filter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PlaceLimits limits_;
  absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  uint64_t clock_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_PLACES_H_
