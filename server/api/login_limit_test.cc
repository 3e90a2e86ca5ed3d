#include "server/api/login_limit.h"

#include <gtest/gtest.h>

namespace graphdbg::api {
namespace {

class LoginLimitTest : public ::testing::Test {
 protected:
  void Fail(const std::string& address, uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) limit_.AddFailure(address, now_);
  }

  LoginLimit limit_;
  LoginLimit::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(LoginLimitTest, OneAddressWaitsAfterItsFailures) {
  Fail("10.0.0.1", LoginLimit::kFailures - 1);
  EXPECT_FALSE(limit_.MustWait("10.0.0.1", now_));
  Fail("10.0.0.1", 1);
  EXPECT_TRUE(limit_.MustWait("10.0.0.1", now_));
  EXPECT_FALSE(limit_.MustWait("10.0.0.2", now_));
}

TEST_F(LoginLimitTest, AFailureIsForgivenAfterAnInterval) {
  Fail("10.0.0.1", LoginLimit::kFailures);
  now_ += LoginLimit::kInterval;
  EXPECT_FALSE(limit_.MustWait("10.0.0.1", now_));
  Fail("10.0.0.1", 1);
  EXPECT_TRUE(limit_.MustWait("10.0.0.1", now_));
  now_ += std::chrono::hours(1);
  Fail("10.0.0.1", LoginLimit::kFailures - 1);
  EXPECT_FALSE(limit_.MustWait("10.0.0.1", now_));
}

TEST_F(LoginLimitTest, ManyAddressesMakeRoomWhenTheyAreForgiven) {
  for (int i = 0; i < 5'000; ++i) Fail("address " + std::to_string(i), 1);
  now_ += LoginLimit::kInterval;
  Fail("late", LoginLimit::kFailures);
  EXPECT_TRUE(limit_.MustWait("late", now_));
}

}  // namespace
}  // namespace graphdbg::api
