// One accepted connection. Sees Beast: included by this room's sources only.
#ifndef SERVER_HTTP_CONNECTION_H_
#define SERVER_HTTP_CONNECTION_H_

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "server/http/guard.h"
#include "server/http/server.h"
#include "server/http/stream.h"
#include "server/http/tls.h"

namespace graphdbg::http {

// What connections share with their server.
struct Shared {
  ServerOptions options;
  std::shared_ptr<const Router> router;
  Site site;
  std::atomic<uint64_t> connections{0};
  std::atomic<uint64_t> connections_refused{0};
  std::atomic<uint64_t> open_connections{0};
  std::atomic<uint64_t> open_channels{0};
  std::array<std::atomic<uint64_t>, 6> responses{};

  void Log(std::string_view line) const {
    if (options.log) options.log(line);
  }
};

// Lives on its socket's strand. Run keeps it alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket,
             std::shared_ptr<Shared> shared);
  ~Connection();

  // Serves requests until either side ends.
  boost::asio::awaitable<void> Run();
  // Says 503 and ends.
  boost::asio::awaitable<void> Refuse();
  // Breaks the connection; on the strand.
  void Abort();

  boost::asio::any_io_executor executor() { return stream_.get_executor(); }

 private:
  using Parser =
      boost::beast::http::request_parser<boost::beast::http::string_body>;
  using UploadParser =
      boost::beast::http::request_parser<boost::beast::http::buffer_body>;
  using Message = boost::beast::http::request<boost::beast::http::string_body>;

  // Whether the peer may speak HTTP now.
  boost::asio::awaitable<bool> Open();
  // Whether another request may follow.
  boost::asio::awaitable<bool> ServeOne();
  // False: nothing to answer, or answered already.
  boost::asio::awaitable<bool> ReadHeader(Parser& parser);
  boost::asio::awaitable<bool> ReadBody(Parser& parser);
  boost::asio::awaitable<bool> SayContinue();
  boost::asio::awaitable<bool> SayProblem(const boost::system::error_code& ec);
  // Reads the header, or else the whole message, within the time limit.
  boost::asio::awaitable<boost::system::error_code> ReadInTime(
      Parser& parser, bool header_only);
  boost::asio::awaitable<Response> Answer(Request request,
                                          const Router::Match& match);
  // A request whose handler reads the body itself; the last of the connection.
  boost::asio::awaitable<void> ServeUpload(Parser& header, Request request,
                                           const Router::Match& match);
  struct Upload;
  boost::asio::awaitable<absl::StatusOr<std::string>> NextPieceOf(
      std::shared_ptr<Upload> upload);
  boost::asio::awaitable<void> RunChannel(Message message, Request request,
                                          const ChannelHandler& handler);
  // Whether it was written whole.
  boost::asio::awaitable<bool> Write(Response response, bool head, bool last);
  // The header with which a response of pieces begins.
  boost::asio::awaitable<bool> WriteHead(
      boost::beast::http::response<boost::beast::http::empty_body> message);
  boost::asio::awaitable<bool> WritePieces(const Response& response);
  // `chunked`: as a chunk of its own.
  boost::asio::awaitable<bool> WritePiece(std::string_view piece, bool chunked);
  template <class Body>
  boost::asio::awaitable<bool> WriteMessage(
      boost::beast::http::response<Body>& message);
  // Waits for the peer to end, so that it can read the last answer: closing
  // with unread input would destroy it on the way.
  boost::asio::awaitable<void> Linger();

  Stream stream_;
  boost::beast::flat_buffer buffer_;
  boost::asio::steady_timer read_timer_;
  // Counts reads, so that a late timer does not break the next one.
  uint64_t reads_ = 0;
  bool read_timed_out_ = false;
  const std::shared_ptr<Shared> shared_;
  std::string peer_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_CONNECTION_H_
