#include "agent/recording/file_finisher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/recording/testing/recovered_rank.h"

namespace graphdbg::recording {
namespace {

class FileFinisherTest : public testing::Test {
 protected:
  FileFinisherTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~FileFinisherTest() override { std::filesystem::remove_all(directory_); }

  std::string PathOf(int number) const {
    return absl::StrCat(directory_, "/", number);
  }
  // A file whose name is not final yet.
  File Create(int number) {
    auto file = File::Create(absl::StrCat(PathOf(number), ".part"));
    EXPECT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(file->WriteAt(0, absl::StrCat(number)).ok());
    return *std::move(file);
  }
  void ExpectFinished(int number) {
    EXPECT_EQ(ReadFile(PathOf(number)), absl::StrCat(number));
    EXPECT_FALSE(std::filesystem::exists(PathOf(number) + ".part"));
  }

  const std::string directory_ = testing::TempDir() + "/finished";
};

TEST_F(FileFinisherTest, GivesFilesTheirNames) {
  FileFinisher finisher;
  // More than may wait.
  constexpr int kFiles = 100;
  for (int i = 0; i < kFiles; ++i) finisher.Add(Create(i), PathOf(i));
  finisher.Wait();
  for (int i = 0; i < kFiles; ++i) ExpectFinished(i);
  EXPECT_TRUE(finisher.TakeError().ok());
}

TEST_F(FileFinisherTest, FinishesFirstWhenItIsDestroyed) {
  {
    FileFinisher finisher;
    finisher.Add(Create(1), PathOf(1));
    finisher.Add(Create(2), PathOf(2));
  }
  ExpectFinished(1);
  ExpectFinished(2);
}

TEST_F(FileFinisherTest, ReportsAFailureOnceAndGoesOn) {
  FileFinisher finisher;
  finisher.Add(Create(1), directory_ + "/missing/1");
  finisher.Wait();
  EXPECT_FALSE(finisher.TakeError().ok());
  EXPECT_TRUE(finisher.TakeError().ok());
  EXPECT_TRUE(std::filesystem::exists(PathOf(1) + ".part"));
  finisher.Add(Create(2), PathOf(2));
  finisher.Wait();
  EXPECT_TRUE(finisher.TakeError().ok());
  ExpectFinished(2);
}

}  // namespace
}  // namespace graphdbg::recording
