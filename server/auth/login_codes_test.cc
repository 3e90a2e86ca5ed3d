#include "server/auth/login_codes.h"

#include <gtest/gtest.h>

#include "server/base/error.h"

namespace graphdbg::auth {
namespace {

class LoginCodesTest : public ::testing::Test {
 protected:
  static Principal Holder(std::string name) {
    Principal holder;
    holder.name = std::move(name);
    return holder;
  }
  std::string Issue(std::string name) {
    return *codes_.Issue(Holder(std::move(name)), now_);
  }

  LoginCodes codes_;
  LoginCodes::Clock::time_point now_{};
};

TEST_F(LoginCodesTest, ACodeIsRedeemedOnce) {
  const std::string code = Issue("alice");
  const std::string other = Issue("bob");
  EXPECT_EQ(ReasonOf(codes_.Redeem("", now_).status()), "invalid_code");
  EXPECT_EQ(codes_.Redeem(code, now_)->name, "alice");
  EXPECT_EQ(ReasonOf(codes_.Redeem(code, now_).status()), "invalid_code");
  EXPECT_EQ(codes_.Redeem(other, now_)->name, "bob");
}

TEST_F(LoginCodesTest, ACodeExpiresAfterAMinute) {
  const std::string code = Issue("alice");
  const std::string late = Issue("alice");
  now_ += std::chrono::seconds(59);
  EXPECT_TRUE(codes_.Redeem(code, now_).ok());
  now_ += std::chrono::seconds(1);
  const absl::Status status = codes_.Redeem(late, now_).status();
  EXPECT_EQ(ReasonOf(status), "invalid_code");
  EXPECT_NE(std::string(status.message()).find("graphdbg url"),
            std::string::npos);
}

TEST_F(LoginCodesTest, TheOldestOfTooManyCodesIsWithdrawn) {
  const std::string first = Issue("alice");
  const std::string second = Issue("alice");
  for (int i = 0; i < 63; ++i) Issue("alice");
  EXPECT_FALSE(codes_.Redeem(first, now_).ok());
  EXPECT_TRUE(codes_.Redeem(second, now_).ok());
}

}  // namespace
}  // namespace graphdbg::auth
