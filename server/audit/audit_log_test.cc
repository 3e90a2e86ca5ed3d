#include "server/audit/audit_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/base/error.h"

namespace graphdbg::audit {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() {
    dir_ = fs::path(::testing::TempDir()) /
           (std::string("audit.") +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }

  std::unique_ptr<AuditLog> Open() {
    Options options;
    options.dir = dir_.string();
    options.max_file_bytes = max_file_bytes_;
    options.max_old_files = 2;
    options.log = [this](std::string_view line) { lines_.emplace_back(line); };
    options.now = [this] { return now_; };
    auto log = AuditLog::Open(std::move(options));
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  static Entry Control(std::string detail) {
    Entry entry;
    entry.who = "alice";
    entry.role = "control";
    entry.from = "127.0.0.1:40312";
    entry.action = "control";
    entry.job = "train";
    entry.detail = std::move(detail);
    entry.result = "ok";
    return entry;
  }
  // The details of all entries, read in pages of `limit`.
  static std::vector<std::string> Details(const AuditLog& log,
                                          uint32_t limit = 1'000) {
    std::vector<std::string> details;
    std::string cursor;
    do {
      const auto page = log.Read(limit, cursor);
      EXPECT_TRUE(page.ok()) << page.status();
      EXPECT_LE(page->entries.size(), limit);
      for (const std::string& entry : page->entries) {
        details.push_back(json::parse(entry)["detail"]);
      }
      cursor = page->next_cursor;
    } while (!cursor.empty());
    return details;
  }

  fs::path dir_;
  uint64_t max_file_bytes_ = 1 << 20;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::vector<std::string> lines_;
};

using Texts = std::vector<std::string>;

TEST_F(AuditLogTest, AnEntryHasAllFields) {
  auto log = Open();
  log->Record(Control("step 3"));
  const auto page = *log->Read(10, "");
  ASSERT_EQ(page.entries.size(), 1u);
  EXPECT_EQ(json::parse(page.entries[0]),
            json::parse(R"({"time":"2023-11-14T22:13:20.000000Z",
              "who":"alice","role":"control","from":"127.0.0.1:40312",
              "action":"control","job":"train","detail":"step 3",
              "result":"ok"})"));
  EXPECT_EQ(page.next_cursor, "");
  struct stat info {};
  ASSERT_EQ(stat((dir_ / "audit.jsonl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(AuditLogTest, EntriesOutliveTheServer) {
  Open()->Record(Control("1"));
  auto log = Open();
  log->Record(Control("2"));
  EXPECT_EQ(Details(*log), (Texts{"2", "1"}));
}

TEST_F(AuditLogTest, FilesRotateAndPagesCrossThem) {
  max_file_bytes_ = 600;
  auto log = Open();
  for (int i = 1; i <= 10; ++i) log->Record(Control(std::to_string(i)));
  // Three entries fit into a file; the current one and two older ones are kept.
  const Texts expected = {"10", "9", "8", "7", "6", "5", "4"};
  for (uint32_t limit : {1, 2, 3, 4, 5, 100}) {
    EXPECT_EQ(Details(*log, limit), expected) << limit;
  }
  log = Open();
  EXPECT_EQ(Details(*log, 3), expected);
  log->Record(Control("11"));
  EXPECT_EQ(Details(*log).front(), "11");
}

TEST_F(AuditLogTest, ACursorStaysValidWhenTheFileRotates) {
  max_file_bytes_ = 600;
  auto log = Open();
  for (int i = 1; i <= 4; ++i) log->Record(Control(std::to_string(i)));
  const auto first = *log->Read(1, "");
  EXPECT_EQ(json::parse(first.entries[0])["detail"], "4");
  log->Record(Control("5"));
  const auto second = *log->Read(1, first.next_cursor);
  EXPECT_EQ(json::parse(second.entries[0])["detail"], "3");
}

TEST_F(AuditLogTest, ACursorIsChecked) {
  auto log = Open();
  log->Record(Control("1"));
  for (const char* cursor : {"x", "1", "1:", ":1", "1:2:3", "-1:0", "99:0"}) {
    const absl::Status status = log->Read(10, cursor).status();
    EXPECT_EQ(ReasonOf(status), "bad_cursor") << cursor;
    EXPECT_EQ(FieldOf(status), "cursor");
  }
  EXPECT_TRUE(log->Read(10, "1:999999")->next_cursor.empty());
}

TEST_F(AuditLogTest, ATornLineDoesNotDamageTheNextOne) {
  Open()->Record(Control("1"));
  std::ofstream(dir_ / "audit.jsonl", std::ios::app) << "{\"time\":";
  auto log = Open();
  log->Record(Control("2"));
  const auto page = *log->Read(10, "");
  ASSERT_EQ(page.entries.size(), 3u);
  EXPECT_EQ(json::parse(page.entries[0])["detail"], "2");
  EXPECT_EQ(json::parse(page.entries[2])["detail"], "1");
}

TEST_F(AuditLogTest, RefusedRequestsAreLimited) {
  auto log = Open();
  log->Record(Control("before"));
  Entry refused = Control("");
  refused.result = "invalid_token";
  for (int i = 0; i < 1'000; ++i) log->RecordRefused(refused);
  EXPECT_EQ(Details(*log).size(), 11u);
  // Other entries are not.
  for (int i = 0; i < 20; ++i) log->Record(Control("control"));
  EXPECT_EQ(Details(*log).size(), 31u);
  now_ += absl::Minutes(1);
  log->RecordRefused(refused);
  EXPECT_EQ(Details(*log).front(), "990 more before this one");
}

TEST_F(AuditLogTest, RepetitionsAreRecordedOncePerMinute) {
  auto log = Open();
  Entry read = Control("forward/fc1:0");
  log->RecordRepeated(read);
  read.from = "127.0.0.1:40313";
  log->RecordRepeated(read);
  EXPECT_EQ(Details(*log).size(), 1u);
  Entry other = read;
  other.who = "bob";
  log->RecordRepeated(other);
  EXPECT_EQ(Details(*log).size(), 2u);
  now_ += absl::Minutes(1);
  log->RecordRepeated(read);
  EXPECT_EQ(Details(*log).size(), 3u);
}

TEST_F(AuditLogTest, RepetitionsOfManyKindsAreLimited) {
  auto log = Open();
  for (int i = 0; i < 1'000; ++i) {
    log->RecordRepeated(Control(std::to_string(i)));
  }
  EXPECT_EQ(Details(*log).size(), 60u);
  now_ += absl::Minutes(1);
  log->RecordRepeated(Control("next"));
  EXPECT_EQ(Details(*log).front(), "next; 940 more before this one");
}

TEST_F(AuditLogTest, EntriesWaitWhileTheFileCannotBeWritten) {
  auto log = Open();
  log->Record(Control("1"));
  // No file may grow beyond this size, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit full = old;
  full.rlim_cur = fs::file_size(dir_ / "audit.jsonl") + 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  log->Record(Control("2"));
  log->Record(Control("3"));
  EXPECT_EQ(Details(*log), (Texts{"1"}));
  EXPECT_EQ(lines_.size(), 1u);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  log->Record(Control("4"));
  EXPECT_EQ(Details(*log), (Texts{"4", "3", "2", "1"}));
  ASSERT_EQ(lines_.size(), 2u);
}

TEST_F(AuditLogTest, TextOfClientsStaysOnItsLine) {
  auto log = Open();
  log->Record(Control("a\nb \xff " + std::string(5'000, 'x')));
  log->Record(Control("next"));
  const Texts details = Details(*log);
  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(details[1].substr(0, 4), "a\nb ");
  EXPECT_LT(details[1].size(), 1'100u);
}

TEST_F(AuditLogTest, ALinkOrAPipeInItsPlaceIsRefused) {
  const fs::path file = dir_ / "audit.jsonl";
  Options options;
  options.dir = dir_.string();
  std::ofstream(dir_ / "other") << "untouched";
  fs::create_symlink(dir_ / "other", file);
  EXPECT_FALSE(AuditLog::Open(options).ok());
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const absl::Status status = AuditLog::Open(options).status();
  EXPECT_NE(std::string(status.message()).find(file.string()),
            std::string::npos);
}

}  // namespace
}  // namespace graphdbg::audit
