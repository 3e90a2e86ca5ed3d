#include "server/jobs/control_lease.h"

#include <gtest/gtest.h>

#include "server/base/error.h"
#include "server/jobs/testing/fakes.h"

namespace graphdbg::jobs {
namespace {

constexpr std::chrono::milliseconds kLifetime{300'000};

class ControlLeaseTest : public testing::Test {
 protected:
  std::string Holder() const {
    return lease_.holder() ? lease_.holder()->name : "";
  }

  FakeTaskRunner tasks_;
  int changes_ = 0;
  ControlLease lease_{tasks_, kLifetime, [this] { ++changes_; }};
};

TEST_F(ControlLeaseTest, TheFirstCommandTakesIt) {
  EXPECT_TRUE(lease_.Check("alice").ok());
  EXPECT_EQ(Holder(), "");
  lease_.Use("alice");
  EXPECT_EQ(Holder(), "alice");
  EXPECT_GT(lease_.holder()->since_unix_nano, 0);
  EXPECT_EQ(changes_, 1);
  EXPECT_TRUE(lease_.Check("alice").ok());
  const absl::Status refused = lease_.Check("bob");
  EXPECT_EQ(ReasonOf(refused), "not_controller");
  EXPECT_NE(refused.message().find("alice"), absl::string_view::npos);
}

TEST_F(ControlLeaseTest, TheServersOwnCommandsNeedNone) {
  lease_.Use("alice");
  EXPECT_TRUE(lease_.Check("").ok());
  lease_.Use("");
  EXPECT_EQ(Holder(), "alice");
}

TEST_F(ControlLeaseTest, ItLapsesAfterTheLastCommand) {
  lease_.Use("alice");
  const int64_t since = lease_.holder()->since_unix_nano;
  lease_.Use("alice");
  EXPECT_EQ(lease_.holder()->since_unix_nano, since);
  EXPECT_EQ(changes_, 1);
  // The second command has replaced the first one's timer.
  EXPECT_EQ(tasks_.FireTimers(),
            (std::vector<std::chrono::milliseconds>{kLifetime}));
  EXPECT_EQ(Holder(), "");
  EXPECT_EQ(changes_, 2);
  EXPECT_TRUE(lease_.Check("bob").ok());
}

TEST_F(ControlLeaseTest, ItCanBeTakenOver) {
  lease_.Use("alice");
  lease_.TakeOver("bob");
  EXPECT_EQ(Holder(), "bob");
  EXPECT_EQ(changes_, 2);
  EXPECT_EQ(ReasonOf(lease_.Check("alice")), "not_controller");
  lease_.TakeOver("bob");
  EXPECT_EQ(changes_, 2);
}

TEST_F(ControlLeaseTest, OnlyItsHolderGivesItBack) {
  EXPECT_TRUE(lease_.Release("alice").ok());
  EXPECT_EQ(changes_, 0);
  lease_.Use("alice");
  EXPECT_EQ(ReasonOf(lease_.Release("bob")), "not_controller");
  EXPECT_EQ(Holder(), "alice");
  EXPECT_TRUE(lease_.Release("alice").ok());
  EXPECT_EQ(Holder(), "");
  EXPECT_EQ(changes_, 2);
  EXPECT_TRUE(tasks_.FireTimers().empty());
}

}  // namespace
}  // namespace graphdbg::jobs
