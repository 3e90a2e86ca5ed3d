// Tests the API over real connections: credentials, hosts, origins, events.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "server/api/testing/api_fixture.h"
#include "server/http/testing/client.h"

namespace graphdbg::api {
namespace {

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

TEST_F(ApiNetworkTest, RouteByCredentialByHostByOrigin) {
  Start();
  const std::string bearer = "Bearer " + std::string(testing::kToken);
  const std::string own = "http://127.0.0.1:" + std::to_string(port_);
  struct Credential {
    std::string authorization;
    bool right;
  };
  const Credential credentials[] = {
      {"", false}, {bearer, true}, {"Bearer wrong", false}, {"Basic x", false}};
  struct Name {
    Fields fields;
    int refused;
  };
  const Name names[] = {
      {{}, 0},
      {{{"Origin", own}}, 0},
      {{{"Host", "localhost:9000"}}, 0},
      {{{"Host", "localhost:9000"}, {"Origin", "http://localhost:9000"}}, 0},
      {{{"Host", "evil.com"}}, 421},
      {{{"Host", "evil.com"}, {"Origin", "http://evil.com"}}, 421},
      {{{"Origin", "http://evil.com"}}, 403},
      {{{"Origin", "null"}}, 403},
  };
  for (const Route& route : Routes()) {
    if (route.is_event_socket()) continue;
    const bool writes = route.method == "POST" || route.method == "PATCH";
    std::string path = route.path;
    for (const auto& [name, value] : {std::pair("{job}", "train"),
                                      {"{watchpoint}", "1"},
                                      {"{token}", "none"}}) {
      size_t at = path.find(name);
      if (at != std::string::npos) path.replace(at, strlen(name), value);
    }
    for (const Credential& credential : credentials) {
      for (const Name& name : names) {
        Fields fields = name.fields;
        fields["Authorization"] = credential.authorization;
        if (route.body.in_pieces) {
          fields["Content-Type"] = "application/octet-stream";
        }
        int status = Fetch(port_, std::string(route.method), path, fields,
                           writes ? "{}" : "")
                         .status;
        std::string what = path + " " + credential.authorization;
        if (name.refused != 0) {
          EXPECT_EQ(status, name.refused) << what;
        } else if (route.access != Access::kOpen && !credential.right) {
          EXPECT_EQ(status, 401) << what;
        } else {
          EXPECT_TRUE(status != 403 && status != 421) << what;
          // A login without a code fails for another reason.
          EXPECT_NE(status, 401) << what;
        }
      }
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
