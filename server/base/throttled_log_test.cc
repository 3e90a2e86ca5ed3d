#include "server/base/throttled_log.h"

#include <gtest/gtest.h>

#include <vector>

namespace graphdbg {
namespace {

TEST(ThrottledLogTest, WritesOneLineAMinuteForEachCauseAndCountsTheOthers) {
  std::vector<std::string> lines;
  ThrottledLog log([&](std::string_view line) { lines.emplace_back(line); });
  ThrottledLog::Clock::time_point now{std::chrono::hours(1)};
  for (int i = 0; i < 4; ++i) log.Write("full", "no place", now);
  log.Write("files", "no file", now);
  EXPECT_EQ(lines, (std::vector<std::string>{"no place", "no file"}));
  lines.clear();
  now += std::chrono::seconds(60);
  log.Write("full", "no place", now);
  log.Write("files", "no file", now);
  log.Write("full", "no place", now);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "no place (and 3 times more since the last such line)",
                       "no file"}));
}

}  // namespace
}  // namespace graphdbg
