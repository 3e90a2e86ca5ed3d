// Disks that take nothing, files that disappear, and what happens afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "server/base/memory_budget.h"
#include "server/store/testing/failing_sync.h"
#include "server/store/testing/store_fixture.h"

namespace graphdbg::store {
namespace {

// A disk that takes nothing more, not even a test's output if that is a file.
// Removing the limit is what happens when a user makes room.
class FullDisk {
 public:
  // No file grows beyond `bytes`.
  explicit FullDisk(rlim_t bytes = 1) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { MakeRoom(); }
  void MakeRoom() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class FailingStoreTest : public StoreTest {
 protected:
  FailingStoreTest() {
    options_.log = [this](std::string_view line) { lines_.emplace_back(line); };
    options_.first_pause = std::chrono::milliseconds(1);
    options_.longest_pause = std::chrono::milliseconds(4);
    journal_ = Open(options_);
    journal_->Listen(
        [this] { changes_.push_back(journal_->storage().failing); });
    job_ = journal_->Open("train", "train", 1);
    EXPECT_TRUE(Kept(*job_).ok());
  }

  void Hello(const std::string& incarnation) {
    job_->RecordHello(0, HelloOf(incarnation), false);
  }

  // Returns when everything recorded so far is durable, however long it takes.
  void AwaitRecovery() {
    std::promise<absl::Status> durable;
    job_->OnceDurable(
        [&](absl::Status status) { durable.set_value(std::move(status)); });
    EXPECT_TRUE(durable.get_future().get().ok());
  }

  StoreOptions options_;
  std::vector<std::string> lines_;
  std::vector<bool> changes_;
  std::shared_ptr<Journal> journal_;
  std::unique_ptr<jobs::JobJournal> job_;
};

TEST_F(FailingStoreTest, NothingIsAcknowledgedUntilThereIsRoomAgain) {
  bool durable = false;
  {
    FullDisk disk;
    Hello("x");
    job_->OnceDurable([&](const absl::Status&) { durable = true; });
    EXPECT_FALSE(Kept(*job_).ok());
    EXPECT_FALSE(job_->status().ok());
    const model::Storage storage = journal_->storage();
    EXPECT_TRUE(storage.failing);
    EXPECT_NE(storage.reason.find(file()), std::string::npos);
    EXPECT_GT(storage.since_unix_nano, 0);
    // Not even what is recorded now, and at once.
    job_->RecordStatistics(0, 7, 2, 5, {});
    EXPECT_FALSE(Kept(*job_).ok());
    EXPECT_FALSE(durable);
  }
  AwaitRecovery();
  EXPECT_TRUE(durable);
  EXPECT_TRUE(Kept(*job_).ok());
  EXPECT_FALSE(journal_->storage().failing);
  const SavedJob saved = std::move(Crash().at("train"));
  EXPECT_EQ(saved.ranks.at(0).hello.incarnation, "x");
  EXPECT_EQ(saved.statistics.size(), 1u);
  // One line and one call when it begins, and one when it ends.
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_EQ(changes_, (std::vector<bool>{true, false}));
}

TEST_F(FailingStoreTest, StatisticsAreDroppedBeforeMemoryIsFull) {
  journal_.reset();
  options_.max_waiting_bytes = 100'000;
  journal_ = Open(options_);
  Load(*journal_);
  job_ = journal_->Open("next", "next", 1);
  EXPECT_TRUE(Kept(*job_).ok());
  FullDisk disk;
  Hello("x");
  EXPECT_FALSE(Kept(*job_).ok());
  for (uint64_t step = 0; step < 2'000; ++step) {
    job_->RecordStatistics(0, 7, 2, step, {});
  }
  EXPECT_FALSE(journal_->full());
  EXPECT_GT(journal_->storage().dropped_statistics, 1'000u);
  jobs::RunState run;
  run.node = std::string(100'000, 'x');
  job_->RecordState(0, run, nullptr, 1);
  EXPECT_TRUE(journal_->full());
  EXPECT_TRUE(job_->full());
  disk.MakeRoom();
  AwaitRecovery();
  EXPECT_FALSE(journal_->full());
  EXPECT_EQ(journal_->storage().waiting_bytes, 0u);
  const SavedJob saved = std::move(Crash().at("next"));
  EXPECT_EQ(saved.ranks.at(0).run.node.size(), 100'000u);
  EXPECT_GT(saved.statistics.size(), 10u);
}

TEST_F(FailingStoreTest, ADirectoryThatWasTakenAwayCountsAsFailure) {
  const fs::path elsewhere = dir_.string() + ".elsewhere";
  fs::remove_all(elsewhere);
  fs::rename(dir_, elsewhere);
  Hello("x");
  const absl::Status kept = Kept(*job_);
  EXPECT_NE(kept.message().find("removed"), absl::string_view::npos) << kept;
  fs::rename(elsewhere, dir_);
  AwaitRecovery();
  EXPECT_EQ(Crash().at("train").ranks.size(), 1u);
}

TEST_F(FailingStoreTest, EndsWhileItFails) {
  FullDisk disk;
  Hello("x");
  EXPECT_FALSE(Kept(*job_).ok());
  journal_->Close();
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_[1].find("lost"), std::string::npos) << lines_[1];
}

TEST_F(FailingStoreTest, AFileThatWasRemovedIsWrittenAnew) {
  Hello("x");
  EXPECT_TRUE(Kept(*job_).ok());
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file() + suffix);
  job_->RecordStatistics(0, 7, 2, 5, {});
  const absl::Status kept = Kept(*job_);
  EXPECT_NE(kept.message().find("removed"), absl::string_view::npos) << kept;
  EXPECT_TRUE(journal_->storage().failing);
  AwaitRecovery();
  EXPECT_FALSE(journal_->storage().failing);
  struct stat status;
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_FALSE(fs::exists(file() + ".new"));
  const SavedJob saved = std::move(Crash().at("train"));
  EXPECT_EQ(saved.ranks.at(0).hello.incarnation, "x");
  EXPECT_EQ(saved.statistics.size(), 1u);
}

TEST_F(FailingStoreTest, ALogThatWasRemovedIsWrittenAnew) {
  Hello("x");
  EXPECT_TRUE(Kept(*job_).ok());
  fs::remove(file() + "-wal");
  job_->RecordStatistics(0, 7, 2, 5, {});
  EXPECT_FALSE(Kept(*job_).ok());
  AwaitRecovery();
  const SavedJob saved = std::move(Crash().at("train"));
  EXPECT_EQ(saved.ranks.at(0).hello.incarnation, "x");
  EXPECT_EQ(saved.statistics.size(), 1u);
}

TEST_F(FailingStoreTest, AnotherFileInItsPlaceIsLeftAlone) {
  fs::remove(file());
  std::ofstream(file()) << "precious";
  Hello("x");
  EXPECT_FALSE(Kept(*job_).ok());
  // Makes one more attempt.
  journal_->Close();
  EXPECT_TRUE(journal_->storage().failing);
  EXPECT_EQ(Content(file()), "precious");
}

TEST_F(FailingStoreTest, WhatWaitsCountsInTheMemoryBudget) {
  job_.reset();
  journal_.reset();
  const auto budget = std::make_shared<MemoryBudget>(uint64_t{1} << 30);
  options_.memory = budget;
  journal_ = Open(options_);
  Load(*journal_);
  job_ = journal_->Open("next", "next", 1);
  EXPECT_TRUE(Kept(*job_).ok());
  FullDisk disk;
  Hello(std::string(100'000, 'x'));
  EXPECT_FALSE(Kept(*job_).ok());
  EXPECT_GT(budget->used(MemoryAccount::kJournal), 100'000u);
  disk.MakeRoom();
  AwaitRecovery();
  EXPECT_EQ(budget->used(MemoryAccount::kJournal), 0u);
}

TEST_F(FailingStoreTest, StatisticsAreDroppedWhenTheServerIsShortOfMemory) {
  job_.reset();
  journal_.reset();
  const auto budget = std::make_shared<MemoryBudget>(1'000);
  options_.memory = budget;
  journal_ = Open(options_);
  Load(*journal_);
  job_ = journal_->Open("next", "next", 1);
  EXPECT_TRUE(Kept(*job_).ok());
  const auto others = budget->Count(MemoryAccount::kJobs, 1'000);
  job_->RecordStatistics(0, 7, 2, 5, {});
  EXPECT_EQ(journal_->storage().dropped_statistics, 1u);
}

TEST_F(FailingStoreTest, AServerStartsOnAFullDisk) {
  Hello("x");
  EXPECT_TRUE(Kept(*job_).ok());
  job_.reset();
  journal_.reset();
  FullDisk disk(16);
  journal_ = Open(options_);
  ASSERT_NE(journal_, nullptr);
  auto jobs = Load(*journal_);
  ASSERT_EQ(jobs.count("train"), 1u);
  EXPECT_EQ(jobs.at("train").ranks.at(0).hello.incarnation, "x");
  job_ = std::move(jobs.at("train").journal);
  job_->RecordStatistics(0, 7, 2, 5, {});
  job_->WhenDurable([](const absl::Status&) {});
  disk.MakeRoom();
  AwaitRecovery();
  EXPECT_FALSE(journal_->storage().failing);
  EXPECT_EQ(Crash().at("train").statistics.size(), 1u);
  job_.reset();
  journal_.reset();
  EXPECT_EQ(Open()->generation(), 1u);
}

TEST_F(StoreTest, TheFileIsOpenedAgainAfterAnFsyncError) {
  FailingSync disk;
  std::vector<std::string> lines;
  StoreOptions options;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  auto journal = Open(options);
  Load(*journal);
  auto job = journal->Open("train", "train", 1);
  EXPECT_TRUE(Kept(*job).ok());
  const int opened = disk.opened();
  // Large enough for a checkpoint.
  jobs::AgentHello hello = HelloOf("x");
  hello.peer = std::string(6 << 20, 'x');
  disk.FailNextSync();
  job->RecordHello(0, hello, false);
  // The log has it.
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_EQ(Crash().at("train").ranks.at(0).hello.peer.size(),
            hello.peer.size());
  const int opened_by_crash = disk.opened() - opened;
  job->RecordStatistics(0, 7, 2, 5, {});
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_EQ(disk.opened(), opened + opened_by_crash + 1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("copied to it again"), std::string::npos) << lines[0];
  EXPECT_FALSE(journal->storage().failing);
  const SavedJob saved = std::move(Crash().at("train"));
  EXPECT_EQ(saved.ranks.at(0).hello.peer.size(), hello.peer.size());
  EXPECT_EQ(saved.statistics.size(), 1u);
}

}  // namespace
}  // namespace graphdbg::store
