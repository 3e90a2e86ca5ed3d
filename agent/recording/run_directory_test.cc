#include "agent/recording/run_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/recording/file.h"
#include "agent/recording/ring.h"

namespace graphdbg::recording {
namespace {

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() { std::filesystem::remove_all(runs_); }

  RunDirectory Claim(uint32_t rank) {
    const auto claimed = ClaimRunDirectory(runs_, "job", rank, "");
    EXPECT_TRUE(claimed.ok()) << claimed.status();
    return *claimed;
  }

  const std::string runs_ = testing::TempDir() + "/a/b/runs";
};

TEST_F(RunDirectoryTest, IsSharedByTheRanksOfARun) {
  const RunDirectory first = Claim(0);
  EXPECT_EQ(first.run, "job");
  EXPECT_EQ(first.resumes, "");
  EXPECT_EQ(first.rank_path, first.path + "/rank-00000");
  const RunDirectory second = Claim(1);
  EXPECT_EQ(second.path, first.path);
  EXPECT_EQ(second.rank_path, first.path + "/rank-00001");
}

TEST_F(RunDirectoryTest, IsAnotherOneAfterARestart) {
  Claim(0);
  Claim(1);
  const RunDirectory again = Claim(1);
  EXPECT_EQ(again.run, "job.2");
  EXPECT_EQ(again.resumes, "job");
  EXPECT_EQ(Claim(0).path, again.path);
  EXPECT_EQ(Claim(0).run, "job.3");
  EXPECT_EQ(Claim(1).resumes, "job.2");
}

TEST_F(RunDirectoryTest, BelongsToOneLiveProcessOfARank) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    const RunDirectory mine = Claim(0);
    const auto ring = Ring::Create(Join(mine.rank_path, "ring.gdbr"), 1 << 20,
                                   RingOwner(), Ring::Overwrite::kNever);
    (void)!write(ready[1], ring.ok() ? "y" : "n", 1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  EXPECT_EQ(ClaimRunDirectory(runs_, "job", 0, "").status().code(),
            absl::StatusCode::kFailedPrecondition);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_EQ(Claim(0).run, "job.2");
}

TEST_F(RunDirectoryTest, ThatCannotBeCreatedIsAnError) {
  const auto claimed = ClaimRunDirectory("/proc/no/runs", "job", 0, "");
  ASSERT_FALSE(claimed.ok());
  EXPECT_NE(claimed.status().message().find("/proc/no"), std::string::npos);
}

TEST(RunName, IsANameOfAFile) {
  EXPECT_EQ(RunNameOf("train.py-17"), "train.py-17");
  EXPECT_EQ(RunNameOf("a/b\nc"), "a_b_c");
  EXPECT_EQ(RunNameOf("../x"), "_._x");
  EXPECT_EQ(RunNameOf(""), "run");
  EXPECT_EQ(RunNameOf(std::string(1000, 'x')).size(), 200u);
}

TEST_F(RunDirectoryTest, HasFilesThatAllRanksWriteAtOnce) {
  const std::string file = Claim(0).path + "/run.json";
  std::vector<pid_t> children;
  for (int rank = 0; rank < 4; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      bool ok = true;
      for (int i = 0; i < 50; ++i) ok = ok && ReplaceFile(file, "{}").ok();
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  size_t files = 0;
  for (const auto& each :
       std::filesystem::directory_iterator(file.substr(0, file.rfind('/')))) {
    files += each.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1u);
}

}  // namespace
}  // namespace graphdbg::recording
