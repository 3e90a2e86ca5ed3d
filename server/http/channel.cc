#include "server/http/channel.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <utility>

#include "server/http/guard.h"

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;
namespace ws = boost::beast::websocket;
using boost::system::error_code;

auto Into(error_code& ec) {
  return asio::redirect_error(asio::use_awaitable, ec);
}

absl::Status ToStatus(const error_code& ec) {
  if (ec == ws::error::closed) return absl::CancelledError("closed");
  if (ec == ws::error::message_too_big) {
    return absl::ResourceExhaustedError("the message exceeds the size limit");
  }
  return absl::UnavailableError(ec.message());
}

}  // namespace

Channel::Channel(std::shared_ptr<void> owner, Stream& stream,
                 const ServerOptions& options,
                 std::function<void()> on_authenticated)
    : owner_(std::move(owner)),
      on_authenticated_(std::move(on_authenticated)),
      stream_(stream) {
  // Beast sends a ping after half of the idle time. Compression is compiled out
  // (see stream_), so a small message cannot become a large one.
  stream_.set_option(ws::stream_base::timeout{
      options.channel_handshake_timeout, options.channel_idle_timeout, true});
  stream_.read_message_max(options.max_message_bytes);
  stream_.text(true);
  stream_.set_option(ws::stream_base::decorator([](ws::response_type& reply) {
    Response headers;
    AddSecurityHeaders(headers);
    for (const auto& [name, value] : headers.headers.fields()) {
      reply.set(name, value);
    }
  }));
}

asio::awaitable<bool> Channel::Accept(
    boost::beast::http::request<boost::beast::http::string_body> request) {
  error_code ec;
  co_await stream_.async_accept(request, Into(ec));
  co_return !ec;
}

asio::awaitable<absl::StatusOr<std::string>> Channel::Receive() {
  error_code ec;
  buffer_.clear();
  co_await stream_.async_read(buffer_, Into(ec));
  if (ec) co_return ToStatus(ec);
  co_return boost::beast::buffers_to_string(buffer_.data());
}

asio::awaitable<absl::Status> Channel::Send(std::string message) {
  error_code ec;
  co_await stream_.async_write(asio::buffer(message), Into(ec));
  if (ec) co_return ToStatus(ec);
  co_return absl::OkStatus();
}

asio::awaitable<void> Channel::Close(uint16_t code, std::string reason) {
  error_code ec;
  co_await stream_.async_close(
      ws::close_reason(static_cast<ws::close_code>(code), reason), Into(ec));
}

void Channel::MarkAuthenticated() { on_authenticated_(); }

void Channel::Abort() { stream_.next_layer().Close(); }

}  // namespace graphdbg::http
