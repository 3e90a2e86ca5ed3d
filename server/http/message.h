// Requests and responses as plain values, independent of the HTTP library.
#ifndef SERVER_HTTP_MESSAGE_H_
#define SERVER_HTTP_MESSAGE_H_

#include <any>
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

// Header fields in order. Names are case-insensitive.
class Headers {
 public:
  // Replaces any field of the same name.
  void Set(std::string_view name, std::string_view value);
  // Empty if the field is absent. Valid until the next Set().
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;

  const std::vector<std::pair<std::string, std::string>>& fields() const {
    return fields_;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// Returns the next bytes of a body, or an empty string at its end.
using NextPiece =
    std::function<boost::asio::awaitable<absl::StatusOr<std::string>>()>;

struct Request {
  // In upper case: "GET".
  std::string method;
  // Without the query, still percent-encoded.
  std::string path;
  // Decoded values of the {names} in the route's pattern.
  std::map<std::string, std::string> path_params;
  // Decoded, in order. A name may occur several times.
  std::vector<std::pair<std::string, std::string>> query;
  Headers headers;
  std::string body;
  // Set instead of `body` on upload routes, which read the body piece by piece.
  // Returns RESOURCE_EXHAUSTED "body_too_large" if the body exceeds the route's
  // limit, and UNAVAILABLE if the peer has disconnected.
  NextPiece next_piece;
  // The peer's address and port: "127.0.0.1:40312".
  std::string peer;
  // Whether the peer has closed its side of the connection, so that long work
  // can be given up. May be called while the request is handled. Null if it is
  // not known.
  std::function<bool()> has_gone;
  // The client's identity, as the route's check found it; see RouteOptions.
  // Empty for a client that has shown no credential.
  std::any caller;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  // Sent instead of `body` if set. Must live as long as the program.
  std::string_view static_body;
  // Sent instead of either body if set. Each piece is requested while the
  // previous one is being sent, so at most two pieces are in memory, however
  // slowly the peer reads. An error closes the connection, so that the peer can
  // detect that the body is incomplete.
  using NextPiece = http::NextPiece;
  NextPiece next_piece;
  // Origins of pages that may show it in a frame, separated by spaces. Set by
  // the server.
  std::string frame_ancestors;
  // Destroyed when the response has been sent or has failed. Counts the body in
  // the server's memory budget.
  std::shared_ptr<const void> memory;
  // The total size of all pieces, if known in advance.
  std::optional<uint64_t> pieces_bytes;

  std::string_view bytes() const {
    return static_body.data() != nullptr ? static_body : body;
  }
};

// `peer` of a request without its port: "127.0.0.1".
std::string_view AddressOf(std::string_view peer);

// A WebSocket after its handshake, which carries whole text messages in both
// directions. Use it only on the connection's strand, where its handler runs.
// At most one Receive and one Send may be pending at a time.
class MessageChannel {
 public:
  virtual ~MessageChannel() = default;

  // Returns the next message; CANCELLED after the peer closed the channel
  // cleanly, UNAVAILABLE after the connection broke or Close() was called, and
  // RESOURCE_EXHAUSTED if the message exceeds the limit.
  virtual boost::asio::awaitable<absl::StatusOr<std::string>> Receive() = 0;
  virtual boost::asio::awaitable<absl::Status> Send(std::string message) = 0;
  // Sends `code` (RFC 6455 section 7.4) to the peer and waits for its reply or
  // the time limit. A pending Receive fails; no Send may be pending.
  virtual boost::asio::awaitable<void> Close(uint16_t code,
                                             std::string reason) = 0;
  // Closes the connection immediately.
  virtual void Abort() = 0;
  // The peer has shown a credential in a message, so the connection is no
  // longer one of those that make room for others.
  virtual void MarkAuthenticated() = 0;
};

// Decides, from everything but the body, whether a request may continue.
// Returns the response to one that may not, and otherwise may set
// `request.caller`. Must not block.
using Check = std::function<std::optional<Response>(Request& request)>;
// Runs on the connection's strand. Handlers should not throw: the reply to an
// exception is status 500.
using Handler = std::function<boost::asio::awaitable<Response>(Request)>;
// The connection closes when the handler returns.
using ChannelHandler = std::function<boost::asio::awaitable<void>(
    Request, std::shared_ptr<MessageChannel>)>;

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_MESSAGE_H_
