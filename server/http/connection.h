// One accepted connection. Uses Beast: included by this package's sources only.
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
#include <chrono>
#include <memory>
#include <string>

#include "server/http/guard.h"
#include "server/http/server.h"
#include "server/http/stream.h"
#include "server/http/tls.h"

namespace graphdbg::http {

// State that connections share with their server.
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

// Runs on its socket's strand. Run() and Refuse() keep it alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket,
             std::shared_ptr<Shared> shared);
  ~Connection();

  // Returns whether there is a place for this connection. Call it once, before
  // Run().
  bool TakePlace(Places& places);
  // Serves requests until either side closes the connection.
  boost::asio::awaitable<void> Run();
  // Responds with 503 and closes the connection.
  boost::asio::awaitable<void> Refuse();
  // Closes the connection immediately. Call it on the strand.
  void Abort();

  // The peer's address and port: "127.0.0.1:40312".
  const std::string& peer() const { return peer_; }
  boost::asio::any_io_executor executor() { return stream_.get_executor(); }

 private:
  using Parser =
      boost::beast::http::request_parser<boost::beast::http::string_body>;
  using UploadParser =
      boost::beast::http::request_parser<boost::beast::http::buffer_body>;
  using Message = boost::beast::http::request<boost::beast::http::string_body>;

  // Performs the TLS handshake, if any, and returns whether it succeeded.
  boost::asio::awaitable<bool> Open();
  // Serves one request and returns whether another one may follow.
  boost::asio::awaitable<bool> ServeOne();
  // These return false if the connection closed or if a response to the failure
  // has been sent.
  boost::asio::awaitable<bool> ReadHeader(Parser& parser);
  boost::asio::awaitable<bool> ReadBody(Parser& parser, uint64_t most);
  // Reserves memory for a body of this size; see ServerOptions.
  boost::asio::awaitable<bool> ReserveBody(uint64_t bytes);
  boost::asio::awaitable<bool> SendContinue();
  boost::asio::awaitable<bool> SendProblem(const boost::system::error_code& ec,
                                           uint64_t max_body_bytes);
  // Reads the header, or the rest of the message, within the time limit.
  template <class AnyParser>
  boost::asio::awaitable<boost::system::error_code> ReadInTime(
      AnyParser& parser, bool header_only, std::chrono::milliseconds limit);
  // The time until the first request must have arrived; the time limit of the
  // options for later ones.
  std::chrono::milliseconds TimeForHeader(
      std::chrono::milliseconds limit) const;
  // Notes who the client is once a request has been admitted. Returns false if
  // the connection must make room for another one.
  bool StartWork(const Request& request);
  boost::asio::awaitable<Response> Handle(Request request,
                                          const Handler& handler);
  // Serves a request whose handler reads the body itself. It is the last one on
  // the connection.
  boost::asio::awaitable<void> ServeUpload(Parser& header, Request request,
                                           const Router::Match& match);
  struct Upload;
  boost::asio::awaitable<absl::StatusOr<std::string>> NextPieceOf(
      std::shared_ptr<Upload> upload);
  boost::asio::awaitable<void> RunChannel(Message message, Request request,
                                          const ChannelHandler& handler);
  // The Write functions return whether everything was written.
  boost::asio::awaitable<bool> Write(Response response, bool head, bool last);
  // Writes the header of a response that is sent in pieces.
  boost::asio::awaitable<bool> WriteHeader(
      boost::beast::http::response<boost::beast::http::empty_body> message);
  boost::asio::awaitable<bool> WritePieces(const Response& response);
  // Writes a piece, as one chunk of the chunked encoding if `chunked`.
  boost::asio::awaitable<bool> WritePiece(std::string_view piece, bool chunked);
  template <class Body>
  boost::asio::awaitable<bool> WriteMessage(
      boost::beast::http::response<Body>& message);
  // Waits for the peer to close the connection. Closing a socket with unread
  // input would reset the connection, and the peer could lose the last
  // response.
  boost::asio::awaitable<void> Linger();

  Stream stream_;
  boost::beast::flat_buffer buffer_;
  boost::asio::steady_timer read_timer_;
  // Counts reads, so that a timer that fires late does not cancel the next one.
  uint64_t reads_ = 0;
  bool read_timed_out_ = false;
  const std::shared_ptr<Shared> shared_;
  // Counts the body of the current request.
  std::shared_ptr<const void> body_memory_;
  const std::chrono::steady_clock::time_point opened_at_ =
      std::chrono::steady_clock::now();
  bool is_first_request_ = true;
  // Null for a connection that is refused.
  std::unique_ptr<Places::Place> place_;
  std::string peer_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_CONNECTION_H_
