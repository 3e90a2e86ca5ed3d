#include "server/http/stream.h"

#include <boost/asio/bind_executor.hpp>
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

void Stream::StartRead(const MutableBuffers& into, Handler handler) {
  auto on_strand = asio::bind_executor(get_executor(), std::move(handler));
  if (tls_) {
    tls_->async_read_some(into, std::move(on_strand));
  } else {
    tcp_.async_read_some(into, std::move(on_strand));
  }
}

void Stream::StartWrite(const ConstBuffers& from, Handler handler) {
  auto on_strand = asio::bind_executor(get_executor(), std::move(handler));
  if (tls_) {
    tls_->async_write_some(from, std::move(on_strand));
  } else {
    tcp_.async_write_some(from, std::move(on_strand));
  }
}

}  // namespace graphdbg::http
