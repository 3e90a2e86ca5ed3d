// Tests the server over real connections.
#include "server/http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <list>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/error.h"
#include "server/http/problem.h"
#include "server/http/testing/client.h"

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;
using testing::Client;
using testing::Fetch;
using testing::Fields;
using testing::Reply;
using testing::WebSocketClient;

asio::awaitable<Response> Echo(Request request) {
  Response response;
  response.headers.Set("Content-Type", "text/plain");
  response.body = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) {
    response.body += " " + name + "=" + value;
  }
  if (!request.body.empty()) response.body += " " + request.body;
  co_return response;
}

asio::awaitable<Response> Large(Request) {
  Response response;
  response.body.assign(32 << 20, 'x');
  co_return response;
}

// Counts the pieces that the server has requested.
std::atomic<int> g_pieces_requested{0};

// Query parameters: "pieces" and "size" are the number and the size of the
// pieces, which consist of successive letters. "known" is the total length to
// announce. Without "end", the pieces end with an error.

asio::awaitable<Response> Pieces(Request request) {
  std::map<std::string, int> wanted;
  for (const auto& [name, value] : request.query) {
    wanted[name] = std::stoi(value);
  }
  g_pieces_requested = 0;
  Response response;
  if (wanted.count("known")) response.pieces_bytes = wanted["known"];
  response.next_piece =
      [wanted]() mutable -> asio::awaitable<absl::StatusOr<std::string>> {
    const int piece = g_pieces_requested++;
    if (piece < wanted["pieces"]) {
      co_return std::string(wanted["size"],
                            static_cast<char>('a' + piece % 26));
    }
    if (wanted.count("end")) co_return std::string();
    co_return absl::AbortedError("the value is no longer available");
  };
  co_return response;
}

asio::awaitable<Response> Throw(Request) {
  throw std::runtime_error("broken handler");
  co_return Response();
}

// How many of those who asked for endless work have gone.
std::atomic<int> g_gone{0};

asio::awaitable<Response> WorkWithoutEnd(Request request) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!request.has_gone()) {
    timer.expires_after(std::chrono::milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
  }
  ++g_gone;
  co_return Response();
}

// Echoes each message, and closes the channel upon "bye".
asio::awaitable<void> EchoChannel(Request,
                                  std::shared_ptr<MessageChannel> channel) {
  while (true) {
    absl::StatusOr<std::string> message = co_await channel->Receive();
    if (!message.ok()) co_return;
    if (*message == "bye") {
      co_await channel->Close(1008, "goodbye");
      co_return;
    }
    absl::Status sent = co_await channel->Send("echo " + *message);
    if (!sent.ok()) co_return;
  }
}

// Responds with the length of the body, which it reads piece by piece. Without
// a query it does not read the body.
asio::awaitable<Response> Upload(Request request) {
  size_t bytes = 0;
  const bool reads = !request.query.empty();
  absl::StatusOr<std::string> piece = std::string(reads ? 1 : 0, ' ');
  while (piece.ok() && !piece->empty()) {
    piece = co_await request.next_piece();
    if (piece.ok()) bytes += piece->size();
  }
  Response response;
  response.body = piece.ok() ? std::to_string(bytes) : ReasonOf(piece.status());
  co_return response;
}

constexpr uint64_t kMaxUploadBytes = 8 << 20;
const testing::Fields kBytes = {{"Content-Type", "application/octet-stream"}};

class ServerTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    auto router = std::make_shared<Router>();
    router->Add("GET", "/echo", Echo);
    router->Add("POST", "/echo", Echo);
    router->Add("GET", "/large", Large);
    router->Add("GET", "/throw", Throw);
    router->Add("GET", "/endless", WorkWithoutEnd);
    router->Add("GET", "/pieces", Pieces);
    router->Add("POST", "/small", Echo, {.max_body_bytes = 1'000});
    // Everybody who comes here has a credential.
    router->Add("GET", "/known", Echo, {.check = [](Request& request) {
                  request.caller = std::string("owner");
                  return std::optional<Response>();
                }});
    // Lets nobody in.
    const RouteOptions closed = {
        .max_body_bytes = kMaxUploadBytes, .check = [](Request&) {
          return std::optional(
              ProblemResponse(401, "missing_token", "show a token"));
        }};
    router->Add("POST", "/closed", Echo, closed);
    router->AddUpload("POST", "/closed/upload", Upload, closed);
    router->AddUpload("POST", "/upload", Upload,
                      {.max_body_bytes = kMaxUploadBytes});
    router->AddChannel("/channel", EchoChannel);
    // Hosts without a port occur in raw requests below.
    options.forwarded_ports = {80};
    options.log = [this](std::string_view line) {
      absl::MutexLock lock(&mu_);
      log_ += std::string(line) + "\n";
    };
    server_ =
        std::make_unique<Server>(io_.context().get_executor(), router, options);
    absl::StatusOr<uint16_t> port = server_->Start();
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *port;
  }

  void TearDown() override { server_.reset(); }

  absl::Mutex mu_;
  std::string log_ ABSL_GUARDED_BY(mu_);
  // Declared after the log, so that its threads stop first.
  testing::IoThreads io_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
};

TEST_F(ServerTest, AnswersRequestsOfOneConnectionInOrder) {
  Start();
  Client client(port_);
  EXPECT_EQ(client.Fetch("GET", "/echo?a=1&b=x%20y").body,
            "GET /echo a=1 b=x y");
  EXPECT_EQ(client.Fetch("POST", "/echo", {}, "{\"k\":1}").body,
            "POST /echo {\"k\":1}");
  EXPECT_EQ(server_->counters().connections, 1u);
}

// The body may exceed the limit of other routes.
TEST_F(ServerTest, HandsOnBodiesOfUploadsPieceByPiece) {
  Start();
  const std::string body(kMaxUploadBytes, 'x');
  EXPECT_EQ(Fetch(port_, "POST", "/upload?read=1", kBytes, body).body,
            std::to_string(kMaxUploadBytes));
  EXPECT_EQ(Fetch(port_, "POST", "/upload?read=1", kBytes).body, "0");
  Client client(port_);
  client.SendRaw(
      "POST /upload?read=1 HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/octet-stream\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.ReadReply().body, "5");
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(ServerTest, AnswersUploadsThatAreNotReadOrTooLong) {
  Start();
  const std::string body(1 << 20, 'x');
  EXPECT_EQ(Fetch(port_, "POST", "/upload", kBytes, body).body, "0");
  EXPECT_EQ(Fetch(port_, "POST", "/upload", {}, body).status, 415);
  const std::string host =
      "Host: localhost\r\nContent-Type: application/octet-stream\r\n";
  Client known(port_);
  known.SendRaw("POST /upload?read=1 HTTP/1.1\r\n" + host +
                "Content-Length: 8388609\r\n\r\n");
  EXPECT_EQ(known.ReadReply().status, 413);
  Client chunked(port_);
  chunked.SendRaw("POST /upload?read=1 HTTP/1.1\r\n" + host +
                  "Transfer-Encoding: chunked\r\n\r\n800001\r\n");
  EXPECT_EQ(chunked.ReadReply().body, "body_too_large");
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  Start();
  Client client(port_);
  std::string host = "Host: localhost\r\n\r\n";
  client.SendRaw("GET /echo?n=1 HTTP/1.1\r\n" + host +
                 "GET /echo?n=2 HTTP/1.1\r\n" + host);
  EXPECT_EQ(client.ReadReply().body, "GET /echo n=1");
  EXPECT_EQ(client.ReadReply().body, "GET /echo n=2");
}

TEST_F(ServerTest, HeadGivesTheLengthWithoutTheBody) {
  Start();
  Client client(port_);
  Reply reply = client.Fetch("HEAD", "/large");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers["content-length"], std::to_string(32 << 20));
  EXPECT_TRUE(reply.body.empty());
  EXPECT_EQ(client.Fetch("GET", "/echo").status, 200);
}

TEST_F(ServerTest, SendsPiecesOfAKnownLength) {
  Start();
  Client client(port_);
  Reply reply = client.Fetch("GET", "/pieces?pieces=3&size=2&known=6&end=1");
  EXPECT_EQ(reply.headers["content-length"], "6");
  EXPECT_EQ(reply.body, "aabbcc");
  // The connection stays open.
  reply = client.Fetch("HEAD", "/pieces?pieces=3&size=2&known=6&end=1");
  EXPECT_EQ(reply.headers["content-length"], "6");
  EXPECT_EQ(g_pieces_requested, 0);
  EXPECT_EQ(client.Fetch("GET", "/pieces?known=0&end=1").body, "");
  EXPECT_EQ(client.Fetch("GET", "/echo").body, "GET /echo");
}

TEST_F(ServerTest, SendsPiecesOfAnUnknownLengthAsChunks) {
  Start();
  Client client(port_);
  const Reply reply = client.Fetch("GET", "/pieces?pieces=3&size=20&end=1");
  EXPECT_EQ(reply.body,
            std::string(20, 'a') + std::string(20, 'b') + std::string(20, 'c'));
  const std::string size = std::to_string(3 << 20);
  EXPECT_EQ(client.Fetch("GET", "/pieces?pieces=5&size=" + size + "&end=1")
                .body.size(),
            15u << 20);
  EXPECT_EQ(client.Fetch("GET", "/pieces?end=1").body, "");
  EXPECT_EQ(client.Fetch("GET", "/echo").body, "GET /echo");
}

// The client must notice that the body is incomplete.
TEST_F(ServerTest, BreaksOffWherePiecesEndWithAnError) {
  Start();
  for (const char* target :
       {"/pieces?pieces=2&size=3&known=9", "/pieces?pieces=2&size=3"}) {
    Client client(port_);
    client.SendRaw("GET " + std::string(target) +
                   " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string all = client.ReadRest();
    EXPECT_NE(all.find("bbb"), std::string::npos) << all;
    EXPECT_EQ(all.find("\r\n0\r\n"), std::string::npos) << all;
  }
  // A body that is shorter or longer than announced is incomplete as well.
  Client client(port_);
  client.SendRaw(
      "GET /pieces?pieces=1&size=3&known=5&end=1 HTTP/1.1\r\n"
      "Host: localhost\r\n\r\n");
  EXPECT_TRUE(client.ReadRest().ends_with("\r\n\r\naaa"));
}

TEST_F(ServerTest, AsksForNoMorePiecesThanThePeerTakes) {
  Start();
  Client client(port_);
  client.SendRaw(
      "GET /pieces?pieces=1000000&size=1048576&end=1 HTTP/1.1\r\n"
      "Host: localhost\r\n\r\n");
  // Wait until the socket buffers are full.
  int requested = -1;
  while (requested != g_pieces_requested || requested < 2) {
    requested = g_pieces_requested;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_LT(requested, 100);
}

TEST_F(ServerTest, LongWorkSeesThatThePeerHasGone) {
  Start();
  g_gone = 0;
  auto leaving = std::make_unique<Client>(port_);
  auto staying = std::make_unique<Client>(port_);
  const std::string request =
      "GET /endless HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  leaving->SendRaw(request);
  staying->SendRaw(request);
  leaving.reset();
  // The handlers poll, and Bazel's time limit ends a test in which they never
  // do.
  while (g_gone == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(g_gone, 1);
  staying.reset();
  while (g_gone < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(ServerTest, SendsLargeBodiesWhole) {
  Start();
  Reply reply = Fetch(port_, "GET", "/large");
  EXPECT_EQ(reply.body.size(), size_t{32} << 20);
  EXPECT_EQ(reply.body.find_first_not_of('x'), std::string::npos);
}

TEST_F(ServerTest, RefusalsAreProblemDocuments) {
  Start();
  struct Case {
    std::string method, target;
    testing::Fields headers;
    int status;
    std::string code;
  };
  const Case cases[] = {
      {"GET", "/nothing", {}, 404, "not_found"},
      {"DELETE", "/echo", {}, 405, "method_not_allowed"},
      {"GET", "/echo?a=%zz", {}, 400, "bad_request"},
      {"GET", "http://localhost/echo", {}, 400, "bad_request"},
      {"GET", "/echo", {{"Host", "evil.com"}}, 421, "wrong_host"},
      {"GET", "/echo", {{"Host", ""}}, 421, "wrong_host"},
      {"GET", "/echo", {{"Origin", "http://evil.com"}}, 403, "wrong_origin"},
      {"POST", "/echo", {{"Content-Length", "0"}}, 415, "not_json"},
      {"GET", "/channel", {}, 426, "upgrade_required"},
      {"GET", "/throw", {}, 500, "internal"},
  };
  for (const Case& c : cases) {
    Reply reply = Fetch(port_, c.method, c.target, c.headers);
    EXPECT_EQ(reply.status, c.status) << c.method << " " << c.target;
    EXPECT_EQ(reply.headers["content-type"], "application/problem+json");
    EXPECT_NE(reply.body.find("\"code\":\"" + c.code + "\""), std::string::npos)
        << reply.body;
  }
  EXPECT_EQ(Fetch(port_, "DELETE", "/echo").headers["allow"], "GET, POST");
}

TEST_F(ServerTest, AFailingHandlerIsLoggedAndTheConnectionGoesOn) {
  Start();
  Client client(port_);
  EXPECT_EQ(client.Fetch("GET", "/throw").status, 500);
  EXPECT_EQ(client.Fetch("GET", "/echo").status, 200);
  absl::MutexLock lock(&mu_);
  EXPECT_NE(log_.find("broken handler"), std::string::npos);
}

TEST_F(ServerTest, TextThatIsNotHttpIsAnsweredAndTheConnectionEnds) {
  Start();
  Client client(port_);
  client.SendRaw("\x16\x03\x01 hello\r\n\r\n");
  EXPECT_EQ(client.ReadReply().status, 400);
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(ServerTest, HeadersOverTheLimitAreRefused) {
  Start();
  Client client(port_);
  Reply reply =
      client.Fetch("GET", "/echo", {{"X-Long", std::string(20'000, 'x')}});
  EXPECT_EQ(reply.status, 431);
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(ServerTest, BodiesOverTheLimitOfTheirRouteAreRefusedBeforeTheyAreRead) {
  Start();
  EXPECT_EQ(Fetch(port_, "POST", "/small", {}, std::string(1'000, '1')).status,
            200);
  // The body is never sent.
  Client client(port_);
  Reply reply = client.Fetch(
      "POST", "/small",
      {{"Content-Type", "application/json"}, {"Content-Length", "1001"}});
  EXPECT_EQ(reply.status, 413);
  EXPECT_NE(reply.body.find("1000 bytes"), std::string::npos) << reply.body;
  EXPECT_TRUE(client.ReadsEnd());
}

// The bodies are announced and never sent.
TEST_F(ServerTest, RequestsAreCheckedBeforeTheirBodyIsRead) {
  Start();
  const Fields json = {{"Content-Type", "application/json"}};
  struct Case {
    std::string target;
    Fields headers;
    int status;
  };
  const Case cases[] = {
      {"/closed", json, 401},
      {"/closed/upload", kBytes, 401},
      {"/nothing", json, 404},
      {"/large", json, 405},
      {"/echo", {{"Content-Type", "text/plain"}}, 415},
      {"/echo", {{"Host", "evil.com"}}, 421},
      {"/echo", {{"Origin", "http://evil.com"}}, 403},
  };
  for (const Case& c : cases) {
    for (const auto& [name, value] :
         {std::pair("Content-Length", "500"),
          std::pair("Transfer-Encoding", "chunked")}) {
      Fields headers = c.headers;
      headers[name] = value;
      headers["Expect"] = "100-continue";
      Client client(port_);
      EXPECT_EQ(client.Fetch("POST", c.target, headers).status, c.status)
          << c.target << " " << name;
      EXPECT_TRUE(client.ReadsEnd());
    }
  }
}

// Without a body, the connection can carry another request.
TEST_F(ServerTest, ARefusedRequestWithoutABodyKeepsTheConnection) {
  Start();
  Client client(port_);
  EXPECT_EQ(client.Fetch("GET", "/nothing").status, 404);
  EXPECT_EQ(client.Fetch("GET", "/echo").status, 200);
}

TEST_F(ServerTest, HeadersThatDecideAboutAccessOccurOnce) {
  Start();
  for (const char* name :
       {"Host", "Origin", "Authorization", "Content-Type", "Sec-Fetch-Site"}) {
    Client client(port_);
    const std::string line = std::string(name) + ": localhost\r\n";
    client.SendRaw("GET /echo HTTP/1.1\r\n" + line + line + "\r\n");
    const Reply reply = client.ReadReply();
    EXPECT_EQ(reply.status, 400) << name;
    EXPECT_NE(reply.body.find(name), std::string::npos) << reply.body;
  }
}

TEST_F(ServerTest, ABodyThatMakesTheClientWaitIsAskedFor) {
  Start();
  Client client(port_);
  client.SendRaw(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadReply().status, 100);
  client.SendRaw("{}");
  EXPECT_EQ(client.ReadReply().body, "POST /echo {}");
}

TEST_F(ServerTest, ARequestThatDoesNotCompleteTimesOut) {
  ServerOptions options;
  options.read_timeout = std::chrono::milliseconds(50);
  Start(options);
  Client header(port_);
  header.SendRaw("GET /echo HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(header.ReadReply().status, 408);
  EXPECT_TRUE(header.ReadsEnd());
  Client body(port_);
  body.SendRaw(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
  EXPECT_EQ(body.ReadReply().status, 408);
  EXPECT_TRUE(body.ReadsEnd());
}

TEST_F(ServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  ServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(50);
  Start(options);
  Client client(port_);
  EXPECT_EQ(client.Fetch("GET", "/echo").status, 200);
  EXPECT_TRUE(client.ReadsEnd());
}

// A request under way, which the server has admitted.
class SlowRequest {
 public:
  explicit SlowRequest(uint16_t port) : client_(port) {
    client_.SendRaw(
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(client_.ReadReply().status, 100);
  }
  Reply Finish() {
    client_.SendRaw("{}");
    return client_.ReadReply();
  }

 private:
  Client client_;
};

TEST_F(ServerTest, AConnectionThatFindsNoPlaceIsToldSo) {
  ServerOptions options;
  options.places = {.all = 2, .reserved = 1, .per_address = 2};
  Start(options);
  SlowRequest first(port_);
  for (int i = 0; i < 2; ++i) {
    Client second(port_);
    const Reply reply = second.ReadReply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_NE(reply.body.find("too_many_connections"), std::string::npos);
    EXPECT_TRUE(second.ReadsEnd());
  }
  EXPECT_EQ(first.Finish().status, 200);
  EXPECT_EQ(server_->counters().connections_refused, 2u);
  absl::MutexLock lock(&mu_);
  const size_t line = log_.find("was refused");
  EXPECT_NE(line, std::string::npos);
  EXPECT_EQ(log_.find("was refused", line + 1), std::string::npos) << log_;
}

TEST_F(ServerTest, ASilentConnectionMakesRoomForANewOne) {
  ServerOptions options;
  options.places = {.all = 3, .reserved = 1, .per_address = 2};
  Start(options);
  Client first(port_);
  Client second(port_);
  EXPECT_EQ(Fetch(port_, "GET", "/echo").status, 200);
  EXPECT_TRUE(first.ReadsEnd());
  EXPECT_EQ(second.Fetch("GET", "/echo").status, 200);
}

TEST_F(ServerTest, AClientWithACredentialHasAPlaceOfItsOwn) {
  ServerOptions options;
  options.places = {.all = 3, .reserved = 2, .per_address = 1};
  Start(options);
  Client known(port_);
  EXPECT_EQ(known.Fetch("GET", "/known").status, 200);
  std::list<Client> silent;
  for (int i = 0; i < 5; ++i) silent.emplace_back(port_);
  // Each makes room for the next one.
  for (auto client = silent.begin(); client != std::prev(silent.end());
       ++client) {
    EXPECT_TRUE(client->ReadsEnd());
  }
  EXPECT_EQ(known.Fetch("GET", "/known").status, 200);
  EXPECT_EQ(server_->counters().connections_refused, 0u);
}

TEST_F(ServerTest, AConnectionMustSendItsFirstRequestInTime) {
  ServerOptions options;
  options.first_request_timeout = std::chrono::milliseconds(50);
  Start(options);
  Client silent(port_);
  EXPECT_TRUE(silent.ReadsEnd());
  Client slow(port_);
  slow.SendRaw("GET /echo HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(slow.ReadReply().status, 408);
}

TEST_F(ServerTest, AnUploadThatTricklesInEnds) {
  ServerOptions options;
  options.read_timeout = std::chrono::milliseconds(50);
  Start(options);
  Client client(port_);
  client.SendRaw(
      "POST /upload?read=1 HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/octet-stream\r\n"
      "Content-Length: 1000000\r\n\r\nx");
  EXPECT_EQ(client.ReadReply().body, "upload_too_slow");
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(ServerTest, ManyHeadersAreRefused) {
  Start();
  Fields fields;
  for (int i = 0; i < 101; ++i) fields["X-" + std::to_string(i)] = "1";
  EXPECT_EQ(Fetch(port_, "GET", "/echo", fields).status, 431);
}

TEST_F(ServerTest, APeerThatAnswersNoPingIsDropped) {
  ServerOptions options;
  options.channel_idle_timeout = std::chrono::milliseconds(100);
  Start(options);
  Client client(port_);
  client.SendRaw(
      "GET /channel HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  const std::string all = client.ReadRest();
  EXPECT_EQ(all.find("HTTP/1.1 101"), 0u) << all;
  // An empty ping.
  EXPECT_NE(all.find(std::string("\x89\0", 2)), std::string::npos);
}

TEST_F(ServerTest, ConnectionCloseIsHonoured) {
  Start();
  Client client(port_);
  EXPECT_EQ(client.Fetch("GET", "/echo", {{"Connection", "close"}})
                .headers["connection"],
            "close");
  EXPECT_TRUE(client.ReadsEnd());
}

TEST_F(ServerTest, ChannelsCarryMessagesBothWays) {
  Start();
  WebSocketClient client(port_, "/channel");
  client.Send("one");
  client.Send("two");
  EXPECT_EQ(client.Receive(), "echo one");
  EXPECT_EQ(client.Receive(), "echo two");
  EXPECT_EQ(server_->counters().open_channels, 1u);
}

TEST_F(ServerTest, ChannelsCloseWithTheirReason) {
  Start();
  WebSocketClient client(port_, "/channel");
  client.Send("bye");
  EXPECT_EQ(client.Receive(), std::nullopt);
  EXPECT_EQ(client.close_code(), 1008);
}

TEST_F(ServerTest, MessagesOverTheLimitCloseTheChannel) {
  ServerOptions options;
  options.max_message_bytes = 100;
  Start(options);
  WebSocketClient client(port_, "/channel");
  client.Send(std::string(100, 'x'));
  EXPECT_TRUE(client.Receive().has_value());
  client.Send(std::string(101, 'x'));
  EXPECT_EQ(client.Receive(), std::nullopt);
  EXPECT_EQ(client.close_code(), 1009);
}

TEST_F(ServerTest, PagesOfOtherOriginsGetNoChannel) {
  Start();
  EXPECT_THROW(
      WebSocketClient(port_, "/channel", {{"Origin", "http://evil.com"}}),
      boost::system::system_error);
  WebSocketClient own(
      port_, "/channel",
      {{"Origin", "http://127.0.0.1:" + std::to_string(port_)}});
  own.Send("x");
  EXPECT_EQ(own.Receive(), "echo x");
}

TEST_F(ServerTest, StopBreaksWhatIsOpen) {
  Start();
  Client idle(port_);
  ASSERT_EQ(idle.Fetch("GET", "/echo").status, 200);
  WebSocketClient channel(port_, "/channel");
  server_->Stop();
  EXPECT_TRUE(idle.ReadsEnd());
  EXPECT_EQ(channel.Receive(), std::nullopt);
}

TEST_F(ServerTest, APortInUseIsNamed) {
  Start();
  ServerOptions options;
  options.port = port_;
  Server second(io_.context().get_executor(), std::make_shared<Router>(),
                options);
  absl::StatusOr<uint16_t> port = second.Start();
  EXPECT_EQ(port.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(port.status().message().find(std::to_string(port_)),
            absl::string_view::npos);
}

// Nobody else may answer to the name localhost.
TEST_F(ServerTest, TheServerListensOnBothLoopbackAddresses) {
  Start();
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context);
  boost::system::error_code ec;
  acceptor.open(asio::ip::tcp::v6(), ec);
  if (!ec) {
    acceptor.set_option(asio::ip::v6_only(true), ec);
    acceptor.bind({asio::ip::address_v6::loopback(), port_}, ec);
  }
  if (ec == asio::error::address_family_not_supported ||
      ec == boost::system::errc::address_not_available) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  EXPECT_EQ(ec, asio::error::address_in_use);
}

TEST_F(ServerTest, AnAddressBeyondLoopbackNeedsTls) {
  for (const char* host : {"0.0.0.0", "::", "192.168.1.2", "example.com"}) {
    ServerOptions options;
    options.host = host;
    Server server(io_.context().get_executor(), std::make_shared<Router>(),
                  options);
    EXPECT_EQ(ReasonOf(server.Start().status()), "needs_tls") << host;
  }
}

}  // namespace
}  // namespace graphdbg::http
