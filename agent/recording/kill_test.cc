// Kills processes that append at full speed, at random, and looks for what they
// had appended. Each appended record is counted in memory that the test shares.
//
//   GRAPHDBG_KILLS   processes for each place of the ring (default: 12)
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/recording/file_recording.h"
#include "agent/recording/ring_place.h"
#include "agent/recording/run_directory.h"
#include "agent/recording/testing/recovered_rank.h"

namespace graphdbg::recording {
namespace {

constexpr int kMaxThreads = 4;

struct Shared {
  std::atomic<bool> open{false};
  // By thread: the number of the last record that was appended.
  std::array<std::atomic<uint64_t>, kMaxThreads> appended{};
};

struct Place {
  std::string runs;
  std::string ring_directory;
};

int KillsWanted() {
  const char* const text = std::getenv("GRAPHDBG_KILLS");
  return text == nullptr ? 12 : std::atoi(text);
}

agent::RecordingOptions OptionsIn(const Place& place) {
  agent::RecordingOptions options;
  options.directory = place.runs;
  options.run = "job";
  options.ring_bytes = uint64_t{4} << 20;
  options.ring_directory = place.ring_directory;
  return options;
}

void AppendForEver(agent::Recording* recording, uint32_t thread,
                   std::atomic<uint64_t>* appended) {
  agent::RecordKey key;
  key.node = thread + 1;
  Statistics statistics;
  statistics.count = 1;
  for (uint64_t number = 1;; ++number) {
    key.step = number;
    statistics.max = static_cast<double>(number);
    while (!recording->AppendStatistics(key, statistics, 1)) {
      std::this_thread::yield();
    }
    appended->store(number, std::memory_order_release);
  }
}

// In the child.
[[noreturn]] void RecordForEver(const Place& place, int threads,
                                Shared* shared) {
  agent::RecordingCallbacks callbacks;
  callbacks.tell = [](const std::string& line) { std::cerr << line << "\n"; };
  callbacks.take_graph_update = [](v1::GraphUpdate*) { return false; };
  auto recording =
      OpenFileRecording(OptionsIn(place), v1::Hello(), std::move(callbacks));
  if (!recording.ok()) {
    std::cerr << recording.status() << "\n";
    _exit(1);
  }
  shared->open = true;
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back([&, t] {
      AppendForEver(recording->get(), static_cast<uint32_t>(t),
                    &shared->appended[static_cast<size_t>(t)]);
    });
  }
  AppendForEver(recording->get(), 0, &shared->appended[0]);
  _exit(2);
}

class KillTest : public testing::TestWithParam<bool> {
 protected:
  KillTest() {
    place_.runs = testing::TempDir() + "/killed";
    if (GetParam()) place_.ring_directory = "/dev/shm";
    shared_ = static_cast<Shared*>(mmap(nullptr, sizeof(Shared),
                                        PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  ~KillTest() override {
    munmap(shared_, sizeof(Shared));
    std::filesystem::remove_all(place_.runs);
  }

  std::string RingPath() const {
    const std::string rank =
        std::filesystem::canonical(place_.runs).string() + "/job/rank-00000";
    return PossibleRingPaths(RingPlacesOf(rank, place_.ring_directory)).front();
  }

  // Returns how many records were appended.
  uint64_t KillOne(int threads, int signal, std::chrono::microseconds after) {
    std::filesystem::remove_all(place_.runs);
    new (shared_) Shared();
    const pid_t child = fork();
    if (child == 0) RecordForEver(place_, threads, shared_);
    while (!shared_->open) std::this_thread::yield();
    std::this_thread::sleep_for(after);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    const RecoveredRank rank =
        Recover(place_.runs + "/job/rank-00000", RingPath());
    unlink(RingPath().c_str());
    from_ring_ += rank.from_ring;
    torn_ += rank.torn_bytes > 0 ? 1 : 0;
    return Check(rank, threads);
  }

  // Each thread's records are there, in order, up to the last it had counted.
  uint64_t Check(const RecoveredRank& rank, int threads) {
    std::array<uint64_t, kMaxThreads> found{};
    for (const auto& [position, record] : rank.records) {
      EXPECT_TRUE(record.node >= 1 && record.node <= kMaxThreads);
      uint64_t& last = found[record.node - 1];
      EXPECT_EQ(record.step, last + 1) << "at position " << position;
      EXPECT_EQ(record.statistics.max, static_cast<double>(record.step));
      last = record.step;
    }
    uint64_t appended = 0;
    for (size_t t = 0; t < static_cast<size_t>(threads); ++t) {
      EXPECT_GE(found[t], shared_->appended[t].load());
      appended += shared_->appended[t].load();
    }
    return appended;
  }

  Place place_;
  Shared* shared_;
  uint64_t from_ring_ = 0;
  int torn_ = 0;
};

TEST_P(KillTest, LosesNoRecordThatWasAppended) {
  std::mt19937 random(GetParam() ? 1 : 2);
  uint64_t appended = 0;
  const int kills = KillsWanted();
  for (int i = 0; i < kills; ++i) {
    const int threads = i % 3 == 0 ? kMaxThreads : 1;
    const int signal = i % 4 == 0 ? SIGSEGV : SIGKILL;
    const std::chrono::microseconds after(random() % 400'000);
    appended += KillOne(threads, signal, after);
    if (HasFailure()) break;
  }
  EXPECT_GT(appended, 0u);
  EXPECT_GT(from_ring_, 0u);
  std::cout << kills << " processes killed, " << appended
            << " records appended, " << from_ring_ << " found in rings only, "
            << torn_ << " torn segments\n";
}

INSTANTIATE_TEST_SUITE_P(Rings, KillTest, testing::Values(false, true),
                         [](const auto& info) {
                           return info.param ? "InSharedMemory" : "OnDisk";
                         });

}  // namespace
}  // namespace graphdbg::recording
