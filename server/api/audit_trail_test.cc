#include "server/api/audit_trail.h"

#include <gtest/gtest.h>

#include <set>

#include "server/api/testing/api_fixture.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class AuditTrailTest : public testing::ApiTest {
 protected:
  // The entries so far, newest first.
  std::vector<Json> Entries() {
    std::vector<Json> entries;
    const auto page = fixture_.audit->Read(1'000, "");
    for (const std::string& line : page->entries) {
      entries.push_back(Json::parse(line));
    }
    return entries;
  }
  Json Newest() {
    const std::vector<Json> entries = Entries();
    return entries.empty() ? Json() : entries.front();
  }
  http::Response Call(const std::string& method, const std::string& target,
                      const std::string& token, const std::string& body = {}) {
    return fixture_.Call(method, target,
                         {.body = body, .accept = {}, .token = token});
  }
};

TEST_F(AuditTrailTest, EveryChangeHasAName) {
  // These change nothing.
  const std::set<std::string> harmless = {
      "POST /api/v1/conditions/check",
      "POST /api/v1/jobs/{job}/watchpoints/preview",
      // Recorded by its handler, because the caller is not known before.
      "POST /api/v1/login"};
  std::set<std::string_view> actions;
  for (const Route& route : Routes()) {
    const std::string name = std::string(route.method) + " " + route.path;
    if (route.method != "GET" && harmless.count(name) == 0) {
      EXPECT_FALSE(ActionOf(route).empty()) << name;
    }
    if (!ActionOf(route).empty()) {
      EXPECT_TRUE(actions.insert(ActionOf(route)).second) << name;
    }
  }
  EXPECT_EQ(actions.size(), 35u);
}

TEST_F(AuditTrailTest, ACommandIsRecordedWithItsCaller) {
  const std::string alice =
      fixture_.auth
          .CreateToken("alice", auth::Role::kControl, absl::InfiniteFuture())
          ->token;
  Call("POST", "/jobs/train/control", alice,
       R"({"command":"step","steps":3,"rank":1})");
  Json entry = Newest();
  EXPECT_TRUE(entry["time"].is_string());
  entry.erase("time");
  EXPECT_EQ(entry, (Json{{"who", "alice"},
                         {"role", "control"},
                         {"from", "127.0.0.1:40312"},
                         {"action", "control"},
                         {"job", "train"},
                         {"detail", "step 3 on rank 1"},
                         {"result", "ok"}}));
}

TEST_F(AuditTrailTest, AFailureIsRecordedWithItsCode) {
  job_->error = absl::FailedPreconditionError("no");
  Post("/jobs/train/control", R"({"command":"continue"})");
  EXPECT_EQ(Newest()["result"], "failed_precondition");
  Post("/jobs/nobody/control", R"({"command":"continue"})");
  EXPECT_EQ(Newest()["result"], "unknown_job");
  EXPECT_EQ(Newest()["job"], "nobody");
}

TEST_F(AuditTrailTest, RefusedRequestsAreRecorded) {
  const std::string view =
      fixture_.auth
          .CreateToken("eve", auth::Role::kView, absl::InfiniteFuture())
          ->token;
  Call("POST", "/jobs/train/control", view, R"({"command":"continue"})");
  EXPECT_EQ(Newest()["who"], "eve");
  EXPECT_EQ(Newest()["action"], "control");
  EXPECT_EQ(Newest()["result"], "role_too_low");
  Call("GET", "/jobs", "wrong");
  EXPECT_EQ(Newest()["who"], "");
  EXPECT_EQ(Newest()["action"], "GET /api/v1/jobs");
  EXPECT_EQ(Newest()["result"], "invalid_token");
  Call("POST", "/login", "", R"({"code":"wrong"})");
  EXPECT_EQ(Newest()["action"], "login");
  EXPECT_EQ(Newest()["result"], "invalid_code");
  EXPECT_EQ(Entries().size(), 3u);
}

TEST_F(AuditTrailTest, ReadingJobsIsNotRecorded) {
  Get("/jobs");
  Get("/jobs/train");
  Get("/session");
  EXPECT_TRUE(Entries().empty());
}

TEST_F(AuditTrailTest, ReadingValuesIsRecordedOnce) {
  job_->tensor.type = {DType::kUint8, {1}};
  job_->tensor.slice_shape = {1};
  job_->tensor.data = "x";
  for (int i = 0; i < 3; ++i) Get("/jobs/train/tensor?name=fc1:0&slice=[0]");
  ASSERT_EQ(Entries().size(), 1u);
  EXPECT_EQ(Newest()["action"], "read_values");
  EXPECT_EQ(Newest()["detail"], "fc1:0");
  Get("/jobs/train/tensor/download?name=fc1:0&format=npy");
  EXPECT_EQ(Newest()["action"], "download_tensor");
  EXPECT_EQ(Newest()["detail"], "name=fc1:0, format=npy");
}

TEST_F(AuditTrailTest, WatchpointsAndLeasesAreDescribed) {
  Post("/jobs/train/watchpoints", R"({"condition":{"id":"nan"}})");
  EXPECT_EQ(Newest()["action"], "add_watchpoint");
  EXPECT_NE(Newest()["detail"].get<std::string>().find("nan"),
            std::string::npos);
  fixture_.Call("DELETE", "/jobs/train/watchpoints/7");
  EXPECT_EQ(Newest()["detail"], "watchpoint 7");
  const std::string alice =
      fixture_.auth
          .CreateToken("alice", auth::Role::kControl, absl::InfiniteFuture())
          ->token;
  Call("POST", "/jobs/train/lease", alice, "{}");
  Post("/jobs/train/lease", "{}");
  EXPECT_EQ(Newest()["action"], "take_lease");
  EXPECT_EQ(Newest()["who"], "owner");
  EXPECT_EQ(Newest()["detail"], "from alice");
}

TEST_F(AuditTrailTest, TheLogHasNoTokensAndNoCodes) {
  const Json created =
      BodyOf(Post("/tokens", R"({"name":"alice","role":"admin"})"));
  const std::string token = created["token"];
  const std::string code =
      BodyOf(Call("POST", "/login/codes", token, "{}"))["code"];
  const std::string login = Json{{"code", code}}.dump();
  const std::string session =
      BodyOf(Call("POST", "/login", "", login))["token"];
  Call("POST", "/login", "", login);
  Call("DELETE", "/session", session);
  Call("GET", "/jobs", session);
  fixture_.Call("DELETE", "/tokens/" + created["id"].get<std::string>());
  std::set<std::string> actions;
  std::string all;
  for (const Json& entry : Entries()) {
    all += entry.dump();
    actions.insert(entry["action"]);
  }
  for (const std::string& secret :
       {token, code, session, std::string(testing::kToken)}) {
    EXPECT_EQ(all.find(secret), std::string::npos);
  }
  EXPECT_EQ(actions, (std::set<std::string>{
                         "create_token", "issue_code", "login", "end_session",
                         "GET /api/v1/jobs", "revoke_token"}));
}

TEST_F(AuditTrailTest, AdministratorsReadItInPages) {
  for (int i = 1; i <= 5; ++i) {
    Post("/jobs/train/control",
         R"({"command":"step","steps":)" + std::to_string(i) + "}");
  }
  std::vector<std::string> details;
  std::string query = "?limit=2";
  while (true) {
    const Json page = BodyOf(Get("/audit" + query));
    for (const Json& entry : page["entries"]) {
      details.push_back(entry["detail"]);
    }
    if (page["next_cursor"].is_null()) break;
    query = "?limit=2&cursor=" + page["next_cursor"].get<std::string>();
  }
  EXPECT_EQ(details, (std::vector<std::string>{"step 5", "step 4", "step 3",
                                               "step 2", "step 1"}));
  ExpectProblem(Get("/audit?limit=0"), 400, "invalid_parameter", "limit");
  ExpectProblem(Get("/audit?cursor=x"), 400, "bad_cursor", "cursor");
}

}  // namespace
}  // namespace graphdbg::api
