#include "server/rules/append_line.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace graphdbg::rules {
namespace {

constexpr uint64_t kMaxBytes = 1'000;

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class AppendLineTest : public ::testing::Test {
 protected:
  AppendLineTest() { std::filesystem::remove(path_); }

  const std::string path_ =
      (std::filesystem::path(::testing::TempDir()) / "findings.jsonl").string();
};

TEST_F(AppendLineTest, AddsLinesInOrder) {
  ASSERT_TRUE(AppendLine(path_, "{\"step\":1}", kMaxBytes).ok());
  ASSERT_TRUE(AppendLine(path_, "{\"step\":2}", kMaxBytes).ok());
  EXPECT_EQ(ReadFile(path_), "{\"step\":1}\n{\"step\":2}\n");
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AppendLineTest, StopsAtTheLimit) {
  const std::string line(kMaxBytes / 2 - 1, 'x');
  ASSERT_TRUE(AppendLine(path_, line, kMaxBytes).ok());
  ASSERT_TRUE(AppendLine(path_, line, kMaxBytes).ok());
  EXPECT_EQ(AppendLine(path_, "y", kMaxBytes).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadFile(path_).size(), kMaxBytes);
}

TEST_F(AppendLineTest, FollowsNoLink) {
  const std::string target = path_ + ".target";
  std::filesystem::remove(target);
  std::filesystem::create_symlink(target, path_);
  EXPECT_FALSE(AppendLine(path_, "x", kMaxBytes).ok());
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(AppendLineTest, WritesToRegularFilesOnly) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(AppendLine(path_, "x", kMaxBytes).ok());
}

}  // namespace
}  // namespace graphdbg::rules
