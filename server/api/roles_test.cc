// Asserts the outcome of every route with every role.
#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>
#include <cstring>
#include <map>

#include "server/api/testing/api_fixture.h"
#include "server/http/server.h"
#include "server/http/testing/client.h"

namespace graphdbg::api {
namespace {

using auth::Role;
using testing::BodyOf;

constexpr char kAnybody[] = "";

// The role that each route requires, independently of the table under test.
const std::map<std::string, std::string>& RequiredRoles() {
  static const auto* const kRoles = new std::map<std::string, std::string>{
      {"GET /livez", kAnybody},
      {"GET /readyz", kAnybody},
      {"GET /openapi.json", kAnybody},
      {"POST /login", kAnybody},
      {"POST /login/codes", "view"},
      {"GET /session", "view"},
      {"DELETE /session", "view"},
      {"GET /metrics", "view"},
      {"GET /server", "view"},
      {"GET /events", "view"},
      {"GET /conditions", "view"},
      {"GET /conditions/{condition}/advice", "view"},
      {"GET /rules", "view"},
      {"GET /rules/{rule}/advice", "view"},
      {"GET /jobs", "view"},
      {"GET /jobs/{job}", "view"},
      {"GET /jobs/{job}/graphs", "view"},
      {"GET /jobs/{job}/ranks", "view"},
      {"GET /jobs/{job}/graph/index", "view"},
      {"GET /jobs/{job}/graph/scope", "view"},
      {"GET /jobs/{job}/graph/node", "view"},
      {"GET /jobs/{job}/graph/search", "view"},
      {"GET /jobs/{job}/graph/export", "view"},
      {"GET /jobs/{job}/graph/source", "view"},
      {"GET /jobs/{job}/graph/neighbours", "view"},
      {"GET /jobs/{job}/watchpoints", "view"},
      {"GET /jobs/{job}/watchpoints/{watchpoint}", "view"},
      {"GET /jobs/{job}/hits", "view"},
      {"GET /jobs/{job}/hits/{hit}/diagnosis", "view"},
      {"GET /jobs/{job}/incidents", "view"},
      {"GET /jobs/{job}/tensors", "view"},
      {"GET /jobs/{job}/tensor", "view"},
      {"GET /jobs/{job}/tensor/statistics", "view"},
      {"GET /jobs/{job}/tensor/histogram", "view"},
      {"GET /jobs/{job}/overview", "view"},
      {"GET /jobs/{job}/overview/values", "view"},
      {"GET /jobs/{job}/overview/module", "view"},
      {"GET /jobs/{job}/overview/ops", "view"},
      {"GET /jobs/{job}/statistics", "view"},
      {"GET /jobs/{job}/tensor/history", "view"},
      {"GET /jobs/{job}/tensor/download", "view"},
      {"GET /jobs/{job}/hits/{hit}/bundle", "control"},
      {"GET /jobs/{job}/tensor/compare", "view"},
      {"GET /jobs/{job}/tensor/map", "view"},
      {"POST /conditions/check", "control"},
      {"POST /graphs", "control"},
      {"GET /trainings", "admin"},
      {"POST /trainings/{pid}/attach", "admin"},
      {"POST /trainings/{pid}/detach", "admin"},
      {"POST /jobs/{job}/control", "control"},
      {"POST /jobs/{job}/lease", "control"},
      {"DELETE /jobs/{job}/lease", "control"},
      {"POST /jobs/{job}/watchpoints", "control"},
      {"POST /jobs/{job}/watchpoints/preview", "control"},
      {"POST /jobs/{job}/watchpoints/recommended", "control"},
      {"PATCH /jobs/{job}/watchpoints/{watchpoint}", "control"},
      {"DELETE /jobs/{job}/watchpoints/{watchpoint}", "control"},
      {"POST /jobs/{job}/tensor/catch", "control"},
      {"POST /jobs/{job}/whatif", "control"},
      {"POST /jobs/{job}/change", "admin"},
      {"GET /jobs/{job}/recording", "view"},
      {"PUT /jobs/{job}/recording", "control"},
      {"GET /jobs/{job}/rules", "view"},
      {"POST /jobs/{job}/rules", "control"},
      {"DELETE /jobs/{job}/rules/{rule}", "control"},
      {"GET /jobs/{job}/findings", "view"},
      {"POST /jobs/{job}/findings", "control"},
      {"GET /runs", "view"},
      {"GET /runs/{run}", "view"},
      {"GET /runs/{run}/steps", "view"},
      {"GET /runs/{run}/collections", "view"},
      {"GET /runs/{run}/statistics", "view"},
      {"GET /runs/{run}/divergence", "view"},
      {"GET /runs/{run}/graphs", "view"},
      {"GET /runs/{run}/graph/index", "view"},
      {"GET /runs/{run}/graph/scope", "view"},
      {"GET /runs/{run}/graph/node", "view"},
      {"GET /runs/{run}/graph/search", "view"},
      {"GET /runs/{run}/graph/export", "view"},
      {"GET /runs/{run}/graph/source", "view"},
      {"GET /runs/{run}/graph/neighbours", "view"},
      {"GET /runs/{run}/watchpoints", "view"},
      {"GET /runs/{run}/watchpoints/{watchpoint}", "view"},
      {"GET /runs/{run}/hits", "view"},
      {"GET /runs/{run}/hits/{hit}/diagnosis", "view"},
      {"GET /runs/{run}/incidents", "view"},
      {"GET /runs/{run}/tensors", "view"},
      {"GET /runs/{run}/tensor", "view"},
      {"GET /runs/{run}/tensor/statistics", "view"},
      {"GET /runs/{run}/tensor/histogram", "view"},
      {"GET /runs/{run}/ranks", "view"},
      {"GET /runs/{run}/overview", "view"},
      {"GET /runs/{run}/overview/values", "view"},
      {"GET /runs/{run}/overview/module", "view"},
      {"GET /runs/{run}/overview/ops", "view"},
      {"GET /runs/{run}/tensor/history", "view"},
      {"GET /runs/{run}/tensor/download", "view"},
      {"GET /runs/{run}/tensor/compare", "view"},
      {"GET /runs/{run}/tensor/map", "view"},
      {"GET /runs/{run}/checks/{check}", "view"},
      {"POST /runs/{run}/checks", "control"},
      {"DELETE /runs/{run}/checks/{check}", "control"},
      {"GET /runs/{run}/rules", "view"},
      {"POST /runs/{run}/rules", "control"},
      {"DELETE /runs/{run}/rules/{rule}", "control"},
      {"GET /runs/{run}/findings", "view"},
      {"DELETE /jobs/{job}", "admin"},
      {"GET /tokens", "admin"},
      {"POST /tokens", "admin"},
      {"DELETE /tokens/{token}", "admin"},
      {"GET /audit", "admin"},
  };
  return *kRoles;
}

std::string PathBelowBase(const Route& route) {
  const std::string base = "/api/v1";
  return route.path.rfind(base, 0) == 0 ? route.path.substr(base.size())
                                        : route.path;
}

class RolesTest : public testing::ApiTest {
 protected:
  RolesTest() {
    for (Role role : {Role::kView, Role::kControl, Role::kAdmin}) {
      tokens_[role] =
          fixture_.auth.CreateToken("somebody", role, absl::InfiniteFuture())
              ->token;
    }
    fixture_.services.open_model =
        [](std::string, std::string,
           http::NextPiece) -> jobs::Task<std::string> { co_return "model"; };
  }

  // A path of the route that names things that exist.
  static std::string Concrete(std::string path) {
    for (const auto& [name, value] : {std::pair("{job}", "train"),
                                      {"{run}", "abc"},
                                      {"{check}", "1"},
                                      {"{rule}", "none"},
                                      {"{watchpoint}", "1"},
                                      {"{token}", "none"}}) {
      const size_t at = path.find(name);
      if (at != std::string::npos) path.replace(at, strlen(name), value);
    }
    return path;
  }

  std::map<Role, std::string> tokens_;
};

TEST_F(RolesTest, EveryRouteIsInTheTable) {
  std::map<std::string, std::string> routed;
  for (const Route& route : Routes()) {
    const std::string name =
        std::string(route.method) + " " + PathBelowBase(route);
    EXPECT_EQ(RequiredRoles().count(name), 1u) << name;
    routed[name];
  }
  EXPECT_EQ(routed.size(), RequiredRoles().size());
}

TEST_F(RolesTest, EveryRouteWithEveryRole) {
  int cells = 0;
  for (const Route& route : Routes()) {
    // The WebSocket needs a connection; see below.
    if (route.is_event_socket()) continue;
    const std::string path = PathBelowBase(route);
    const std::string& required =
        RequiredRoles().at(std::string(route.method) + " " + path);
    for (const auto& [role, token] : tokens_) {
      const http::Response response =
          fixture_.Call(std::string(route.method), Concrete(path),
                        {.body = "{}", .accept = {}, .token = token});
      const std::string what = std::string(route.method) + " " + path + " as " +
                               std::string(auth::ToString(role));
      ++cells;
      const bool allowed =
          required == kAnybody || role >= *auth::ParseRole(required);
      if (allowed) {
        EXPECT_NE(response.status, 403) << what;
        continue;
      }
      EXPECT_EQ(response.status, 403) << what;
      const Json problem = BodyOf(response);
      EXPECT_EQ(problem["code"], "role_too_low") << what;
      const std::string detail = problem["detail"];
      EXPECT_NE(detail.find("'" + required + "'"), std::string::npos) << detail;
    }
  }
  EXPECT_GE(cells, 130);
}

TEST_F(RolesTest, OnlyAdministratorsTerminate) {
  for (const auto& [role, token] : tokens_) {
    for (const char* command :
         {"continue", "step", "next_node", "pause", "recheck", "terminate"}) {
      job_->asked_control.reset();
      const http::Response response =
          fixture_.Call("POST", "/jobs/train/control",
                        {.body = Json{{"command", command}}.dump(),
                         .accept = {},
                         .token = token});
      const Role required =
          command == std::string("terminate") ? Role::kAdmin : Role::kControl;
      EXPECT_EQ(response.status, role >= required ? 202 : 403) << command;
      EXPECT_EQ(job_->asked_control.has_value(), role >= required) << command;
    }
  }
}

TEST_F(RolesTest, OnlyAdministratorsAddRulesThatTerminate) {
  for (const auto& [role, token] : tokens_) {
    for (const std::string action : {"pause", "log", "stop"}) {
      const Json rule = {
          {"name", "r"}, {"when", "step > 1"}, {"actions", {action}}};
      const http::Response response =
          fixture_.Call("POST", "/jobs/train/rules",
                        {.body = Json{{"rules", {rule}}}.dump(),
                         .accept = {},
                         .token = token});
      const Role required = action == "stop" ? Role::kAdmin : Role::kControl;
      EXPECT_EQ(response.status == 403, role < required) << action;
    }
  }
}

TEST_F(RolesTest, CommandsCarryTheNameOfTheirCaller) {
  fixture_.Call("POST", "/jobs/train/control",
                {.body = R"({"command":"pause"})",
                 .accept = {},
                 .token = tokens_[Role::kControl]});
  EXPECT_EQ(job_->asked_control->user, "somebody");
  Post("/jobs/train/control", R"({"command":"pause"})");
  EXPECT_EQ(job_->asked_control->user, "owner");
}

TEST_F(RolesTest, TheLeaseBelongsToTheName) {
  const testing::CallOptions somebody = {
      .body = {}, .accept = {}, .token = tokens_[Role::kControl]};
  const Json taken =
      BodyOf(fixture_.Call("POST", "/jobs/train/lease", somebody));
  EXPECT_EQ(taken["controller"]["name"], "somebody");
  EXPECT_TRUE(taken["controller"]["since"].is_string());
  EXPECT_EQ(BodyOf(Get("/jobs/train"))["controller"], taken["controller"]);
  ExpectProblem(fixture_.Call("DELETE", "/jobs/train/lease"), 409,
                "not_controller");
  EXPECT_EQ(BodyOf(Post("/jobs/train/lease", "{}"))["controller"]["name"],
            "owner");
  EXPECT_EQ(fixture_.Call("DELETE", "/jobs/train/lease").status, 204);
  EXPECT_TRUE(BodyOf(Get("/jobs/train"))["controller"].is_null());
}

// The event stream over a real connection.
class EventRolesTest : public RolesTest {
 protected:
  EventRolesTest() {
    auto port = server_.Start();
    EXPECT_TRUE(port.ok()) << port.status();
    port_ = *port;
  }

  static std::string TypeOf(const std::optional<std::string>& message) {
    return message ? Json::parse(*message)["type"].get<std::string>() : "";
  }
  std::unique_ptr<http::testing::WebSocketClient> Connect(
      const std::string& token) {
    return std::make_unique<http::testing::WebSocketClient>(
        port_, "/api/v1/events",
        http::testing::Fields{{"Authorization", "Bearer " + token}});
  }

  http::testing::IoThreads io_;
  http::Server server_{io_.context().get_executor(), fixture_.router,
                       http::ServerOptions()};
  uint16_t port_ = 0;
};

TEST_F(EventRolesTest, EveryRoleReadsEvents) {
  for (const auto& [role, token] : tokens_) {
    EXPECT_EQ(TypeOf(Connect(token)->Receive()), "ready");
  }
}

TEST_F(EventRolesTest, AStreamEndsWithItsToken) {
  const auto issued =
      fixture_.auth.CreateToken("alice", Role::kView, absl::InfiniteFuture());
  auto stream = Connect(issued->token);
  EXPECT_EQ(TypeOf(stream->Receive()), "ready");
  auto other = Connect(tokens_[Role::kView]);
  EXPECT_EQ(TypeOf(other->Receive()), "ready");
  const std::string path = "/tokens/" + issued->credential.holder.id;
  EXPECT_EQ(fixture_.Call("DELETE", path).status, 204);
  const auto message = stream->Receive();
  EXPECT_EQ(TypeOf(message), "error");
  EXPECT_EQ(Json::parse(*message)["code"], "session_ended");
  EXPECT_FALSE(stream->Receive().has_value());
  EXPECT_EQ(stream->close_code(), 1008);
  other->Send(R"({"subscribe":{"job":"train"}})");
  EXPECT_EQ(TypeOf(other->Receive()), "snapshot");
}

TEST_F(EventRolesTest, AStreamEndsWhenItsTokenExpires) {
  std::unique_ptr<http::testing::WebSocketClient> stream;
  // On a slow machine the token expires before the stream has begun.
  for (absl::Duration lifetime = absl::Seconds(1); !stream; lifetime *= 2) {
    const auto issued = fixture_.auth.CreateToken(
        "alice", Role::kView, fixture_.auth.Now() + lifetime);
    try {
      stream = Connect(issued->token);
    } catch (const boost::system::system_error&) {
      continue;
    }
    if (TypeOf(stream->Receive()) != "ready") stream.reset();
  }
  EXPECT_EQ(TypeOf(stream->Receive()), "error");
  EXPECT_FALSE(stream->Receive().has_value());
  EXPECT_EQ(stream->close_code(), 1008);
}

}  // namespace
}  // namespace graphdbg::api
