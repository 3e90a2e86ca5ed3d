// The byte stream of one connection: TCP, or TLS over TCP. Uses Beast: included
// by this package's sources only.
#ifndef SERVER_HTTP_STREAM_H_
#define SERVER_HTTP_STREAM_H_

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace graphdbg::http {

// Implements Beast's AsyncStream concept. Use it only on its socket's strand.
class Stream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using Error = boost::system::error_code;

  // Null means plain TCP.
  Stream(boost::asio::ip::tcp::socket socket,
         std::shared_ptr<boost::asio::ssl::context> tls)
      : tcp_(std::move(socket)), tls_context_(std::move(tls)) {
    if (tls_context_) tls_.emplace(tcp_, *tls_context_);
  }

  executor_type get_executor() noexcept { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  // Closes the connection if a read or write has not completed by then.
  void ExpiresAfter(std::chrono::milliseconds limit) {
    tcp_.expires_after(limit);
  }
  void ExpiresNever() { tcp_.expires_never(); }

  // The TLS handshake and the TLS close notification. They do nothing for plain
  // TCP.
  boost::asio::awaitable<Error> Handshake();
  boost::asio::awaitable<void> ShutDownTls();

  void Close() {
    Error ignored;
    socket().close(ignored);
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, size_t)>(
        [this](auto handler, const MutableBuffers& into) {
          StartRead(into, std::move(handler));
        },
        token, First<MutableBuffers>(buffers));
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, size_t)>(
        [this](auto handler, const ConstBuffers& from) {
          StartWrite(from, std::move(handler));
        },
        token, First<ConstBuffers>(buffers));
  }

 private:
  // Types of buffers and handlers are erased here: otherwise, each of Beast's
  // operations would be compiled for each of the two streams below.
  static constexpr size_t kMaxBuffers = 16;
  using MutableBuffers =
      boost::container::static_vector<boost::asio::mutable_buffer, kMaxBuffers>;
  using ConstBuffers =
      boost::container::static_vector<boost::asio::const_buffer, kMaxBuffers>;
  using Handler = boost::asio::any_completion_handler<void(Error, size_t)>;

  // The first buffers of a sequence; an operation may transfer less than all.
  template <class Buffers, class Sequence>
  static Buffers First(const Sequence& sequence) {
    Buffers first;
    const auto end = boost::asio::buffer_sequence_end(sequence);
    for (auto each = boost::asio::buffer_sequence_begin(sequence);
         each != end && first.size() < kMaxBuffers; ++each) {
      first.push_back(*each);
    }
    return first;
  }

  void StartRead(const MutableBuffers& into, Handler handler);
  void StartWrite(const ConstBuffers& from, Handler handler);

  boost::beast::tcp_stream tcp_;
  const std::shared_ptr<boost::asio::ssl::context> tls_context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

// Customization points of Beast's WebSocket, found by argument-dependent
// lookup.

inline void beast_close_socket(Stream& stream) { stream.Close(); }

template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream,
                    Handler&& handler) {
  using boost::beast::websocket::async_teardown;
  async_teardown(role, stream.socket(), std::forward<Handler>(handler));
}

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_STREAM_H_
