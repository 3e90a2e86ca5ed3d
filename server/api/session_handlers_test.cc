#include <gtest/gtest.h>

#include "server/api/embedding.h"
#include "server/api/testing/api_fixture.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class SessionHandlersTest : public testing::ApiTest {
 protected:
  http::Response Call(const std::string& method, const std::string& target,
                      const std::string& token, const std::string& body = {}) {
    return fixture_.Call(method, target,
                         {.body = body, .accept = {}, .token = token});
  }
  http::Response LogIn(const std::string& code) {
    return Call("POST", "/login", "", Json{{"code", code}}.dump());
  }
  std::string Token(const std::string& name, auth::Role role) {
    return fixture_.auth.CreateToken(name, role, absl::InfiniteFuture())->token;
  }
};

TEST_F(SessionHandlersTest, ACodeBuysASessionOnce) {
  const std::string code = fixture_.auth.IssueOwnerCode()->code;
  const http::Response response = LogIn(code);
  EXPECT_EQ(response.status, 200);
  const Json session = BodyOf(response);
  EXPECT_NE(session["token"], testing::kToken);
  EXPECT_EQ(session["name"], "owner");
  EXPECT_EQ(session["role"], "admin");
  EXPECT_TRUE(session["expires_at"].is_string());
  EXPECT_EQ(Call("GET", "/jobs", session["token"]).status, 200);
  ExpectProblem(LogIn(code), 401, "invalid_code");
  ExpectProblem(Call("POST", "/login", "", "{}"), 422, "invalid_field", "code");
}

TEST_F(SessionHandlersTest, TheProblemOfAnOldCodeSaysHowToGetANewOne) {
  const Json problem = BodyOf(LogIn("an old code"));
  EXPECT_NE(problem["detail"].get<std::string>().find("graphdbg url"),
            std::string::npos);
}

TEST_F(SessionHandlersTest, CallersGetCodesForThemselves) {
  const std::string alice = Token("alice", auth::Role::kControl);
  for (const char* body : {"", "{}", R"({"name":"alice","role":"control"})"}) {
    const http::Response response = Call("POST", "/login/codes", alice, body);
    EXPECT_EQ(response.status, 201);
    EXPECT_TRUE(BodyOf(response)["expires_at"].is_string());
    const Json session = BodyOf(LogIn(BodyOf(response)["code"]));
    EXPECT_EQ(session["name"], "alice");
    EXPECT_EQ(session["role"], "control");
  }
  const http::Response lower =
      Call("POST", "/login/codes", alice, R"({"role":"view"})");
  EXPECT_EQ(BodyOf(LogIn(BodyOf(lower)["code"]))["role"], "view");
  ExpectProblem(Call("POST", "/login/codes", alice, R"({"role":"admin"})"), 403,
                "role_too_low");
  ExpectProblem(
      Call("POST", "/login/codes", alice, R"({"name":"bob","role":"view"})"),
      403, "role_too_low");
}

TEST_F(SessionHandlersTest, AnAddressForAFrameHasAKey) {
  EXPECT_EQ(BodyOf(Post("/login/codes", "{}"))["path"], "/");
  const Json login = BodyOf(Post("/login/codes", R"({"embed":true})"));
  EXPECT_EQ(LogIn(login["code"]).status, 200);
  const std::string path = login["path"];
  const std::string start = "/?embed=";
  ASSERT_EQ(path.substr(0, start.size()), start);
  http::Request request;
  request.path = "/";
  EXPECT_FALSE(IsEmbedded(fixture_.auth, request));
  // The code is used, but the frame can be loaded again.
  request.query = {{"embed", path.substr(start.size())}};
  EXPECT_TRUE(IsEmbedded(fixture_.auth, request));
  request.path = "/api/v1/jobs";
  EXPECT_FALSE(IsEmbedded(fixture_.auth, request));
  request.path = "/";
  request.query = {{"embed", login["code"]}};
  EXPECT_FALSE(IsEmbedded(fixture_.auth, request));
  ExpectProblem(Post("/login/codes", R"({"embed":1})"), 422, "invalid_field",
                "embed");
}

TEST_F(SessionHandlersTest, AdministratorsGetCodesForOthers) {
  const http::Response response =
      Post("/login/codes", R"({"name":"bob","role":"control"})");
  const Json session = BodyOf(LogIn(BodyOf(response)["code"]));
  EXPECT_EQ(session["name"], "bob");
  EXPECT_EQ(session["role"], "control");
}

TEST_F(SessionHandlersTest, NamesAndRolesAreChecked) {
  for (const std::string& name :
       {std::string(), std::string(" bob"), std::string("b\nob"),
        std::string("b\u202eob"), std::string(65, 'b')}) {
    ExpectProblem(Post("/login/codes", Json{{"name", name}}.dump()), 422,
                  "invalid_field", "name");
  }
  ExpectProblem(Post("/login/codes", R"({"role":"root"})"), 422,
                "invalid_field", "role");
  ExpectProblem(Post("/login/codes", R"({"who":"bob"})"), 422, "invalid_field",
                "who");
  // Only the owner may be called so.
  const std::string admin = Token("alice", auth::Role::kAdmin);
  ExpectProblem(Call("POST", "/login/codes", admin, R"({"name":"owner"})"), 422,
                "invalid_field", "name");
}

TEST_F(SessionHandlersTest, ASessionKnowsItself) {
  EXPECT_EQ(
      BodyOf(Get("/session")),
      (Json{{"name", "owner"}, {"role", "admin"}, {"expires_at", nullptr}}));
  const std::string session =
      BodyOf(LogIn(fixture_.auth.IssueOwnerCode()->code))["token"];
  EXPECT_TRUE(
      BodyOf(Call("GET", "/session", session))["expires_at"].is_string());
}

TEST_F(SessionHandlersTest, ASessionEndsItself) {
  const std::string session =
      BodyOf(LogIn(fixture_.auth.IssueOwnerCode()->code))["token"];
  EXPECT_EQ(Call("DELETE", "/session", session).status, 204);
  ExpectProblem(Call("GET", "/session", session), 401, "invalid_token");
  ExpectProblem(Call("DELETE", "/session", testing::kToken), 409,
                "not_a_session");
}

TEST_F(SessionHandlersTest, TokensAreCreatedListedAndRevoked) {
  const http::Response response =
      Post("/tokens",
           R"({"name":"alice","role":"control","expires_in_seconds":3600})");
  EXPECT_EQ(response.status, 201);
  const Json created = BodyOf(response);
  EXPECT_EQ(response.headers.Get("Location"),
            "/api/v1/tokens/" + created["id"].get<std::string>());
  EXPECT_EQ(created["name"], "alice");
  EXPECT_EQ(created["role"], "control");
  EXPECT_TRUE(created["created_at"].is_string());
  EXPECT_TRUE(created["expires_at"].is_string());
  const std::string token = created["token"];
  EXPECT_EQ(Call("GET", "/jobs", token).status, 200);
  LogIn(fixture_.auth.IssueOwnerCode()->code);

  const Json list = BodyOf(Get("/tokens"));
  ASSERT_EQ(list["tokens"].size(), 1u);
  EXPECT_EQ(list["tokens"][0]["id"], created["id"]);
  EXPECT_FALSE(list["tokens"][0].contains("token"));
  ASSERT_EQ(list["sessions"].size(), 1u);
  EXPECT_EQ(list["sessions"][0]["name"], "owner");

  const std::string path = "/tokens/" + created["id"].get<std::string>();
  EXPECT_EQ(fixture_.Call("DELETE", path).status, 204);
  ExpectProblem(Call("GET", "/jobs", token), 401, "invalid_token");
  ExpectProblem(fixture_.Call("DELETE", path), 404, "unknown_token");
}

TEST_F(SessionHandlersTest, TheFieldsOfATokenAreChecked) {
  ExpectProblem(Post("/tokens", R"({"role":"view"})"), 422, "invalid_field",
                "name");
  ExpectProblem(Post("/tokens", R"({"name":"alice"})"), 422, "invalid_field",
                "role");
  ExpectProblem(Post("/tokens", R"({"name":"owner","role":"view"})"), 422,
                "invalid_field", "name");
  for (const char* seconds : {"0", "-1", "1.5", "315360001", "\"1\""}) {
    ExpectProblem(Post("/tokens", R"({"name":"a","role":"view",)"
                                  R"("expires_in_seconds":)" +
                                      std::string(seconds) + "}"),
                  422, "invalid_field", "expires_in_seconds");
  }
  EXPECT_TRUE(
      BodyOf(Post("/tokens", R"({"name":"a","role":"view"})"))["expires_at"]
          .is_null());
}

}  // namespace
}  // namespace graphdbg::api
