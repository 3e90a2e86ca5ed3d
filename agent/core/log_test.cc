#include "agent/core/log.h"

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

TEST(LogTest, TextOfTheServerCannotControlTheTerminal) {
  testing::internal::CaptureStderr();
  LogToStderr("page: \x1B]0;title\x07\u202Ehttp\nnext");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "graphdbg: page: \u27E8U+001B\u27E9]0;title\u27E8U+0007\u27E9"
            "\u27E8U+202E\u27E9http next\n");
}

}  // namespace
}  // namespace graphdbg::agent
