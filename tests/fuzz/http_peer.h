// A real HTTP server on loopback and a peer that sends it bytes. Both run on
// the calling thread, so that an input that hangs or crashes the server does
// the same to the fuzz target.
#ifndef TESTS_FUZZ_HTTP_PEER_H_
#define TESTS_FUZZ_HTTP_PEER_H_

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/server.h"

namespace graphdbg::http {

class HttpPeer {
 public:
  // Bytes of an input beyond this are not sent: the peer reads only after it
  // has sent everything.
  static constexpr size_t kMaxBytes = 8 << 10;

  explicit HttpPeer(std::shared_ptr<const Router> router);

  // Sends the bytes over a new connection and ends its own direction. Returns
  // all that the server sent until it closed the connection. Aborts if it does
  // not close it.
  std::string Exchange(std::string_view bytes);

 private:
  boost::asio::io_context io_;
  Server server_;
  uint16_t port_ = 0;
};

}  // namespace graphdbg::http

#endif  // TESTS_FUZZ_HTTP_PEER_H_
