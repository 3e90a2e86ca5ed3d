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
#include <cstring>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/recording/file_recording.h"
#include "agent/recording/ring_place.h"
#include "agent/recording/run_directory.h"
#include "agent/recording/testing/recovered_rank.h"
#include "proto/runs/crc32c.h"
#include "proto/runs/layout.h"

namespace graphdbg::recording {
namespace {

constexpr int kMaxThreads = 4;

struct Shared {
  std::atomic<bool> open{false};
  // By thread: the number of the last record that was appended.
  std::array<std::atomic<uint64_t>, kMaxThreads> appended{};
  // Tensors whose record was appended.
  std::atomic<uint64_t> saved{0};
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

// Saves a tensor after each so many records, and ends its step.
constexpr uint64_t kRecordsOfStep = 200;
constexpr int64_t kElements = 100'000;

// Values that differ from tensor to tensor.
std::vector<uint64_t> ValuesOf(uint64_t step) {
  std::vector<uint64_t> values(kElements);
  std::iota(values.begin(), values.end(), step << 32);
  return values;
}

void SaveTensor(agent::Recording* recording, const agent::RecordKey& of,
                std::atomic<uint64_t>* saved) {
  agent::RecordKey key = of;
  key.dtype = static_cast<uint8_t>(DType::kUint64);
  const std::vector<uint64_t> values = ValuesOf(key.step);
  agent::TensorToSave tensor;
  tensor.view = {DType::kUint64, values.data(), 1, &kElements, nullptr};
  tensor.node_name = "forward/op";
  if (recording->SaveTensor(key, tensor)) ++*saved;
  recording->AppendEnd(key, {});
}

void AppendForEver(agent::Recording* recording, uint32_t thread,
                   Shared* shared) {
  std::atomic<uint64_t>& appended = shared->appended[thread];
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
    appended.store(number, std::memory_order_release);
    if (thread == 0 && number % kRecordsOfStep == 0) {
      key.pass = 0;
      SaveTensor(recording, key, &shared->saved);
      key.pass = 1;
    }
  }
}

// In the child.
[[noreturn]] void RecordForEver(const Place& place, int threads,
                                Shared* shared) {
  agent::RecordingCallbacks callbacks;
  callbacks.log = [](const std::string& line) { std::cerr << line << "\n"; };
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
      AppendForEver(recording->get(), static_cast<uint32_t>(t), shared);
    });
  }
  AppendForEver(recording->get(), 0, shared);
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
    unlink((RingPath() + runs::kLastOpsSuffix).c_str());
    from_ring_ += rank.from_ring;
    torn_ += rank.torn_bytes > 0 ? 1 : 0;
    return Check(rank, threads);
  }

  // Each thread's records are there, in order, up to the last it had counted.
  uint64_t Check(const RecoveredRank& rank, int threads) {
    std::array<uint64_t, kMaxThreads> found{};
    uint64_t saved = 0;
    for (const auto& [position, record] : rank.records) {
      if (record.known_kind() == runs::Kind::kTensor) {
        ++saved;
        CheckTensor(record);
      }
      if (record.known_kind() != runs::Kind::kStatistics) continue;
      EXPECT_TRUE(record.node >= 1 && record.node <= kMaxThreads);
      uint64_t& last = found[record.node - 1];
      EXPECT_EQ(record.step, last + 1) << "at position " << position;
      EXPECT_EQ(record.statistics.max, static_cast<double>(record.step));
      last = record.step;
    }
    EXPECT_GE(saved, shared_->saved.load());
    uint64_t appended = 0;
    for (size_t t = 0; t < static_cast<size_t>(threads); ++t) {
      EXPECT_GE(found[t], shared_->appended[t].load());
      appended += shared_->appended[t].load();
    }
    return appended;
  }

  // Whole files contain what the records list; in the last one, what was
  // written is good.
  void CheckTensor(const runs::Record& record) {
    const std::string path = place_.runs + "/job/rank-00000/tensors/" +
                             runs::TensorFile(record.step, record.tensor.file);
    const bool whole = std::filesystem::exists(path);
    const std::string file = ReadFile(whole ? path : path + runs::kPartSuffix);
    uint64_t header = 0;
    if (file.size() >= sizeof(header)) {
      std::memcpy(&header, file.data(), sizeof(header));
    }
    const uint64_t begin = sizeof(header) + header + record.tensor.offset;
    if (!whole && file.size() < begin + record.tensor.bytes) {
      ++lost_;
      return;
    }
    const std::string bytes = file.substr(begin, record.tensor.bytes);
    const std::vector<uint64_t> values = ValuesOf(record.step);
    EXPECT_EQ(bytes.size(), values.size() * sizeof(uint64_t));
    if (!whole && runs::ExtendCrc32c(0, bytes.data(), bytes.size()) !=
                      record.tensor.data_crc) {
      ++lost_;
      return;
    }
    ++found_;
    EXPECT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0)
        << path;
  }

  Place place_;
  Shared* shared_;
  uint64_t found_ = 0;
  uint64_t lost_ = 0;
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
  EXPECT_GT(found_, 0u);
  std::cout << kills << " processes killed, " << appended
            << " records appended, " << from_ring_ << " found in rings only, "
            << torn_ << " torn segments, " << found_ << " tensors in files, "
            << lost_ << " not written yet\n";
}

INSTANTIATE_TEST_SUITE_P(Rings, KillTest, testing::Values(false, true),
                         [](const auto& info) {
                           return info.param ? "InSharedMemory" : "OnDisk";
                         });

}  // namespace
}  // namespace graphdbg::recording
