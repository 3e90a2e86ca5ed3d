#include "agent/recording/ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/recording/testing/recovered_rank.h"
#include "proto/runs/ring.h"

namespace graphdbg::recording {
namespace {

constexpr uint64_t kBytes = uint64_t{1} << 20;
constexpr uint64_t kCapacity = (kBytes - 4096) / 160;

// MADV_POPULATE_WRITE, which the headers of older systems lack.
constexpr int kPopulateForWriting = 23;

long PageFaults() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

class RingTest : public testing::Test {
 protected:
  RingTest() { unlink(path_.c_str()); }

  std::unique_ptr<Ring> Create(
      Ring::Overwrite overwrite = Ring::Overwrite::kNever) {
    RingOwner owner;
    owner.incarnation[0] = 9;
    owner.rank = 3;
    owner.world_size = 8;
    auto ring = Ring::Create(path_, kBytes, owner, overwrite);
    EXPECT_TRUE(ring.ok()) << ring.status();
    return *std::move(ring);
  }

  static runs::Record OfStep(uint64_t step) {
    runs::Record record{};
    record.kind = static_cast<uint16_t>(runs::Kind::kStatistics);
    record.step = step;
    return record;
  }

  const std::string path_ = testing::TempDir() + "/ring.gdbr";
};

TEST_F(RingTest, HasTheDocumentedBytes) {
  const auto ring = Create();
  ASSERT_TRUE(ring->Append(OfStep(7)));
  const std::string file = ReadFile(path_);
  ASSERT_EQ(file.size(), kBytes);
  EXPECT_EQ(file.substr(0, 8), std::string("GDBGRNG\x01", 8));
  const auto view = runs::RingView::Open(file);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->header().capacity, kCapacity);
  EXPECT_EQ(view->header().incarnation[0], 9);
  EXPECT_EQ(view->header().rank, 3u);
  EXPECT_EQ(view->header().world_size, 8u);
  EXPECT_EQ(view->header().pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(view->header().state, 1u);
  EXPECT_EQ(view->head(), 1u);
  runs::Record record;
  ASSERT_TRUE(view->Read(0, &record));
  EXPECT_EQ(record.step, 7u);
  ring->SetClosed();
  EXPECT_EQ(runs::DecodeRingHeader(ReadFile(path_))->state, 2u);
}

TEST_F(RingTest, RefusesWhatIsNotInTheLogYetRatherThanOverwriteIt) {
  const auto ring = Create();
  for (uint64_t i = 0; i < kCapacity; ++i) ASSERT_TRUE(ring->Append(OfStep(i)));
  EXPECT_FALSE(ring->HasRoom());
  EXPECT_FALSE(ring->Append(OfStep(0)));
  EXPECT_EQ(ring->records_dropped(), 1u);
  EXPECT_EQ(ring->head(), kCapacity);
  ring->SetTail(2);
  EXPECT_TRUE(ring->Append(OfStep(100)));
  EXPECT_TRUE(ring->Append(OfStep(101)));
  EXPECT_FALSE(ring->Append(OfStep(102)));
  runs::Record record;
  EXPECT_TRUE(ring->Read(kCapacity + 1, &record));
  EXPECT_EQ(record.step, 101u);
  EXPECT_FALSE(ring->Read(1, &record));
}

TEST_F(RingTest, OverwritesTheOldestIfOnlyTheNewestAreKept) {
  const auto ring = Create(Ring::Overwrite::kOldest);
  for (uint64_t i = 0; i < kCapacity + 5; ++i) {
    ASSERT_TRUE(ring->Append(OfStep(i)));
  }
  EXPECT_EQ(ring->oldest(), 5u);
  EXPECT_EQ(ring->records_dropped(), 0u);
  runs::Record record;
  EXPECT_FALSE(ring->Read(4, &record));
  EXPECT_TRUE(ring->Read(5, &record));
  EXPECT_EQ(record.step, 5u);
}

TEST_F(RingTest, IsWrittenToWithoutPageFaultsWhereItWasPopulated) {
  if (madvise(nullptr, 0, kPopulateForWriting) != 0) {
    GTEST_SKIP() << "this kernel cannot populate memory for writing";
  }
  const auto ring = Create(Ring::Overwrite::kOldest);
  for (uint64_t i = 0; i < 5; ++i) ring->Append(OfStep(i));
  ring->Populate(5, 3 * kCapacity);
  runs::Record record;
  ASSERT_TRUE(ring->Read(4, &record));
  EXPECT_EQ(record.step, 4u);
  const long before = PageFaults();
  for (uint64_t i = 0; i < kCapacity; ++i) ring->Append(OfStep(i));
  // The system may have written a few pages of the 256 to the disk meanwhile.
  EXPECT_LT(PageFaults() - before, 64);
}

TEST_F(RingTest, GrowsBeforeARecordIsOverwritten) {
  auto created = Ring::Create(path_, kBytes, RingOwner(),
                              Ring::Overwrite::kOldest, 4 * kBytes);
  ASSERT_TRUE(created.ok()) << created.status();
  Ring& ring = **created;
  for (uint64_t i = 0; i < kCapacity - 1; ++i) ring.Append(OfStep(i));
  ASSERT_TRUE(ring.Grow(3 * kBytes).ok());
  EXPECT_EQ(ring.capacity(), (3 * kBytes - 4096) / 160);
  for (uint64_t i = kCapacity - 1; i < 3 * kCapacity; ++i) {
    ring.Append(OfStep(i));
  }
  const std::string file = ReadFile(path_);
  EXPECT_EQ(file.size(), 3 * kBytes);
  const auto view = runs::RingView::Open(file);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->header().capacity, ring.capacity());
  uint64_t next = 0;
  view->ForEach(0, [&](uint64_t at, const runs::Record& record) {
    EXPECT_EQ(at, next++);
    EXPECT_EQ(record.step, at);
  });
  EXPECT_EQ(next, 3 * kCapacity);
}

TEST_F(RingTest, DoesNotGrowOnceRecordsAreOverwritten) {
  auto created = Ring::Create(path_, kBytes, RingOwner(),
                              Ring::Overwrite::kOldest, 4 * kBytes);
  ASSERT_TRUE(created.ok()) << created.status();
  Ring& ring = **created;
  for (uint64_t i = 0; i < kCapacity + 1; ++i) ring.Append(OfStep(i));
  EXPECT_FALSE(ring.Grow(2 * kBytes).ok());
  EXPECT_EQ(ring.capacity(), kCapacity);
  runs::Record record;
  EXPECT_TRUE(ring.Read(kCapacity, &record));
  // Nor beyond what it was created for.
  EXPECT_FALSE(ring.Grow(8 * kBytes).ok());
}

TEST_F(RingTest, GivesEachThreadPositionsOfItsOwn) {
  const auto ring = Create();
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = kCapacity / kThreads;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&ring, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        ASSERT_TRUE(ring->Append(OfStep(t * kEach + i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> seen(kThreads * kEach, 0);
  for (uint64_t at = 0; at < ring->head(); ++at) {
    runs::Record record;
    ASSERT_TRUE(ring->Read(at, &record));
    ++seen[record.step];
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST_F(RingTest, WithoutAPathIsInMemory) {
  const auto ring =
      Ring::Create("", kBytes, RingOwner(), Ring::Overwrite::kNever);
  ASSERT_TRUE(ring.ok());
  EXPECT_TRUE((*ring)->Append(OfStep(1)));
  EXPECT_EQ((*ring)->path(), "");
}

TEST_F(RingTest, OfAnImpossibleSizeIsRefused) {
  for (const uint64_t bytes : {kBytes - 1, (uint64_t{4} << 30) + 1}) {
    const auto ring =
        Ring::Create(path_, bytes, RingOwner(), Ring::Overwrite::kNever);
    EXPECT_EQ(ring.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(access(path_.c_str(), F_OK), 0);
  }
}

TEST_F(RingTest, NeverReplacesAFile) {
  const auto ring = Create();
  const auto second =
      Ring::Create(path_, kBytes, RingOwner(), Ring::Overwrite::kNever);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
}

// Exits with 0 if `body` returns true.
template <class Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(RingTest, IsHeldForTheLifeOfItsProcess) {
  auto ring = Create();
  EXPECT_EQ(InChild([&] { return IsHeldByAnother(path_); }), 0);
  ring.reset();
  EXPECT_EQ(InChild([&] { return !IsHeldByAnother(path_); }), 0);
  EXPECT_FALSE(IsHeldByAnother(path_ + ".other"));
}

TEST_F(RingTest, IsNotHeldByAChildBeyondThat) {
  int alive[2];
  ASSERT_EQ(pipe(alive), 0);
  const pid_t trainer = fork();
  if (trainer == 0) {
    const auto ring = Create();
    // A worker that loads data, which survives the trainer.
    if (fork() == 0) {
      char byte;
      close(alive[1]);
      (void)!read(alive[0], &byte, 1);
      _exit(0);
    }
    kill(getpid(), SIGKILL);
  }
  waitpid(trainer, nullptr, 0);
  EXPECT_FALSE(IsHeldByAnother(path_));
  close(alive[1]);
  close(alive[0]);
}

TEST_F(RingTest, IsNotMappedInAChild) {
  const auto ring = Create();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    ring->head();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace graphdbg::recording
