#include "server/auth/authenticator.h"

#include <gtest/gtest.h>

#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

constexpr char kLocal[] = "ipv4:127.0.0.1:40000";
constexpr char kRemote[] = "ipv4:10.0.0.7:40000";
constexpr uid_t kUser = 1000;

class AuthenticatorTest : public ::testing::Test {
 protected:
  AuthOptions Options() {
    AuthOptions options;
    options.own_user = kUser;
    options.user_of_peer = [this](std::string_view) { return peer_user_; };
    options.now = [this] { return now_; };
    options.steady_now = [this] {
      return LoginCodes::Clock::time_point(
          absl::ToChronoNanoseconds(now_ - absl::UnixEpoch()));
    };
    return options;
  }
  Principal Caller(const std::string& token) { return *auth_.CheckApi(token); }
  std::string Token(const std::string& name, Role role) {
    return auth_.CreateToken(name, role, absl::InfiniteFuture())->token;
  }
  IssuedToken LogIn(const Principal& caller) {
    return *auth_.Redeem(
        auth_.IssueCode(caller, caller.name, caller.role)->code);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  absl::StatusOr<uid_t> peer_user_ = kUser;
  Authenticator auth_{{"api-secret", "agent-secret"}, Options()};
};

TEST_F(AuthenticatorTest, TheOwnersTokenIsAnAdministrators) {
  const Principal owner = Caller("api-secret");
  EXPECT_EQ(owner.name, "owner");
  EXPECT_EQ(owner.role, Role::kAdmin);
  EXPECT_FALSE(owner.is_session);
  EXPECT_EQ(ReasonOf(auth_.CheckApi("").status()), "missing_token");
  EXPECT_EQ(ReasonOf(auth_.CheckApi("agent-secret").status()), "invalid_token");
  EXPECT_EQ(ReasonOf(auth_.CheckApi("api-secreT").status()), "invalid_token");
}

TEST_F(AuthenticatorTest, AuthorizationIsABearerToken) {
  EXPECT_TRUE(auth_.CheckAuthorization("Bearer api-secret").ok());
  EXPECT_TRUE(auth_.CheckAuthorization("bearer api-secret").ok());
  for (const char* header :
       {"", "Bearer", "Bearer ", "api-secret", "Basic api-secret",
        "Bearer  api-secret", "Bearerapi-secret"}) {
    EXPECT_TRUE(
        absl::IsUnauthenticated(auth_.CheckAuthorization(header).status()))
        << header;
  }
}

TEST_F(AuthenticatorTest, ANamedTokenIdentifiesItsHolder) {
  const Principal alice = Caller(Token("alice", Role::kControl));
  EXPECT_EQ(alice.name, "alice");
  EXPECT_EQ(alice.role, Role::kControl);
  EXPECT_TRUE(auth_.IsValid(alice));
  ASSERT_TRUE(auth_.Revoke(alice.id).ok());
  EXPECT_FALSE(auth_.IsValid(alice));
  EXPECT_TRUE(auth_.IsValid(Caller("api-secret")));
}

TEST_F(AuthenticatorTest, RolesIncludeTheLowerOnes) {
  const Principal control = Caller(Token("alice", Role::kControl));
  EXPECT_TRUE(RequireRole(control, Role::kView).ok());
  EXPECT_TRUE(RequireRole(control, Role::kControl).ok());
  const absl::Status refused = RequireRole(control, Role::kAdmin);
  EXPECT_EQ(ReasonOf(refused), "role_too_low");
  EXPECT_NE(refused.message().find("'admin'"), absl::string_view::npos);
}

TEST_F(AuthenticatorTest, ACodeBuysASessionOfTwelveHours) {
  const IssuedToken session = LogIn(Caller("api-secret"));
  EXPECT_NE(session.token, "api-secret");
  EXPECT_EQ(session.credential.holder.expires_at, now_ + absl::Hours(12));
  EXPECT_EQ(Caller(session.token).name, "owner");
  EXPECT_EQ(Caller(session.token).role, Role::kAdmin);
  EXPECT_TRUE(Caller(session.token).is_session);
  now_ += absl::Hours(12);
  EXPECT_EQ(ReasonOf(auth_.CheckApi(session.token).status()), "invalid_token");
}

TEST_F(AuthenticatorTest, ACodeLivesForAMinute) {
  const LoginCode code = *auth_.IssueOwnerCode();
  EXPECT_EQ(code.expires_at, now_ + absl::Minutes(1));
  now_ = code.expires_at;
  EXPECT_EQ(ReasonOf(auth_.Redeem(code.code).status()), "invalid_code");
}

TEST_F(AuthenticatorTest, CodesGrantNoMoreThanTheirIssuerHas) {
  const Principal owner = Caller("api-secret");
  const Principal alice = Caller(Token("alice", Role::kControl));
  EXPECT_EQ(ReasonOf(auth_.IssueCode(alice, "alice", Role::kAdmin).status()),
            "role_too_low");
  EXPECT_EQ(ReasonOf(auth_.IssueCode(alice, "bob", Role::kView).status()),
            "role_too_low");
  EXPECT_TRUE(auth_.IssueCode(alice, "alice", Role::kView).ok());
  const auto code = auth_.IssueCode(owner, "bob", Role::kView);
  const Principal bob = Caller(auth_.Redeem(code->code)->token);
  EXPECT_EQ(bob.name, "bob");
  EXPECT_EQ(bob.role, Role::kView);
}

TEST_F(AuthenticatorTest, ASessionEndsWithTheTokenThatLetItIn) {
  const absl::Time end = now_ + absl::Hours(1);
  const IssuedToken token = *auth_.CreateToken("alice", Role::kControl, end);
  const Principal alice = Caller(token.token);
  const IssuedToken session = LogIn(alice);
  EXPECT_EQ(session.credential.holder.expires_at, end);
  const IssuedToken tab = LogIn(Caller(session.token));
  EXPECT_EQ(tab.credential.holder.expires_at, end);
  const LoginCode code = *auth_.IssueCode(alice, "alice", Role::kView);
  ASSERT_TRUE(auth_.Revoke(alice.id).ok());
  EXPECT_FALSE(auth_.CheckApi(session.token).ok());
  EXPECT_FALSE(auth_.CheckApi(tab.token).ok());
  EXPECT_EQ(ReasonOf(auth_.Redeem(code.code).status()), "invalid_code");
}

TEST_F(AuthenticatorTest, OnlyASessionCanEndItself) {
  const IssuedToken session = LogIn(Caller("api-secret"));
  EXPECT_EQ(ReasonOf(auth_.EndSession(Caller("api-secret"))), "not_a_session");
  ASSERT_TRUE(auth_.EndSession(Caller(session.token)).ok());
  EXPECT_FALSE(auth_.CheckApi(session.token).ok());
}

TEST_F(AuthenticatorTest, AgentsOfTheSameUserNeedNoTokenButNoWrongOne) {
  EXPECT_TRUE(auth_.CheckAgent("", kLocal).ok());
  EXPECT_TRUE(auth_.CheckLocalAgent(kLocal).ok());
  EXPECT_TRUE(auth_.CheckAgent("", "unix:").ok());
  EXPECT_EQ(ReasonOf(auth_.CheckAgent("wrong", kLocal)), "invalid_token");
}

TEST_F(AuthenticatorTest, AgentsOfOtherUsersNeedAToken) {
  for (const absl::StatusOr<uid_t>& user :
       {absl::StatusOr<uid_t>(0), absl::StatusOr<uid_t>(1001),
        absl::StatusOr<uid_t>(absl::NotFoundError("no such process"))}) {
    peer_user_ = user;
    EXPECT_EQ(ReasonOf(auth_.CheckAgent("", kLocal)), "missing_token");
    EXPECT_EQ(ReasonOf(auth_.CheckLocalAgent(kLocal)), "missing_token");
    EXPECT_TRUE(auth_.CheckAgent("agent-secret", kLocal).ok());
  }
  Authenticator without_lookup({"api-secret", "agent-secret"}, {});
  EXPECT_EQ(ReasonOf(without_lookup.CheckAgent("", kLocal)), "missing_token");
}

TEST_F(AuthenticatorTest, AgentsFromElsewhereNeedEitherToken) {
  EXPECT_EQ(ReasonOf(auth_.CheckAgent("", kRemote)), "missing_token");
  EXPECT_EQ(ReasonOf(auth_.CheckLocalAgent(kRemote)), "missing_token");
  EXPECT_EQ(ReasonOf(auth_.CheckAgent("wrong", kRemote)), "invalid_token");
  EXPECT_TRUE(auth_.CheckAgent("agent-secret", kRemote).ok());
  EXPECT_TRUE(auth_.CheckAgent("api-secret", kRemote).ok());
}

TEST_F(AuthenticatorTest, WithoutAuthenticationEverybodyIsTheOwner) {
  AuthOptions options = Options();
  options.required = false;
  Authenticator open({"api-secret", "agent-secret"}, std::move(options));
  EXPECT_EQ(open.CheckAuthorization("")->name, "owner");
  EXPECT_EQ(open.CheckApi("wrong")->role, Role::kAdmin);
  EXPECT_TRUE(open.CheckAgent("wrong", kRemote).ok());
}

}  // namespace
}  // namespace graphdbg::auth
