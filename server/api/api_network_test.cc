// Tests the API over real connections: credentials, hosts, origins, events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/api/login_limit.h"
#include "server/api/testing/api_fixture.h"
#include "server/http/testing/client.h"

namespace graphdbg::api {
namespace {

using http::testing::Client;
using http::testing::Fetch;
using http::testing::Fields;
using http::testing::Reply;
using http::testing::WebSocketClient;
using model::Event;

constexpr char kEvents[] = "/api/v1/events";

class ApiNetworkTest : public ::testing::Test {
 protected:
  void Start(bool auth_required = true,
             EventBuffer::Limits limits = EventBuffer::Limits()) {
    fixture_ = std::make_unique<testing::ApiFixture>(auth_required, limits);
    job_ = fixture_->directory.Add("train");
    io_ = std::make_unique<http::testing::IoThreads>();
    server_ = std::make_unique<http::Server>(
        io_->context().get_executor(), fixture_->router, http::ServerOptions());
    auto port = server_->Start();
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *port;
  }
  void TearDown() override {
    server_.reset();
    io_.reset();
  }

  void EmitLog(const std::string& message) {
    Event event;
    event.type = Event::Type::kLog;
    event.job = "train";
    event.message = message;
    fixture_->directory.Emit(event);
  }
  void EmitState(model::JobState state, const std::string& job = "train") {
    Event event;
    event.type = Event::Type::kState;
    event.job = job;
    event.job_info.emplace();
    event.job_info->id = job;
    event.job_info->state = state;
    event.command_id = "7";
    fixture_->directory.Emit(event);
  }
  static Json Next(WebSocketClient& client) {
    std::optional<std::string> text = client.Receive();
    EXPECT_TRUE(text.has_value()) << "closed";
    return text ? Json::parse(*text) : Json();
  }
  // Connects and authenticates.
  std::unique_ptr<WebSocketClient> Connect() {
    auto client = std::make_unique<WebSocketClient>(port_, kEvents);
    client->Send(R"({"token":")" + std::string(testing::kToken) + "\"}");
    EXPECT_EQ(Next(*client)["type"], "ready");
    return client;
  }

  std::unique_ptr<testing::ApiFixture> fixture_;
  std::shared_ptr<testing::FakeJob> job_;
  std::unique_ptr<http::testing::IoThreads> io_;
  std::unique_ptr<http::Server> server_;
  uint16_t port_ = 0;
};

// How a client presents itself, and the status if it must not continue. A
// status of 0 means that the next check decides.
struct Presentation {
  std::string what;
  Fields fields;
  int refused = 0;
};

// The status that the checks before the body give, in their order.
int Refusal(bool is_known_path, const std::string& method,
            const Presentation& source, const Presentation& type,
            const Presentation& credential, const Route* route) {
  if (source.refused != 0) return source.refused;
  if (!is_known_path) return 404;
  if (route == nullptr) return 405;
  if (route->is_event_socket()) return 426;
  const bool writes = method == "POST" || method == "PUT" || method == "PATCH";
  if (writes && type.refused != 0) return type.refused;
  return route->access == Access::kOpen ? 0 : credential.refused;
}

// Keeps one connection as long as the server does.
class Prober {
 public:
  explicit Prober(uint16_t port) : port_(port) {}

  int StatusOf(const std::string& method, const std::string& path,
               const Fields& fields) {
    if (client_ == nullptr) client_ = std::make_unique<Client>(port_);
    const Reply reply = client_->Fetch(method, path, fields);
    const auto connection = reply.headers.find("connection");
    if (connection != reply.headers.end() && connection->second == "close") {
      client_ = nullptr;
    }
    return reply.status;
  }

 private:
  const uint16_t port_;
  std::unique_ptr<Client> client_;
};

// The path of a route for the job "train".
std::string Concrete(std::string path) {
  for (const auto& [name, value] :
       {std::pair("{job}", "train"), std::pair("{watchpoint}", "1"),
        std::pair("{token}", "none")}) {
    const size_t at = path.find(name);
    if (at != std::string::npos) path.replace(at, strlen(name), value);
  }
  return path;
}

bool Matches(const Route& route, const std::string& path) {
  const std::vector<std::string> pattern = absl::StrSplit(route.path, '/');
  const std::vector<std::string> segments = absl::StrSplit(path, '/');
  return std::equal(
      pattern.begin(), pattern.end(), segments.begin(), segments.end(),
      [](const std::string& wanted, const std::string& segment) {
        return (!wanted.empty() && wanted.front() == '{') || wanted == segment;
      });
}

// The routes of a path by their methods. The same path may belong to several
// patterns: ".../watchpoints/preview" is also a ".../{watchpoint}".
std::map<std::string, const Route*> RoutesOf(const std::string& path) {
  const auto names = [](const Route& route) {
    return std::count(route.path.begin(), route.path.end(), '{');
  };
  std::map<std::string, const Route*> methods;
  for (const Route& route : Routes()) {
    if (!Matches(route, path)) continue;
    const Route*& best = methods[std::string(route.method)];
    if (best == nullptr || names(route) < names(*best)) best = &route;
  }
  const auto get = methods.find("GET");
  if (get != methods.end()) methods["HEAD"] = get->second;
  return methods;
}

TEST_F(ApiNetworkTest, RouteByMethodByCredentialByHostByOrigin) {
  Start();
  const std::string port = std::to_string(port_);
  const std::string own = "http://127.0.0.1:" + port;
  const std::string bearer = "Bearer " + std::string(testing::kToken);
  const Presentation credentials[] = {
      {"right", {{"Authorization", bearer}}},
      {"none", {}, 401},
      {"wrong", {{"Authorization", "Bearer wrong"}}, 401},
      {"an agent's", {{"Authorization", "Bearer the-agent-token"}}, 401},
      {"another scheme", {{"Authorization", "Basic x"}}, 401},
  };
  const Presentation sources[] = {
      {"a program", {}},
      {"the page", {{"Origin", own}, {"Sec-Fetch-Site", "same-origin"}}},
      {"by name",
       {{"Host", "localhost:" + port}, {"Origin", "http://localhost:" + port}}},
      {"another port", {{"Host", "127.0.0.1:1"}}, 421},
      {"no port", {{"Host", "localhost"}}, 421},
      {"a rebound name", {{"Host", "evil.com:" + port}}, 421},
      {"its page",
       {{"Host", "evil.com:" + port}, {"Origin", "http://evil.com:" + port}},
       421},
      {"another page", {{"Origin", "http://evil.com"}}, 403},
      {"a page of this machine", {{"Origin", "http://127.0.0.1:1"}}, 403},
      {"a sandboxed page", {{"Origin", "null"}}, 403},
      {"an image of another site", {{"Sec-Fetch-Site", "cross-site"}}, 403},
  };
  const std::string json = "application/json";
  std::set<std::string> paths = {"/api/v1/nothing"};
  for (const Route& route : Routes()) paths.insert(Concrete(route.path));
  Prober prober(port_);
  int cells = 0;
  for (const std::string& path : paths) {
    const std::map<std::string, const Route*> methods = RoutesOf(path);
    for (const std::string method :
         {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}) {
      const auto found = methods.find(method);
      const Route* const route =
          found == methods.end() ? nullptr : found->second;
      const bool in_pieces = route != nullptr && route->body.in_pieces;
      const Presentation types[] = {
          {"its type",
           {{"Content-Type", in_pieces ? "application/octet-stream" : json}}},
          {"text", {{"Content-Type", "text/plain"}}, 415},
      };
      for (const Presentation& source : sources) {
        for (const Presentation& type : types) {
          for (const Presentation& credential : credentials) {
            Fields fields = {{"Content-Length", "0"}};
            for (const auto* part : {&source, &type, &credential}) {
              fields.insert(part->fields.begin(), part->fields.end());
            }
            const int status = prober.StatusOf(method, path, fields);
            const int wanted = Refusal(!methods.empty(), method, source, type,
                                       credential, route);
            const std::string cell = method + " " + path + ", " + source.what +
                                     ", " + type.what + ", " + credential.what;
            ++cells;
            if (wanted != 0) {
              EXPECT_EQ(status, wanted) << cell;
            } else {
              // Responses to a request without body or parameters.
              const std::set<int> refusals = {401, 403, 405, 415,
                                              421, 426, 500};
              EXPECT_EQ(refusals.count(status), 0u) << cell << " " << status;
            }
          }
        }
      }
    }
  }
  EXPECT_GE(cells, 20'000);
}

// A WebSocket checks what other routes check, and where its page is from.
TEST_F(ApiNetworkTest, AWebSocketNeedsAnOriginOrAToken) {
  Start();
  const std::string bearer = "Bearer " + std::string(testing::kToken);
  const std::string own = "http://127.0.0.1:" + std::to_string(port_);
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const auto status_of = [&](const Fields& fields) {
    std::string text =
        "GET " + std::string(kEvents) + " HTTP/1.1\r\n" + upgrade;
    for (const auto& [name, value] : fields) {
      text += name + ": " + value + "\r\n";
    }
    if (fields.count("Host") == 0) {
      text += "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n";
    }
    Client client(port_);
    client.SendRaw(text + "\r\n");
    return client.ReadReply().status;
  };
  EXPECT_EQ(status_of({{"Origin", own}}), 101);
  EXPECT_EQ(status_of({{"Authorization", bearer}}), 101);
  EXPECT_EQ(status_of({{"Origin", own}, {"Authorization", bearer}}), 101);
  EXPECT_EQ(status_of({}), 403);
  EXPECT_EQ(status_of({{"Authorization", "Bearer wrong"}}), 401);
  EXPECT_EQ(status_of({{"Origin", own}, {"Authorization", "Bearer x"}}), 401);
  EXPECT_EQ(status_of({{"Origin", "http://evil.com"}}), 403);
  EXPECT_EQ(
      status_of({{"Origin", "http://evil.com"}, {"Authorization", bearer}}),
      403);
  EXPECT_EQ(status_of({{"Host", "evil.com"}, {"Authorization", bearer}}), 421);
  EXPECT_EQ(status_of({{"Origin", own}, {"Sec-Fetch-Site", "cross-site"}}),
            403);
}

TEST_F(ApiNetworkTest, FailedLoginsAreSlowedDown) {
  Start();
  int status = 0;
  for (uint32_t i = 0; i <= 10 * LoginLimit::kFailures && status != 429; ++i) {
    status =
        Fetch(port_, "POST", "/api/v1/login", {}, R"({"code":"x"})").status;
    EXPECT_TRUE(status == 401 || status == 429) << status;
  }
  EXPECT_EQ(status, 429);
}

// The body is announced and never sent.
TEST_F(ApiNetworkTest, LargeBodiesAreForThoseWhoNeedThem) {
  Start();
  const std::string bearer = "Bearer " + std::string(testing::kToken);
  for (const Route& route : Routes()) {
    if (route.is_event_socket()) continue;
    Client client(port_);
    Fields fields = {
        {"Authorization", bearer},
        {"Content-Type", route.body.in_pieces ? "application/octet-stream"
                                              : "application/json"},
        {"Content-Length", std::to_string(route.body.max_bytes + 1)}};
    const std::string target =
        Concrete(route.path) + (route.body.in_pieces ? "?name=x" : "");
    EXPECT_EQ(client.Fetch(std::string(route.method), target, fields).status,
              413)
        << route.path;
    if (route.access == Access::kOpen) {
      EXPECT_EQ(route.body.max_bytes, kSmallBody.max_bytes) << route.path;
    }
  }
}

TEST_F(ApiNetworkTest, WithoutAuthenticationNoTokenIsNeeded) {
  Start(false);
  EXPECT_EQ(Fetch(port_, "GET", "/api/v1/jobs").status, 200);
  WebSocketClient client(port_, kEvents);
  EXPECT_EQ(Next(client)["type"], "ready");
  // The page sends its token anyway.
  client.Send(R"({"token":""})");
  client.Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(Next(client)["type"], "snapshot");
}

TEST_F(ApiNetworkTest, AWrongTokenEndsTheStreamWithAReason) {
  Start();
  for (const char* first : {R"({"token":"wrong"})", R"({"token":7})",
                            "not json", R"({"subscribe":{"job":"train"}})"}) {
    WebSocketClient client(port_, kEvents);
    client.Send(first);
    Json message = Next(client);
    EXPECT_EQ(message["type"], "error") << first;
    EXPECT_FALSE(client.Receive().has_value());
    EXPECT_EQ(client.close_code(), 1008) << first;
  }
}

TEST_F(ApiNetworkTest, AnAuthorizationHeaderDoesForTheToken) {
  Start();
  WebSocketClient client(
      port_, kEvents,
      {{"Authorization", "Bearer " + std::string(testing::kToken)}});
  EXPECT_EQ(Next(client)["type"], "ready");
}

TEST_F(ApiNetworkTest, ASnapshotIsFollowedByWhatHappens) {
  Start();
  job_->info.step = 3;
  job_->watchpoints[1].id = 1;
  Event hit;
  hit.type = Event::Type::kHit;
  hit.job = "train";
  hit.hit.emplace();
  hit.hit->id = 1;
  job_->hits.hits = {*hit.hit};
  fixture_->directory.Emit(hit);
  auto client = Connect();
  client->Send(R"({"subscribe":{"job":"train"}})");
  Json snapshot = Next(*client);
  EXPECT_EQ(snapshot["type"], "snapshot");
  EXPECT_EQ(snapshot["seq"], 1);
  EXPECT_EQ(snapshot["job"], "train");
  EXPECT_EQ(snapshot["info"]["step"], 3);
  EXPECT_EQ(snapshot["watchpoints"][0]["id"], 1);
  EXPECT_EQ(snapshot["hits"][0]["id"], 1);
  EmitState(model::JobState::kRunning);
  Json state = Next(*client);
  EXPECT_EQ(state["type"], "state");
  EXPECT_EQ(state["seq"], 2);
  EXPECT_EQ(state["info"]["state"], "running");
  EXPECT_EQ(state["command_id"], "7");
  EXPECT_TRUE(state["error"].is_null());
  EXPECT_TRUE(state["time"].is_string());
}

TEST_F(ApiNetworkTest, AReaderResumesWithoutAGap) {
  Start();
  for (int i = 1; i <= 300; ++i) EmitLog(std::to_string(i));
  auto client = Connect();
  client->Send(R"({"subscribe":{"job":"train","after":100}})");
  for (int i = 101; i <= 300; ++i) {
    Json event = Next(*client);
    ASSERT_EQ(event["seq"], i);
    ASSERT_EQ(event["message"], std::to_string(i));
  }
  EmitLog("301");
  EXPECT_EQ(Next(*client)["seq"], 301);
}

TEST_F(ApiNetworkTest, AReaderThatIsTooLateGetsASnapshot) {
  Start(true, {.events_per_job = 10, .deleted_jobs = 10});
  for (int i = 1; i <= 30; ++i) EmitLog(std::to_string(i));
  for (const char* after : {"5", "31", "1000"}) {
    auto client = Connect();
    client->Send(R"({"subscribe":{"job":"train","after":)" +
                 std::string(after) + "}}");
    Json first = Next(*client);
    EXPECT_EQ(first["type"], "snapshot") << after;
    EXPECT_EQ(first["seq"], 30) << after;
  }
}

TEST_F(ApiNetworkTest, ASlowReaderHoldsNobodyBackAndCatchesUpByASnapshot) {
  Start(true, {.events_per_job = 100, .deleted_jobs = 10});
  auto slow = Connect();
  slow->Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(Next(*slow)["type"], "snapshot");
  auto quick = Connect();
  quick->Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(Next(*quick)["type"], "snapshot");
  // Far more than the socket buffers and the event buffer hold.
  constexpr int kRounds = 400;
  const std::string large(100'000, 'x');
  for (int i = 1; i <= kRounds; ++i) {
    EmitLog(large);
    EXPECT_EQ(Next(*quick)["seq"], i);
  }
  int last = 0;
  int snapshots = 0;
  while (last < kRounds) {
    Json message = Next(*slow);
    ASSERT_FALSE(message.is_null());
    int seq = message["seq"];
    if (message["type"] == "snapshot") {
      ++snapshots;
    } else {
      ASSERT_EQ(seq, last + 1);
    }
    last = seq;
  }
  EXPECT_GE(snapshots, 1);
}

TEST_F(ApiNetworkTest, AllJobsTellOnlyTheirStates) {
  Start();
  fixture_->directory.Add("other");
  auto client = Connect();
  client->Send(R"({"subscribe":{"job":"*"}})");
  std::set<std::string> jobs;
  for (int i = 0; i < 2; ++i) {
    Json event = Next(*client);
    EXPECT_EQ(event["type"], "job");
    EXPECT_EQ(event["info"]["id"], event["job"]);
    jobs.insert(event["job"]);
  }
  EXPECT_EQ(jobs, (std::set<std::string>{"other", "train"}));
  EmitLog("not for all");
  EmitState(model::JobState::kPaused, "other");
  Json event = Next(*client);
  EXPECT_EQ(event["type"], "state");
  EXPECT_EQ(event["job"], "other");
}

TEST_F(ApiNetworkTest, AForgottenJobIsTakenBackFromAllReaders) {
  Start();
  job_->info.state = model::JobState::kFinished;
  EmitLog("end");
  auto client = Connect();
  client->Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(Next(*client)["type"], "snapshot");
  auto all = Connect();
  all->Send(R"({"subscribe":{"job":"*"}})");
  EXPECT_FALSE(Next(*all)["info"].is_null());
  EXPECT_EQ(fixture_->Call("DELETE", "/jobs/train").status, 204);
  for (WebSocketClient* reader : {client.get(), all.get()}) {
    Json event = Next(*reader);
    EXPECT_EQ(event["type"], "job");
    EXPECT_EQ(event["job"], "train");
    EXPECT_TRUE(event["info"].is_null());
  }
}

TEST_F(ApiNetworkTest, AnUnknownJobIsNone) {
  Start();
  auto client = Connect();
  client->Send(R"({"subscribe":{"job":"unknown"}})");
  Json event = Next(*client);
  EXPECT_EQ(event["type"], "job");
  EXPECT_EQ(event["job"], "unknown");
  EXPECT_TRUE(event["info"].is_null());
}

TEST_F(ApiNetworkTest, MessagesThatMakeNoSenseAreAnsweredAndTheStreamGoesOn) {
  Start();
  auto client = Connect();
  for (const char* message :
       {"x", "[]", "{}", R"({"subscribe":"train"})", R"({"subscribe":{}})",
        R"({"subscribe":{"job":"train","after":-1}})"}) {
    client->Send(message);
    Json answer = Next(*client);
    EXPECT_EQ(answer["type"], "error") << message;
    EXPECT_EQ(answer["code"], "bad_message") << message;
  }
  client->Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(Next(*client)["type"], "snapshot");
}

TEST_F(ApiNetworkTest, AReaderThatUnsubscribedHearsNothing) {
  Start();
  auto client = Connect();
  client->Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(Next(*client)["type"], "snapshot");
  client->Send(R"({"unsubscribe":{"job":"train"}})");
  // The reply shows that the previous message has been handled.
  client->Send("x");
  EXPECT_EQ(Next(*client)["type"], "error");
  EmitLog("unheard");
  client->Send("x");
  EXPECT_EQ(Next(*client)["type"], "error");
}

TEST_F(ApiNetworkTest, LargeTensorsCrossWhole) {
  Start();
  job_->tensor.type = {DType::kUint8, {64 << 20}};
  job_->tensor.slice_shape = {64 << 20};
  job_->tensor.data.assign(64 << 20, '\x2a');
  Reply reply =
      Fetch(port_, "GET", "/api/v1/jobs/train/tensor?name=a:0",
            {{"Authorization", "Bearer " + std::string(testing::kToken)},
             {"Accept", "application/octet-stream"}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.size(), size_t{64} << 20);
  EXPECT_EQ(reply.headers["x-graphdbg-shape"], std::to_string(64 << 20));
}

}  // namespace
}  // namespace graphdbg::api
