// Listens for HTTP and WebSocket connections and hands requests to a router.
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

#include "absl/status/statusor.h"
#include "server/http/router.h"

namespace graphdbg::http {

class Tls;

struct ServerOptions {
  // An address or "localhost"; beyond loopback with TLS only.
  std::string host = "127.0.0.1";
  // 0: a free one.
  uint16_t port = 0;
  // Null: plain HTTP.
  std::shared_ptr<Tls> tls;

  uint32_t max_connections = 1'024;
  // 431 above it.
  uint32_t max_header_bytes = 16 << 10;
  // 413 above it.
  uint64_t max_body_bytes = 1 << 20;
  // Of one message from a WebSocket's peer.
  uint64_t max_message_bytes = 64 << 10;

  // Between requests of one connection.
  std::chrono::milliseconds idle_timeout{60'000};
  // From the first byte of a request to the end of its header, and from there
  // to the end of its body; 408 after it.
  std::chrono::milliseconds read_timeout{15'000};
  // Without any byte taken by the peer.
  std::chrono::milliseconds write_timeout{30'000};

  // One line for each notable event. Called on any thread; empty: no log.
  std::function<void(std::string_view line)> log;
};

struct ServerCounters {
  uint64_t connections = 0;
  uint64_t connections_refused = 0;
  uint64_t open_connections = 0;
  uint64_t open_channels = 0;
  // By the status' first digit, from 1.
  std::array<uint64_t, 6> responses{};
};

// Every connection runs on a strand of its own over `executor`, whose context
// must outlive the server.
class Server {
 public:
  Server(boost::asio::any_io_executor executor,
         std::shared_ptr<const Router> router, ServerOptions options);
  // Stops.
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens and returns the port. Once. FAILED_PRECONDITION "needs_tls" for a
  // host beyond loopback without it, ALREADY_EXISTS "port_in_use", UNAVAILABLE
  // for other failures, each naming the address.
  absl::StatusOr<uint16_t> Start();

  // Accepts no more and breaks all connections. Any thread, any number of
  // times; does not wait.
  void Stop();

  // Any thread.
  ServerCounters counters() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_SERVER_H_
