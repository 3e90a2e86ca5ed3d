// Files and directories that a store refuses, and rows that it sets aside.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/store/sqlite.h"
#include "server/store/testing/store_fixture.h"

namespace graphdbg::store {
namespace {

TEST_F(StoreTest, RefusesASecondServer) {
  auto journal = Open();
  const std::string line = Refusal();
  EXPECT_NE(line.find("another server"), std::string::npos) << line;
  EXPECT_NE(line.find(std::to_string(getpid())), std::string::npos) << line;
  journal.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(StoreTest, LeavesADamagedFileAlone) {
  Open()->Open("train", "train", 1);
  std::string content = Content(file());
  // Damages everything after the header.
  for (size_t i = 4096; i < content.size(); ++i) content[i] = 'x';
  std::ofstream(file(), std::ios::binary) << content;
  auto journal = OpenStore(dir_.string());
  absl::Status status = journal.status();
  if (journal.ok()) {
    status = (*journal)->Load([](const SavedJob&) {});
    journal->reset();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find(file()), std::string::npos) << status;
  EXPECT_EQ(Content(file()), content);

  std::ofstream(file(), std::ios::binary) << "no database, but a long text";
  EXPECT_NE(Refusal().find(file()), std::string::npos);
  EXPECT_EQ(Content(file()), "no database, but a long text");
}

TEST_F(StoreTest, LeavesAFileOfANewerVersionAlone) {
  Open();
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->Run("PRAGMA user_version = 1000").ok());
  }
  const std::string content = Content(file());
  const std::string line = Refusal();
  EXPECT_NE(line.find("newer"), std::string::npos) << line;
  EXPECT_NE(line.find(file()), std::string::npos) << line;
  EXPECT_EQ(Content(file()), content);
}

TEST_F(StoreTest, LeavesAFileWithAnImpossibleVersionAlone) {
  Open();
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->Run("PRAGMA user_version = -1912602622").ok());
  }
  const std::string content = Content(file());
  const std::string line = Refusal();
  EXPECT_NE(line.find("damaged"), std::string::npos) << line;
  EXPECT_NE(line.find(file()), std::string::npos) << line;
  EXPECT_EQ(Content(file()), content);
}

TEST_F(StoreTest, LeavesAnotherProgramsDatabaseAlone) {
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->Run("CREATE TABLE theirs (x)").ok());
  }
  EXPECT_NE(Refusal().find("another program"), std::string::npos);
}

TEST_F(StoreTest, ARowThatCannotBeReadConcernsItsJobAlone) {
  {
    auto journal = Open();
    model::WatchpointSpec spec;
    spec.condition.id = "nan";
    for (const char* id : {"bad", "good"}) {
      auto job = journal->Open(id, id, 1);
      job->RecordHello(0, HelloOf("x"), false);
      job->RecordWatchpoint(1, 1, &spec);
      job->RecordStatistics(0, 0, 0, 5, {});
    }
  }
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(
        db->Run("UPDATE watchpoint SET record = x'ff' WHERE job = 1").ok());
  }
  auto journal = Open();
  auto jobs = Load(*journal);
  EXPECT_EQ(jobs.at("good").damage, "");
  EXPECT_EQ(jobs.at("good").watchpoints.size(), 1u);
  EXPECT_NE(jobs.at("bad").damage.find("table watchpoint"), std::string::npos);
  EXPECT_EQ(jobs.at("bad").ranks.size(), 1u);
  EXPECT_EQ(jobs.at("bad").statistics.size(), 1u);
  // It can be removed.
  jobs.at("bad").journal->Forget();
  EXPECT_TRUE(Kept(*jobs.at("bad").journal).ok());
  EXPECT_EQ(Crash().count("bad"), 0u);
}

TEST_F(StoreTest, ARecordThatIsNotAcceptedConcernsItsJobAlone) {
  std::vector<std::string> lines;
  StoreOptions options;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  auto journal = Open(options);
  auto job = journal->Open("train", "train", 1);
  // A second row with the same id violates a constraint.
  auto twin = journal->Open("train", "train", 2);
  job->RecordHello(0, HelloOf("x"), false);
  twin->RecordHello(0, HelloOf("y"), false);
  EXPECT_FALSE(Kept(*twin).ok());
  EXPECT_FALSE(twin->status().ok());
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_TRUE(job->status().ok());
  EXPECT_FALSE(journal->storage().failing);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(file()), std::string::npos);
  EXPECT_EQ(Crash().at("train").ranks.at(0).hello.incarnation, "x");
}

TEST_F(StoreTest, DoesNotWriteThroughALink) {
  const fs::path target = dir_ / "precious";
  for (const char* name : {"lock", "graphdbg.db"}) {
    std::ofstream(target) << "precious";
    fs::create_symlink(target, dir_ / name);
    EXPECT_NE(Refusal().find("link"), std::string::npos);
    fs::remove(dir_ / name);
    EXPECT_EQ(Content(target), "precious");
  }
  fs::remove(dir_ / "lock");
  fs::create_hard_link(target, dir_ / "lock");
  EXPECT_NE(Refusal().find("lock"), std::string::npos);
  EXPECT_EQ(Content(target), "precious");
  fs::remove(dir_ / "lock");
  ASSERT_EQ(mkfifo((dir_ / "lock").c_str(), 0600), 0);
  EXPECT_NE(Refusal().find("lock"), std::string::npos);
}

TEST_F(StoreTest, RefusesADirectoryThatOthersMayWrite) {
  fs::permissions(dir_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(Refusal().find("chmod go-w"), std::string::npos);
  fs::permissions(dir_, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_NE(Open(), nullptr);
}

}  // namespace
}  // namespace graphdbg::store
