#include "server/auth/authenticator.h"

#include <gtest/gtest.h>

#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

constexpr char kLocal[] = "ipv4:127.0.0.1:40000";
constexpr char kRemote[] = "ipv4:10.0.0.7:40000";

class AuthenticatorTest : public ::testing::Test {
 protected:
  Authenticator auth_{{"api-secret", "agent-secret"}, true};
};

TEST_F(AuthenticatorTest, TheApiTakesItsOwnTokenOnly) {
  EXPECT_TRUE(auth_.CheckApi("api-secret").ok());
  EXPECT_EQ(ReasonOf(auth_.CheckApi("")), "missing_token");
  EXPECT_EQ(ReasonOf(auth_.CheckApi("agent-secret")), "invalid_token");
  EXPECT_EQ(ReasonOf(auth_.CheckApi("api-secreT")), "invalid_token");
}

TEST_F(AuthenticatorTest, AuthorizationIsABearerToken) {
  EXPECT_TRUE(auth_.CheckAuthorization("Bearer api-secret").ok());
  EXPECT_TRUE(auth_.CheckAuthorization("bearer api-secret").ok());
  for (const char* header :
       {"", "Bearer", "Bearer ", "api-secret", "Basic api-secret",
        "Bearer  api-secret", "Bearerapi-secret"}) {
    EXPECT_EQ(auth_.CheckAuthorization(header).code(),
              absl::StatusCode::kUnauthenticated)
        << header;
  }
}

TEST_F(AuthenticatorTest, AgentsOfThisMachineNeedNoTokenButNoWrongOne) {
  EXPECT_TRUE(auth_.CheckAgent("", kLocal).ok());
  EXPECT_EQ(ReasonOf(auth_.CheckAgent("wrong", kLocal)), "invalid_token");
}

TEST_F(AuthenticatorTest, AgentsFromElsewhereNeedEitherToken) {
  EXPECT_EQ(ReasonOf(auth_.CheckAgent("", kRemote)), "missing_token");
  EXPECT_EQ(ReasonOf(auth_.CheckAgent("wrong", kRemote)), "invalid_token");
  EXPECT_TRUE(auth_.CheckAgent("agent-secret", kRemote).ok());
  EXPECT_TRUE(auth_.CheckAgent("api-secret", kRemote).ok());
}

TEST_F(AuthenticatorTest, ACodeBuysTheTokenOnce) {
  std::string code = *auth_.IssueCode();
  std::string other = *auth_.IssueCode();
  EXPECT_EQ(ReasonOf(auth_.Redeem("").status()), "invalid_code");
  EXPECT_EQ(*auth_.Redeem(code), "api-secret");
  EXPECT_EQ(ReasonOf(auth_.Redeem(code).status()), "invalid_code");
  EXPECT_EQ(*auth_.Redeem(other), "api-secret");
}

TEST_F(AuthenticatorTest, WithoutAuthenticationEverythingIsAllowed) {
  Authenticator open({"api-secret", "agent-secret"}, false);
  EXPECT_TRUE(open.CheckAuthorization("").ok());
  EXPECT_TRUE(open.CheckApi("wrong").ok());
  EXPECT_TRUE(open.CheckAgent("wrong", kRemote).ok());
}

}  // namespace
}  // namespace graphdbg::auth
