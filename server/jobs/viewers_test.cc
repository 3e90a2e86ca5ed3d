#include "server/jobs/viewers.h"

#include <gtest/gtest.h>

#include <memory>

namespace graphdbg::jobs {
namespace {

TEST(ViewersTest, CountsThoseWhoLookAtEachJob) {
  const auto viewers = std::make_shared<Viewers>();
  EXPECT_EQ(viewers->Count("a"), 0u);
  auto first = viewers->Add("a");
  auto second = viewers->Add("a");
  const auto other = viewers->Add("b");
  EXPECT_EQ(viewers->Count("a"), 2u);
  EXPECT_EQ(viewers->Count(), 3u);
  first.reset();
  second.reset();
  EXPECT_EQ(viewers->Count("a"), 0u);
  EXPECT_EQ(viewers->Count("b"), 1u);
}

}  // namespace
}  // namespace graphdbg::jobs
