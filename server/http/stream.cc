#include "server/http/stream.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace graphdbg::http {

namespace asio = boost::asio;

asio::awaitable<Stream::Error> Stream::Handshake() {
  Error ec;
  if (tls_) {
    co_await tls_->async_handshake(
        asio::ssl::stream_base::server,
        asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return ec;
}

asio::awaitable<void> Stream::ShutDownTls() {
  Error ignored;
  if (tls_) {
    co_await tls_->async_shutdown(
        asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace graphdbg::http
