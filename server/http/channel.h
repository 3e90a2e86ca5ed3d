// A WebSocket over a connection's stream. Uses Beast: included by this
// package's sources only.
#ifndef SERVER_HTTP_CHANNEL_H_
#define SERVER_HTTP_CHANNEL_H_

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <functional>
#include <memory>
#include <string>

#include "server/http/message.h"
#include "server/http/server.h"
#include "server/http/stream.h"

namespace graphdbg::http {

class Channel : public MessageChannel {
 public:
  // `owner` keeps `stream` alive, and what `on_authenticated` uses, which is
  // called when the peer has shown a credential.
  Channel(std::shared_ptr<void> owner, Stream& stream,
          const ServerOptions& options, std::function<void()> on_authenticated);

  // Performs the handshake and returns whether it succeeded.
  boost::asio::awaitable<bool> Accept(
      boost::beast::http::request<boost::beast::http::string_body> request);

  boost::asio::awaitable<absl::StatusOr<std::string>> Receive() override;
  boost::asio::awaitable<absl::Status> Send(std::string message) override;
  boost::asio::awaitable<void> Close(uint16_t code,
                                     std::string reason) override;
  void Abort() override;
  void MarkAuthenticated() override;

 private:
  const std::shared_ptr<void> owner_;
  const std::function<void()> on_authenticated_;
  boost::beast::websocket::stream<Stream&, false> stream_;
  boost::beast::flat_buffer buffer_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_CHANNEL_H_
