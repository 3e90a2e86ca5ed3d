// Requests and responses as the rest of the server sees them: plain values,
// nothing of the HTTP library.
#ifndef SERVER_HTTP_MESSAGE_H_
#define SERVER_HTTP_MESSAGE_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::http {

// Header fields in order; names compare without regard to case.
class Headers {
 public:
  // Replaces a field of the same name.
  void Set(std::string_view name, std::string_view value);
  // Empty if there is none. Valid until the next Set().
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;

  const std::vector<std::pair<std::string, std::string>>& fields() const {
    return fields_;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// The next bytes of a body or of an answer; an empty piece is the end.
using NextPiece =
    std::function<boost::asio::awaitable<absl::StatusOr<std::string>>()>;

struct Request {
  // Upper case, as "GET".
  std::string method;
  // As sent, without the query: still percent-encoded.
  std::string path;
  // Values of the {names} in the route's pattern, decoded.
  std::map<std::string, std::string> path_params;
  // Decoded, in order; a name may come twice.
  std::vector<std::pair<std::string, std::string>> query;
  Headers headers;
  std::string body;
  // Instead of `body`, where the route takes one of any length piece by piece.
  // RESOURCE_EXHAUSTED "body_too_large" above the route's limit, UNAVAILABLE
  // if the peer is gone.
  NextPiece next_piece;
  // "127.0.0.1:40312".
  std::string peer;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  // Bytes that live as long as the program; sent instead of `body` if set.
  std::string_view static_body;
  // Sent instead of either if set: piece by piece, each asked for while the one
  // before is on its way, so that no more than two are held however slowly the
  // peer reads. An empty piece is the end. An error breaks the connection off,
  // by which the peer knows that it has not got all.
  using NextPiece = http::NextPiece;
  NextPiece next_piece;
  // Of all pieces together; absent if that is not known beforehand.
  std::optional<uint64_t> pieces_bytes;

  std::string_view bytes() const {
    return static_body.data() != nullptr ? static_body : body;
  }
};

// A WebSocket after its handshake: whole text messages each way. Belongs to
// the connection's strand, on which its handler runs. One Receive and one Send
// may be under way at a time.
class MessageChannel {
 public:
  virtual ~MessageChannel() = default;

  // The next message. CANCELLED when the peer closed in good order,
  // UNAVAILABLE when the connection broke or Close() was called,
  // RESOURCE_EXHAUSTED if the message is over the limit.
  virtual boost::asio::awaitable<absl::StatusOr<std::string>> Receive() = 0;
  virtual boost::asio::awaitable<absl::Status> Send(std::string message) = 0;
  // Tells the peer `code` (RFC 6455 section 7.4) and waits for its answer or
  // the time limit; whatever is under way fails. No Send may be under way.
  virtual boost::asio::awaitable<void> Close(uint16_t code,
                                             std::string reason) = 0;
  // Breaks the connection at once.
  virtual void Abort() = 0;
};

// Run on the connection's strand. Exceptions are not expected; one that
// escapes is answered with 500.
using Handler = std::function<boost::asio::awaitable<Response>(Request)>;
// The connection ends when it returns.
using ChannelHandler = std::function<boost::asio::awaitable<void>(
    Request, std::shared_ptr<MessageChannel>)>;

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_MESSAGE_H_
