#include "agent/recording/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/recording/testing/recovered_rank.h"
#include "proto/runs/ring.h"

namespace graphdbg::recording {
namespace {

using std::chrono::milliseconds;

class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() {
    std::filesystem::remove_all(rank_);
    std::filesystem::create_directories(rank_ + "/log");
    options_.period = milliseconds(1);
    options_.retry_period = milliseconds(1);
  }

  void Start(Ring::Overwrite overwrite = Ring::Overwrite::kNever) {
    auto ring = Ring::Create(rank_ + "/ring.gdbr", uint64_t{1} << 20,
                             RingOwner(), overwrite);
    ASSERT_TRUE(ring.ok()) << ring.status();
    ring_ = *std::move(ring);
    LogWriter::Callbacks callbacks;
    callbacks.write_messages = [this](bool) { return messages_; };
    callbacks.write_tensors = [](bool) {};
    callbacks.check_room = [this] {
      return full_ ? absl::ResourceExhaustedError("full") : absl::OkStatus();
    };
    callbacks.log = [this](const std::string& line) {
      lines_.push_back(line);
      ++line_count_;
    };
    callbacks.failed = [this] { failed_ = true; };
    writer_ = std::make_unique<LogWriter>(
        ring_.get(), SegmentWriter(rank_ + "/log", RingOwner()), options_,
        std::move(callbacks));
    writer_->Start();
  }

  void Append(uint64_t step, runs::Kind kind = runs::Kind::kStatistics) {
    runs::Record record{};
    record.kind = static_cast<uint16_t>(kind);
    record.step = step;
    while (!ring_->Append(record)) std::this_thread::yield();
  }
  // `records` records, the last of which ends the step.
  void AppendStep(uint64_t step, int records) {
    for (int i = 1; i < records; ++i) Append(step);
    Append(step, runs::Kind::kEnd);
  }

  void Finish() { ASSERT_TRUE(writer_->Finish(std::chrono::seconds(60))); }
  RecoveredRank Log() { return Recover(rank_, ""); }

  // Waits until the writer has shown the user this many lines.
  void WaitForLines(int lines) {
    while (line_count_ < lines) std::this_thread::sleep_for(milliseconds(1));
  }
  // Waits until the writer has written everything.
  void WaitForLog() {
    while (ring_->tail() < ring_->head()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  const std::string rank_ = testing::TempDir() + "/rank-00000";
  LogWriter::Options options_;
  std::atomic<bool> full_{false};
  std::atomic<bool> failed_{false};
  std::atomic<int> line_count_{0};
  absl::Status messages_;
  // The writer's thread, until it is finished.
  std::vector<std::string> lines_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<LogWriter> writer_;
};

TEST_F(LogWriterTest, WritesEveryRecordInOrder) {
  Start();
  // Four times what the ring holds.
  constexpr uint64_t kRecords = 26'000;
  for (uint64_t i = 0; i < kRecords; ++i) Append(i);
  Finish();
  EXPECT_TRUE(writer_->complete());
  const RecoveredRank log = Log();
  ASSERT_EQ(log.records.size(), kRecords);
  for (const auto& [position, record] : log.records) {
    EXPECT_EQ(record.step, position);
  }
  EXPECT_EQ(log.segments,
            std::vector<std::string>{"00000000000000000000.gdbl"});
  EXPECT_EQ(log.torn_bytes, 0u);
}

TEST_F(LogWriterTest, BeginsARoundAtTheEndOfAStepIfThereIsMuchToWrite) {
  options_.period = std::chrono::hours(1);
  Start();
  for (uint64_t step = 1; step <= 20; ++step) {
    AppendStep(step, 1'000);
    writer_->EndStep();
  }
  while (ring_->tail() == 0) std::this_thread::sleep_for(milliseconds(1));
  Finish();
  EXPECT_EQ(Log().records.size(), 20'000u);
}

TEST_F(LogWriterTest, BeginsASegmentAtTheFirstStepBeyondItsSize) {
  options_.segment_bytes = 1000;
  Start();
  for (uint64_t step = 1; step <= 6; ++step) AppendStep(step, 3);
  Finish();
  const RecoveredRank log = Log();
  EXPECT_EQ(log.records.size(), 18u);
  // 64 + 6 * 160 is the first multiple of a step that reaches 1,000.
  EXPECT_EQ(log.segments,
            (std::vector<std::string>{"00000000000000000000.gdbl",
                                      "00000000000000000006.gdbl",
                                      "00000000000000000012.gdbl"}));
}

TEST_F(LogWriterTest, WaitsForAPositionThatIsNotCommittedYet) {
  Start();
  Append(0);
  WaitForLog();
  full_ = true;
  WaitForLines(1);
  Append(1);
  Append(2);
  // The same state as if the thread that has position 1 had been interrupted.
  const int fd = open((rank_ + "/ring.gdbr").c_str(), O_RDWR);
  const uint64_t slot = runs::SlotOffset(1, ring_->capacity());
  uint32_t crc = 0;
  const uint32_t none = 0;
  ASSERT_EQ(pread(fd, &crc, sizeof(crc), static_cast<off_t>(slot)), 4);
  ASSERT_EQ(pwrite(fd, &none, sizeof(none), static_cast<off_t>(slot)), 4);
  full_ = false;
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(Log().records.size(), 1u);
  ASSERT_EQ(pwrite(fd, &crc, sizeof(crc), static_cast<off_t>(slot)), 4);
  WaitForLog();
  EXPECT_EQ(Log().records.size(), 3u);
  close(fd);
  Finish();
}

TEST_F(LogWriterTest, GoesOnWhenThereIsRoomAgain) {
  Start();
  AppendStep(1, 10);
  WaitForLog();
  full_ = true;
  WaitForLines(1);
  AppendStep(2, 10);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(Log().records.size(), 10u);
  full_ = false;
  WaitForLog();
  Finish();
  EXPECT_EQ(Log().records.size(), 20u);
  EXPECT_EQ(Log().segments.size(), 1u);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_[0].find("full"), std::string::npos);
  EXPECT_NE(lines_[1].find("room again"), std::string::npos);
}

// The system refuses to let a file grow, in the middle of a record, as a full
// disk does.
TEST_F(LogWriterTest, ContinuesAWriteThatWasCutShort) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  Start();
  const rlimit small = {200'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (uint64_t step = 1; step <= 20; ++step) AppendStep(step, 200);
  WaitForLines(1);
  const RecoveredRank cut = Log();
  EXPECT_LT(cut.records.size(), 4'000u);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  WaitForLog();
  Finish();
  const RecoveredRank log = Log();
  EXPECT_EQ(log.records.size(), 4'000u);
  EXPECT_EQ(log.torn_bytes, 0u);
  EXPECT_EQ(log.segments.size(), 1u);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_[0].find("File too large"), std::string::npos);
}

TEST_F(LogWriterTest, EndsAtAnyOtherFailure) {
  messages_ = absl::UnavailableError("cannot write graph.gdbm");
  Start();
  AppendStep(1, 10);
  while (!failed_) std::this_thread::sleep_for(milliseconds(1));
  Finish();
  EXPECT_FALSE(writer_->complete());
  EXPECT_EQ(Log().records.size(), 0u);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("nothing more is recorded"), std::string::npos);
}

TEST_F(LogWriterTest, WritesTheNewestOnlyAtAHitAndAtTheEnd) {
  options_.keep_all = false;
  Start(Ring::Overwrite::kOldest);
  AppendStep(1, 10);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(Log().records.size(), 0u);
  writer_->KeepThrough(3);
  AppendStep(2, 10);
  AppendStep(3, 10);
  WaitForLog();
  AppendStep(4, 10);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(Log().records.size(), 30u);
  // More than the ring holds.
  for (int i = 0; i < 10'000; ++i) AppendStep(5, 1);
  Finish();
  const RecoveredRank log = Log();
  EXPECT_EQ(log.records.size(), 30u + ring_->capacity());
  EXPECT_EQ(log.records.rbegin()->first, 10'039u);
  EXPECT_EQ(log.segments.size(), 2u);
}

TEST_F(LogWriterTest, HasItsShareOfTheProcessors) {
  auto ring = Ring::Create(rank_ + "/ring.gdbr", uint64_t{1} << 20, RingOwner(),
                           Ring::Overwrite::kNever);
  LogWriter::Callbacks callbacks;
  callbacks.check_room = [] { return absl::OkStatus(); };
  callbacks.write_tensors = [](bool) {};
  const int priority = getpriority(PRIO_PROCESS, 0);
  std::atomic<int> policy{-1};
  std::atomic<bool> is_lower{true};
  callbacks.write_messages = [&](bool) {
    policy = sched_getscheduler(0);
    is_lower = getpriority(PRIO_PROCESS, 0) > priority;
    return absl::OkStatus();
  };
  LogWriter writer(ring->get(), SegmentWriter(rank_ + "/log", RingOwner()),
                   options_, std::move(callbacks));
  writer.Start();
  EXPECT_TRUE(writer.Finish(std::chrono::seconds(60)));
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_FALSE(is_lower);
}

TEST_F(LogWriterTest, ThatHangsIsNotWaitedForForEver) {
  std::atomic<bool> hangs{true};
  options_.period = milliseconds(1);
  auto ring = Ring::Create(rank_ + "/ring.gdbr", uint64_t{1} << 20, RingOwner(),
                           Ring::Overwrite::kNever);
  LogWriter::Callbacks callbacks;
  callbacks.check_room = [] { return absl::OkStatus(); };
  callbacks.write_tensors = [](bool) {};
  callbacks.write_messages = [&hangs](bool) {
    while (hangs) std::this_thread::sleep_for(milliseconds(1));
    return absl::OkStatus();
  };
  LogWriter writer(ring->get(), SegmentWriter(rank_ + "/log", RingOwner()),
                   options_, std::move(callbacks));
  writer.Start();
  EXPECT_FALSE(writer.Finish(milliseconds(20)));
  hangs = false;
  EXPECT_TRUE(writer.Finish(std::chrono::seconds(60)));
}

}  // namespace
}  // namespace graphdbg::recording
