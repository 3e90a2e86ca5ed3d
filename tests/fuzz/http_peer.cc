#include "tests/fuzz/http_peer.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Longer than any time limit of the server for a peer that has gone.
constexpr std::chrono::seconds kPatience{20};

ServerOptions Options() {
  ServerOptions options;
  // For a Host header without a port.
  options.forwarded_ports = {80};
  return options;
}

}  // namespace

HttpPeer::HttpPeer(std::shared_ptr<const Router> router)
    : server_(io_.get_executor(), std::move(router), Options()) {
  const absl::StatusOr<uint16_t> port = server_.Start();
  if (!port.ok()) std::abort();
  port_ = *port;
}

std::string HttpPeer::Exchange(std::string_view bytes) {
  asio::io_context context;
  tcp::socket socket(context);
  error_code ec;
  socket.connect({asio::ip::address_v4::loopback(), port_}, ec);
  if (ec) std::abort();
  // Leaves no port in the state TIME_WAIT.
  socket.set_option(asio::socket_base::linger(true, 0), ec);
  const size_t size = std::min(bytes.size(), kMaxBytes);
  asio::write(socket, asio::buffer(bytes.data(), size), ec);
  socket.shutdown(tcp::socket::shutdown_send, ec);
  socket.non_blocking(true, ec);
  std::string answer;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    io_.poll();
    std::array<char, 4096> piece;
    error_code end;
    answer.append(piece.data(), socket.read_some(asio::buffer(piece), end));
    if (end == asio::error::would_block) {
      if (std::chrono::steady_clock::now() > give_up) std::abort();
      io_.run_one_for(std::chrono::milliseconds(10));
    } else if (end) {
      break;
    }
  }
  while (server_.counters().open_connections > 0) {
    if (std::chrono::steady_clock::now() > give_up) std::abort();
    io_.run_one_for(std::chrono::milliseconds(10));
  }
  return answer;
}

}  // namespace graphdbg::http
