#include "server/auth/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace graphdbg::auth {
namespace {

namespace fs = std::filesystem;

class TokensTest : public ::testing::Test {
 protected:
  TokensTest() {
    dir_ = fs::path(::testing::TempDir()) /
           (std::string("tokens.") +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    file_ = (dir_ / "token").string();
  }

  std::string Content() {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  unsigned Mode() {
    struct stat info {};
    EXPECT_EQ(stat(file_.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  fs::path dir_;
  std::string file_;
};

TEST_F(TokensTest, TokensAreLongAndAllDifferent) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    std::string token = *RandomToken();
    EXPECT_EQ(token.size(), 43u);
    EXPECT_TRUE(seen.insert(token).second);
  }
}

TEST_F(TokensTest, AFileIsMadeForTheOwnerOnlyAndKept) {
  umask(0);
  std::string token = *LoadOrCreateToken(file_);
  EXPECT_EQ(Content(), token + "\n");
  EXPECT_EQ(Mode(), 0600u);
  EXPECT_EQ(*LoadOrCreateToken(file_), token);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
}

TEST_F(TokensTest, ATokenThatOthersCouldReadIsReplaced) {
  std::string token = *LoadOrCreateToken(file_);
  chmod(file_.c_str(), 0640);
  EXPECT_NE(*LoadOrCreateToken(file_), token);
  EXPECT_EQ(Mode(), 0600u);
}

TEST_F(TokensTest, WhatIsNotATokenIsReplaced) {
  for (const std::string& content :
       {std::string(), std::string("guess\n"), std::string(43, ' '),
        std::string(44, 'x') + "\n", std::string(1'000, 'x')}) {
    std::ofstream(file_) << content;
    chmod(file_.c_str(), 0600);
    EXPECT_EQ(LoadOrCreateToken(file_)->size(), 43u);
  }
}

TEST_F(TokensTest, ALinkIsReplacedAndNotFollowed) {
  std::string target = (dir_ / "other").string();
  std::ofstream(target) << "untouched";
  fs::create_symlink(target, file_);
  ASSERT_TRUE(LoadOrCreateToken(file_).ok());
  EXPECT_FALSE(fs::is_symlink(file_));
  std::ifstream in(target);
  std::string content;
  in >> content;
  EXPECT_EQ(content, "untouched");
}

TEST_F(TokensTest, APipeIsReplacedWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  const std::string token = *LoadOrCreateToken(file_);
  EXPECT_TRUE(fs::is_regular_file(file_));
  EXPECT_EQ(Content(), token + "\n");
}

TEST_F(TokensTest, ADirectoryIsAnErrorThatLeavesNothingBehind) {
  fs::create_directories(file_ + "/inside");
  EXPECT_FALSE(LoadOrCreateToken(file_).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
}

TEST_F(TokensTest, AnErrorNamesTheFile) {
  std::string file = (dir_ / "missing" / "token").string();
  absl::Status status = LoadOrCreateToken(file).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find(file), std::string::npos);
}

TEST(HashOfTest, IsSha256) {
  EXPECT_EQ(HashOf("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(SameSecretTest, ComparesWholeTexts) {
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "ab"));
  EXPECT_FALSE(SameSecret("", "a"));
}

}  // namespace
}  // namespace graphdbg::auth
