#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "server/api/testing/api_fixture.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class ServerHandlersTest : public testing::ApiTest {
 protected:
  http::Response Open(const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    return fixture_.Call(method, target,
                         {.body = body, .accept = {}, .token = {}});
  }
};

TEST_F(ServerHandlersTest, EveryRouteButTheOpenOnesNeedsTheToken) {
  const std::vector<std::string> open = {
      "/livez", "/readyz", "/api/v1/openapi.json", "/api/v1/login"};
  for (const Route& route : Routes()) {
    bool is_open =
        std::find(open.begin(), open.end(), route.path) != open.end();
    EXPECT_EQ(route.access == Access::kOpen, is_open) << route.path;
    // The WebSocket needs a connection; see api_network_test.
    if (route.is_event_socket() || is_open) continue;
    std::string path = route.path.substr(std::string("/api/v1").size());
    for (const char* token : {"", "wrong", "the-agent-token"}) {
      http::Response response =
          fixture_.Call(std::string(route.method), path,
                        {.body = {}, .accept = {}, .token = token});
      ExpectProblem(response, 401,
                    *token == '\0' ? "missing_token" : "invalid_token");
      EXPECT_EQ(response.headers.Get("WWW-Authenticate"), "Bearer");
    }
  }
}

TEST_F(ServerHandlersTest, TheServerSaysWhatItIs) {
  EXPECT_EQ(BodyOf(Get("/server")), Json::parse(R"({"name":"graphdbg",
      "version":"1.2.3","http_address":"http://127.0.0.1:8080",
      "debugger_address":"127.0.0.1:50051","viewers":0,"attaches":false,
      "storage":{"state":"ok","reason":null,"since":null,"set_aside":[]}})"));
}

TEST_F(ServerHandlersTest, AFailingStoreIsToldEverywhere) {
  EXPECT_NE(Get("/metrics").body.find("\ngraphdbg_store_failed 0\n"),
            std::string::npos);
  fixture_.storage.failing = true;
  fixture_.storage.reason = "the disk is full";
  fixture_.storage.since_unix_nano = 1'000'000'000;
  fixture_.storage.set_aside = {{"train", "a row is damaged"}};
  ExpectProblem(Open("GET", "/readyz"), 503, "not_kept");
  EXPECT_EQ(Open("GET", "/livez").status, 200);
  EXPECT_NE(Get("/metrics").body.find("\ngraphdbg_store_failed 1\n"),
            std::string::npos);
  EXPECT_EQ(BodyOf(Get("/server"))["storage"], Json::parse(R"({
      "state":"failing","reason":"the disk is full",
      "since":"1970-01-01T00:00:01.000000Z",
      "set_aside":[{"job":"train","reason":"a row is damaged"}]})"));
}

TEST_F(ServerHandlersTest, ReadinessIsToldFromLife) {
  EXPECT_EQ(Open("GET", "/readyz").status, 200);
  fixture_.ready = false;
  ExpectProblem(Open("GET", "/readyz"), 503, "not_ready");
  EXPECT_EQ(Open("GET", "/livez").status, 200);
}

TEST_F(ServerHandlersTest, MetricsCountJobsByState) {
  job_->info.state = model::JobState::kPaused;
  job_->info.hit_count = 5;
  std::string text = Get("/metrics").body;
  EXPECT_NE(text.find("graphdbg_jobs{state=\"paused\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("graphdbg_jobs{state=\"running\"} 0\n"),
            std::string::npos);
  EXPECT_NE(text.find("\ngraphdbg_hits 5\n"), std::string::npos);
}

TEST_F(ServerHandlersTest, MetricsHaveTheOverheadOfJobsInWhichItIsKnown) {
  EXPECT_EQ(Get("/metrics").body.find("graphdbg_job_overhead_ratio{"),
            std::string::npos);
  EXPECT_TRUE(BodyOf(Get("/jobs/train"))["overhead"].is_null());
  job_->info.overhead = 0.25;
  EXPECT_NE(
      Get("/metrics")
          .body.find("\ngraphdbg_job_overhead_ratio{job=\"train\"} 0.25\n"),
      std::string::npos);
  EXPECT_EQ(BodyOf(Get("/jobs/train"))["overhead"], 0.25);
}

TEST_F(ServerHandlersTest, ParametersThatNobodyReadsAreRefused) {
  ExpectProblem(Get("/jobs?state=paused"), 400, "unknown_parameter", "state");
}

// The OpenAPI description and the table of routes must match.
TEST_F(ServerHandlersTest, TheDescriptionMatchesTheRoutes) {
  Json description = BodyOf(Open("GET", "/openapi.json"));
  ASSERT_TRUE(description["paths"].is_object());
  auto resolve = [&](const Json& value) {
    if (!value.contains("$ref")) return value;
    std::string pointer = value["$ref"].get<std::string>().substr(1);
    return description.at(Json::json_pointer(pointer));
  };
  using Names = std::set<std::string>;
  std::map<std::string, Names> described;
  std::map<std::string, bool> described_open;
  for (const auto& [path, item] : description["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      std::string name = method + " " + path;
      std::transform(name.begin(), name.begin() + method.size(), name.begin(),
                     ::toupper);
      Names& query = described[name];
      for (const Json& parameter :
           operation.value("parameters", Json::array())) {
        Json resolved = resolve(parameter);
        if (resolved["in"] == "query") query.insert(resolved["name"]);
      }
      described_open[name] =
          operation.contains("security") && operation["security"].empty();
    }
  }
  std::map<std::string, Names> routed;
  std::map<std::string, bool> routed_open;
  for (const Route& route : Routes()) {
    std::string name = std::string(route.method) + " " + route.path;
    routed[name] = Names(route.query.begin(), route.query.end());
    routed_open[name] = route.access == Access::kOpen;
  }
  EXPECT_EQ(described, routed);
  EXPECT_EQ(described_open, routed_open);
}

}  // namespace
}  // namespace graphdbg::api
