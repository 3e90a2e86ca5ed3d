#include "server/http/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/error.h"
#include "server/base/string_views.h"
#include "server/http/admission.h"
#include "server/http/channel.h"
#include "server/http/guard.h"
#include "server/http/problem.h"
#include "server/http/received.h"

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;

// Whether the peer has closed its side, even if what it sent has not been read.
bool HasHungUp(asio::ip::tcp::socket& socket) {
  pollfd state{socket.native_handle(), POLLRDHUP, 0};
  return poll(&state, 1, 0) > 0;
}

// Limits for the wait in Linger().
constexpr std::chrono::seconds kLinger{2};
constexpr size_t kLingerBytes = 4 << 20;
// Control requests are read whatever the state of the memory is.
constexpr uint64_t kUncountedBodyBytes = 16 << 10;
// Size of the pieces of an upload's body.
constexpr size_t kPieceBytes = 256 << 10;

auto Into(error_code& ec) {
  return asio::redirect_error(asio::use_awaitable, ec);
}

std::string HttpDate() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[40];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return text;
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket,
                       std::shared_ptr<Shared> shared)
    : stream_(std::move(socket),
              shared->options.tls ? shared->options.tls->context() : nullptr),
      read_timer_(stream_.get_executor()),
      shared_(std::move(shared)) {
  ++shared_->open_connections;
  error_code ec;
  auto endpoint = stream_.socket().remote_endpoint(ec);
  if (!ec) {
    std::string address = endpoint.address().to_string();
    peer_ = (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
            std::to_string(endpoint.port());
  }
}

Connection::~Connection() { --shared_->open_connections; }

bool Connection::TakePlace(Places& places) {
  place_ = places.Take(std::string(AddressOf(peer_)),
                       [weak = weak_from_this(), executor = executor()] {
                         asio::post(executor, [weak] {
                           if (auto self = weak.lock()) self->Abort();
                         });
                       });
  return place_ != nullptr;
}

void Connection::Abort() { stream_.Close(); }

asio::awaitable<void> Connection::Run() {
  auto self = shared_from_this();
  error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  if (!co_await Open()) co_return Abort();
  while (co_await ServeOne()) {
    is_first_request_ = false;
    if (!place_->SetIdle(true)) co_return Abort();
  }
  place_->SetIdle(true);
  co_await Linger();
}

asio::awaitable<bool> Connection::Open() {
  stream_.ExpiresAfter(shared_->options.first_request_timeout);
  const error_code ec = co_await stream_.Handshake();
  co_return !ec;
}

asio::awaitable<void> Connection::Refuse() {
  auto self = shared_from_this();
  if (!co_await Open()) co_return Abort();
  Response response =
      ProblemResponse(503, "too_many_connections",
                      "all connections that this server accepts, or all that "
                      "it accepts from one address, are in use");
  response.headers.Set("Retry-After", "5");
  co_await Write(std::move(response), false, true);
  co_await Linger();
}

asio::awaitable<bool> Connection::ReadHeader(Parser& parser) {
  error_code ec;
  if (buffer_.size() == 0) {
    stream_.ExpiresAfter(TimeForHeader(shared_->options.idle_timeout));
    size_t got =
        co_await stream_.async_read_some(buffer_.prepare(4096), Into(ec));
    buffer_.commit(got);
    if (ec) co_return false;
  }
  parser.header_limit(shared_->options.max_header_bytes);
  // The limit for the body depends on the route.
  parser.body_limit(boost::none);
  ec = co_await ReadInTime(parser, true,
                           TimeForHeader(shared_->options.read_timeout));
  if (!ec) co_return true;
  co_return co_await SendProblem(ec, 0);
}

asio::awaitable<bool> Connection::ReadBody(Parser& parser, uint64_t most) {
  parser.body_limit(most);
  if (parser.content_length().value_or(0) > most) {
    co_return co_await SendProblem(make_error_code(bhttp::error::body_limit),
                                   most);
  }
  if (!co_await ReserveBody(parser.content_length().value_or(most))) {
    co_return false;
  }
  if (ExpectsContinue(parser.get()) && !co_await SendContinue()) {
    co_return false;
  }
  const error_code ec =
      co_await ReadInTime(parser, false, shared_->options.read_timeout);
  if (!ec) co_return true;
  co_return co_await SendProblem(ec, most);
}

asio::awaitable<bool> Connection::ReserveBody(uint64_t bytes) {
  // Smaller bodies are limited by the number of connections.
  if (!shared_->options.reserve_body || bytes <= kUncountedBodyBytes) {
    co_return true;
  }
  auto reserved = shared_->options.reserve_body(bytes);
  if (reserved.ok()) {
    body_memory_ = *std::move(reserved);
    co_return true;
  }
  Response response = ProblemResponse(503, ReasonOf(reserved.status()),
                                      std::string(reserved.status().message()));
  response.headers.Set("Retry-After", "5");
  co_await Write(std::move(response), false, true);
  co_return false;
}

asio::awaitable<bool> Connection::SendContinue() {
  bhttp::response<bhttp::empty_body> proceed(bhttp::status::continue_, 11);
  co_return co_await WriteMessage(proceed);
}

asio::awaitable<bool> Connection::SendProblem(const error_code& ec,
                                              uint64_t max_body_bytes) {
  auto problem =
      ReadProblem(ec, shared_->options.max_header_bytes, max_body_bytes);
  if (problem) co_await Write(std::move(*problem), false, true);
  co_return false;
}

std::chrono::milliseconds Connection::TimeForHeader(
    std::chrono::milliseconds limit) const {
  if (!is_first_request_) return limit;
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - opened_at_);
  const auto left = shared_->options.first_request_timeout - since;
  return std::max(std::min(limit, left), std::chrono::milliseconds(1));
}

bool Connection::StartWork(const Request& request) {
  if (request.caller.has_value()) place_->MarkAuthenticated();
  return place_->SetIdle(false);
}

template <class AnyParser>
asio::awaitable<error_code> Connection::ReadInTime(
    AnyParser& parser, bool header_only, std::chrono::milliseconds limit) {
  // The stream's own timeout would close the socket without a response.
  stream_.ExpiresNever();
  const uint64_t read = ++reads_;
  read_timer_.expires_after(limit);
  read_timer_.async_wait([self = shared_from_this(), read](error_code late) {
    if (late || read != self->reads_) return;
    self->read_timed_out_ = true;
    error_code ignored;
    self->stream_.socket().cancel(ignored);
  });
  error_code ec;
  if (header_only) {
    co_await bhttp::async_read_header(stream_, buffer_, parser, Into(ec));
  } else {
    co_await bhttp::async_read(stream_, buffer_, parser, Into(ec));
  }
  ++reads_;
  read_timer_.cancel();
  if (ec && read_timed_out_) ec = beast::error::timeout;
  co_return ec;
}

asio::awaitable<bool> Connection::ServeOne() {
  body_memory_ = nullptr;
  Parser parser;
  if (!co_await ReadHeader(parser)) co_return false;
  const bool head = parser.get().method() == bhttp::verb::head;
  const bool is_upgrade = beast::websocket::is_upgrade(parser.get());
  absl::StatusOr<Request> request = ToRequest(parser.get(), peer_);
  Router::Match match;
  std::optional<Response> refusal;
  if (request.ok()) {
    refusal = CheckRequest(*request, *shared_->router, shared_->site,
                           is_upgrade, match);
  } else {
    const bool too_large = absl::IsResourceExhausted(request.status());
    refusal = ProblemResponse(too_large ? 431 : 400,
                              too_large ? "header_too_large" : "bad_request",
                              ToStd(request.status().message()));
  }
  if (refusal) {
    // Unless the request was read to its end, its body follows on the
    // connection.
    const bool last = !parser.is_done() || !parser.keep_alive();
    co_return co_await Write(std::move(*refusal), head, last) && !last;
  }
  if (!StartWork(*request)) co_return false;
  if (match.is_upload) {
    co_await ServeUpload(parser, *std::move(request), match);
    co_return false;
  }
  if (!parser.is_done() &&
      !co_await ReadBody(parser, match.options->max_body_bytes)) {
    co_return false;
  }
  Message message = parser.release();
  request->body = std::move(message.body());
  if (match.channel != nullptr) {
    co_await RunChannel(std::move(message), *std::move(request),
                        *match.channel);
    co_return false;
  }
  const bool last = !message.keep_alive();
  const std::string frame_ancestors = FrameAncestorsOf(*request, shared_->site);
  request->has_gone = [this] { return HasHungUp(stream_.socket()); };
  Response response = co_await Handle(*std::move(request), *match.handler);
  response.frame_ancestors = frame_ancestors;
  co_return co_await Write(std::move(response), head, last) && !last;
}

asio::awaitable<Response> Connection::Handle(Request request,
                                             const Handler& handler) {
  try {
    co_return co_await handler(std::move(request));
  } catch (const std::exception& error) {
    shared_->Log(std::string("error: a request failed: ") + error.what());
  }
  co_return ProblemResponse(500, "internal",
                            "internal error; see the server log for details");
}

namespace {

absl::Status UploadFailure(const error_code& ec,
                           std::chrono::milliseconds limit) {
  if (!ec || ec == bhttp::error::need_buffer) return absl::OkStatus();
  if (ec == bhttp::error::body_limit) {
    return Error(absl::StatusCode::kResourceExhausted, "body_too_large",
                 "the request body exceeds the limit of this path");
  }
  if (ec == beast::error::timeout) {
    return Error(absl::StatusCode::kDeadlineExceeded, "upload_too_slow",
                 "the request body arrives too slowly: the server waits at "
                 "most " +
                     std::to_string(limit.count()) + " ms for " +
                     std::to_string(kPieceBytes >> 10) + " KiB");
  }
  return absl::UnavailableError("cannot read the request body: " +
                                ec.message());
}

}  // namespace

struct Connection::Upload {
  explicit Upload(Parser& header)
      : parser(std::move(header)),
        expects_continue(ExpectsContinue(parser.get())) {}

  UploadParser parser;
  bool expects_continue;
  // Why the body could not be read.
  absl::Status failure;
};

asio::awaitable<void> Connection::ServeUpload(Parser& header, Request request,
                                              const Router::Match& match) {
  auto upload = std::make_shared<Upload>(header);
  const uint64_t most = match.options->max_body_bytes;
  upload->parser.body_limit(most);
  Response response;
  if (upload->parser.content_length().value_or(0) > most) {
    response = ProblemResponse(413, "body_too_large",
                               "the request body exceeds the limit of " +
                                   std::to_string(most) + " bytes");
  } else {
    request.next_piece = [self = shared_from_this(), upload] {
      return self->NextPieceOf(upload);
    };
    response = co_await Handle(std::move(request), *match.handler);
    // Clients read the response only after they have sent the whole body, so
    // read the rest of it.
    bool more = true;
    while (more) {
      absl::StatusOr<std::string> piece = co_await NextPieceOf(upload);
      more = piece.ok() && !piece->empty();
    }
  }
  co_await Write(std::move(response), false, true);
}

asio::awaitable<absl::StatusOr<std::string>> Connection::NextPieceOf(
    std::shared_ptr<Upload> upload) {
  UploadParser& parser = upload->parser;
  if (!parser.is_done() && std::exchange(upload->expects_continue, false) &&
      !co_await SendContinue()) {
    co_return absl::UnavailableError("the client disconnected");
  }
  std::string piece(kPieceBytes, '\0');
  while (!parser.is_done() && upload->failure.ok()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    // Each piece has its own deadline, so a body must arrive at a certain rate.
    const std::chrono::milliseconds limit = shared_->options.read_timeout;
    const error_code ec = co_await ReadInTime(parser, false, limit);
    upload->failure = UploadFailure(ec, limit);
    if (!upload->failure.ok()) break;
    const size_t got = piece.size() - parser.get().body().size;
    if (got == 0) continue;
    piece.resize(got);
    co_return piece;
  }
  if (!upload->failure.ok()) co_return upload->failure;
  co_return std::string();
}

asio::awaitable<void> Connection::RunChannel(Message message, Request request,
                                             const ChannelHandler& handler) {
  stream_.ExpiresNever();
  // Until the peer has shown a credential, it makes room for others.
  if (!request.caller.has_value() && !place_->SetIdle(true)) co_return;
  auto channel = std::make_shared<Channel>(shared_from_this(), stream_,
                                           shared_->options, [this] {
                                             place_->MarkAuthenticated();
                                             place_->SetIdle(false);
                                           });
  if (!co_await channel->Accept(std::move(message))) co_return;
  ++shared_->open_channels;
  try {
    co_await handler(std::move(request), channel);
  } catch (const std::exception& error) {
    shared_->Log(std::string("error: a channel failed: ") + error.what());
  }
  --shared_->open_channels;
  Abort();
}

template <class Body>
asio::awaitable<bool> Connection::WriteMessage(bhttp::response<Body>& message) {
  bhttp::response_serializer<Body> serializer(message);
  error_code ec;
  while (!serializer.is_done() && !ec) {
    stream_.ExpiresAfter(shared_->options.write_timeout);
    co_await bhttp::async_write_some(stream_, serializer, Into(ec));
  }
  co_return !ec;
}

asio::awaitable<bool> Connection::Write(Response response, bool head,
                                        bool last) {
  AddSecurityHeaders(response);
  response.headers.Set("Date", HttpDate());
  ++shared_->responses[static_cast<size_t>(response.status / 100) % 6];
  auto status = static_cast<unsigned>(response.status);
  auto fill = [&](auto& message) {
    message.result(status);
    for (const auto& [name, value] : response.headers.fields()) {
      message.set(name, value);
    }
    message.keep_alive(!last);
  };
  std::string_view bytes = response.bytes();
  if (head || status == 204 || status == 304) {
    bhttp::response<bhttp::empty_body> message;
    fill(message);
    if (head && !response.next_piece) message.content_length(bytes.size());
    if (head && response.pieces_bytes) {
      message.content_length(*response.pieces_bytes);
    }
    co_return co_await WriteMessage(message);
  }
  if (response.next_piece) {
    bhttp::response<bhttp::empty_body> message;
    fill(message);
    if (response.pieces_bytes) {
      message.content_length(*response.pieces_bytes);
    } else {
      message.chunked(true);
    }
    co_return co_await WriteHeader(std::move(message)) &&
        co_await WritePieces(response);
  }
  bhttp::response<bhttp::span_body<const char>> message;
  fill(message);
  message.body() = beast::span<const char>(bytes.data(), bytes.size());
  message.content_length(bytes.size());
  co_return co_await WriteMessage(message);
}

asio::awaitable<bool> Connection::WriteHeader(
    bhttp::response<bhttp::empty_body> message) {
  bhttp::response_serializer<bhttp::empty_body> serializer(message);
  error_code ec;
  stream_.ExpiresAfter(shared_->options.write_timeout);
  co_await bhttp::async_write_header(stream_, serializer, Into(ec));
  co_return !ec;
}

asio::awaitable<bool> Connection::WritePieces(const Response& response) {
  using asio::experimental::awaitable_operators::operator&&;
  const bool chunked = !response.pieces_bytes;
  uint64_t written = 0;
  try {
    absl::StatusOr<std::string> piece = co_await response.next_piece();
    while (piece.ok() && !piece->empty()) {
      const std::string current = *std::move(piece);
      written += current.size();
      auto [sent, next] =
          co_await (WritePiece(current, chunked) && response.next_piece());
      if (!sent) co_return false;
      piece = std::move(next);
    }
    if (!piece.ok()) {
      shared_->Log("warning: a download was aborted: " +
                   std::string(piece.status().message()));
      co_return false;
    }
  } catch (const std::exception& error) {
    shared_->Log(std::string("error: a download failed: ") + error.what());
    co_return false;
  }
  if (chunked) co_return co_await WritePiece({}, true);
  co_return written == *response.pieces_bytes;
}

asio::awaitable<bool> Connection::WritePiece(std::string_view piece,
                                             bool chunked) {
  char size[24] = "";
  if (chunked) {
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  }
  const std::array<asio::const_buffer, 3> parts = {
      asio::buffer(size, std::strlen(size)),
      asio::buffer(piece.data(), piece.size()),
      asio::buffer("\r\n", chunked ? 2 : 0)};
  beast::buffers_suffix<std::array<asio::const_buffer, 3>> rest(parts);
  error_code ec;
  while (!ec && beast::buffer_bytes(rest) > 0) {
    stream_.ExpiresAfter(shared_->options.write_timeout);
    rest.consume(co_await stream_.async_write_some(rest, Into(ec)));
  }
  co_return !ec;
}

asio::awaitable<void> Connection::Linger() {
  error_code ec;
  stream_.ExpiresAfter(kLinger);
  co_await stream_.ShutDownTls();
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ec);
  size_t total = 0;
  while (!ec && total < kLingerBytes) {
    buffer_.clear();
    total += co_await stream_.async_read_some(buffer_.prepare(4096), Into(ec));
  }
  Abort();
}

}  // namespace graphdbg::http
