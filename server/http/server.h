// Accepts HTTP and WebSocket connections and passes requests to a router.
#ifndef SERVER_HTTP_SERVER_H_
#define SERVER_HTTP_SERVER_H_

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/http/places.h"
#include "server/http/router.h"

namespace graphdbg::http {

class Tls;

struct ServerOptions {
  // An address or "localhost". Addresses other than loopback require TLS.
  std::string host = "127.0.0.1";
  // 0 picks a free port.
  uint16_t port = 0;
  // Further ports that a Host header may name, because tunnels to this server
  // have them.
  std::vector<uint16_t> forwarded_ports;
  // See Site.
  std::string frame_ancestors;
  std::function<bool(const Request&)> is_embedded;
  // Null means plain HTTP.
  std::shared_ptr<Tls> tls;

  // When they are all taken, idle connections make room for new ones.
  PlaceLimits places;
  // Exceeding it results in status 431.
  uint32_t max_header_bytes = 16 << 10;
  // The longest message that a WebSocket accepts.
  uint64_t max_message_bytes = 64 << 10;

  // From the connection to the end of the first request's header, with the TLS
  // handshake.
  std::chrono::milliseconds first_request_timeout{10'000};
  // The longest pause between requests on one connection.
  std::chrono::milliseconds idle_timeout{60'000};
  // Applies from the first byte of a request to the end of its header, and
  // again from there to the end of its body or, for an upload, to the end of
  // each 256 KiB of it. Exceeding it results in status 408.
  std::chrono::milliseconds read_timeout{10'000};
  // The longest time in which the peer accepts no data.
  std::chrono::milliseconds write_timeout{30'000};

  // Reserves memory for a request's body until the returned object is
  // destroyed. If it returns an error, the response has the status 503. May be
  // null.
  std::function<absl::StatusOr<std::shared_ptr<const void>>(uint64_t bytes)>
      reserve_body;
  // WebSockets: the longest handshake, and the longest silence of a peer, which
  // is sent a ping after half of it.
  std::chrono::milliseconds channel_handshake_timeout{10'000};
  std::chrono::milliseconds channel_idle_timeout{60'000};

  // Receives one line for each notable event, on any thread. May be null.
  std::function<void(std::string_view line)> log;
};

struct ServerCounters {
  uint64_t connections = 0;
  uint64_t connections_refused = 0;
  uint64_t open_connections = 0;
  uint64_t open_channels = 0;
  // Indexed by the first digit of the status.
  std::array<uint64_t, 6> responses{};
};

// Each connection runs on its own strand over `executor`, whose context must
// outlive the server.
class Server {
 public:
  Server(boost::asio::any_io_executor executor,
         std::shared_ptr<const Router> router, ServerOptions options);
  // Calls Stop().
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts listening and returns the port. Call it once. Errors name the
  // address: FAILED_PRECONDITION "needs_tls" for a host other than loopback
  // without TLS, ALREADY_EXISTS "port_in_use", and UNAVAILABLE for other
  // failures.
  absl::StatusOr<uint16_t> Start();

  // Stops accepting connections and closes all open ones, without waiting for
  // them. May be called on any thread, any number of times.
  void Stop();

  // May be called on any thread.
  ServerCounters counters() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_SERVER_H_
