// Measures what recording costs the training thread.
//
//   recording_speed DIRECTORY RING_DIRECTORY
//
// tools/bench/record_speed.py starts it. For each line on stdin it answers with
// one line of numbers:
//
//   append N      microseconds of each of N steps of 3,000 records, 10 ms
//                 apart, as training steps are; then the process's CPU time
//                 meanwhile, without the pauses, and how many records were
//                 dropped
//
//   measure N E   microseconds of a step with the statistics of 3,000 tensors,
//                 E float32 elements each, not recorded and recorded, N times
//
//   ops N         microseconds of N steps of the begin and end of 3,000 ops
//
//   save N C B    microseconds of each of N steps that save C tensors of B
//                 bytes, and wait whenever there is no room; then how many
//                 tensors were dropped
//
//   offer N C B   the same without waiting, 10 ms between the steps
//
//   copy N C B    as save, without a recording: copies the tensors with their
//                 checksums and writes the copies directly, on one thread:
//                 what keeping copies takes at least. Answers with a checksum
//
//   write N C B   writes as many bytes directly, without copying them: what the
//                 disk takes
//
// At the end of stdin, the recording is closed; it stays in the directory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/recording/file_recording.h"
#include "agent/tensor/tensor_view.h"
#include "proto/runs/crc32c.h"

namespace {

using Clock = std::chrono::steady_clock;
using graphdbg::Statistics;
using graphdbg::agent::Recording;
using graphdbg::agent::RecordKey;

constexpr int kRecordsOfStep = 3'000;
constexpr auto kBetweenSteps = std::chrono::milliseconds(10);
// Longer than the period of the writer's thread.
constexpr auto kUntilWritten = std::chrono::milliseconds(300);
// What finds room when almost everything is written.
constexpr uint64_t kAlmostAllRoom = uint64_t{60} << 20;
constexpr auto kLookForRoom = std::chrono::milliseconds(1);

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

std::unique_ptr<Recording> Open(const std::string& runs,
                                const std::string& ring_directory) {
  graphdbg::agent::RecordingOptions options;
  options.directory = runs;
  options.ring_directory = ring_directory;
  options.program = "bench";
  // So that the disk is the limit.
  options.limits_tensor_rate = false;
  graphdbg::agent::RecordingCallbacks callbacks;
  callbacks.log = [](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
  };
  callbacks.take_graph_update = [](graphdbg::v1::GraphUpdate*) {
    return false;
  };
  auto opened = graphdbg::recording::OpenFileRecording(
      options, graphdbg::v1::Hello(), std::move(callbacks));
  if (opened.ok()) return *std::move(opened);
  std::fprintf(stderr, "%s\n", opened.status().ToString().c_str());
  return nullptr;
}

constexpr int64_t kWritten = int64_t{8} << 20;
constexpr int64_t kCopies = int64_t{64} << 20;

// A new file, which is written directly from 64 MiB of memory.
class DirectFile {
 public:
  explicit DirectFile(const std::string& path)
      : memory_(mmap(nullptr, kCopies, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_DIRECT, 0666)) {
    if (memory_ != MAP_FAILED) madvise(memory_, kCopies, MADV_HUGEPAGE);
  }
  bool ok() const { return memory_ != MAP_FAILED && fd_ >= 0; }
  char* memory() const { return static_cast<char*>(memory_); }
  bool Write(const char* from, int64_t bytes) const {
    return write(fd_, from, static_cast<size_t>(bytes)) == bytes;
  }
  bool Close() const { return fdatasync(fd_) == 0 && close(fd_) == 0; }

 private:
  void* const memory_;
  const int fd_;
};

std::vector<uint32_t> RandomNumbers(int64_t bytes) {
  std::vector<uint32_t> numbers(static_cast<size_t>(bytes) / sizeof(uint32_t));
  std::generate(numbers.begin(), numbers.end(), std::mt19937());
  return numbers;
}

// False if a write fails.
bool CopyToDisk(const std::string& path, int64_t total, int64_t bytes) {
  const std::vector<uint32_t> values = RandomNumbers(bytes);
  const DirectFile file(path);
  if (!file.ok()) return false;
  uint32_t crc = 0;
  int64_t unwritten = 0;
  for (int64_t at = 0; at < total; at += bytes) {
    // Both sizes are powers of two.
    char* const to = file.memory() + at % kCopies;
    crc ^= graphdbg::runs::CopyAndExtendCrc32c(0, to, values.data(),
                                               static_cast<size_t>(bytes));
    unwritten += bytes;
    if (unwritten < kWritten && at + bytes < total) continue;
    if (!file.Write(to + bytes - unwritten, unwritten)) return false;
    unwritten = 0;
  }
  std::printf("%u\n", crc);
  return file.Close();
}

// False if a write fails.
bool WriteToDisk(const std::string& path, int64_t total) {
  const std::vector<uint32_t> values = RandomNumbers(kWritten);
  const DirectFile file(path);
  if (!file.ok()) return false;
  std::memcpy(file.memory(), values.data(), kWritten);
  for (int64_t left = total; left > 0; left -= kWritten) {
    if (!file.Write(file.memory(), std::min(left, kWritten))) return false;
  }
  std::printf("\n");
  return file.Close();
}

double CpuMicroseconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 +
         static_cast<double>(time.tv_nsec) / 1e3;
}

class Bench {
 public:
  explicit Bench(Recording* recording) : recording_(*recording) {
    const float values[] = {-1, 0, 2};
    const int64_t count = 3;
    Statistics statistics;
    graphdbg::cpu::ComputeStatistics(
        {graphdbg::DType::kFloat32, values, 1, &count, nullptr}, &statistics);
    statistics_.assign(kRecordsOfStep, statistics);
  }

  void Append(int steps) {
    const uint64_t dropped = recording_.records_dropped();
    const double cpu = CpuMicroseconds(CLOCK_PROCESS_CPUTIME_ID);
    // What is no part of recording: a pause takes some 20 us of CPU time.
    double besides = 0;
    for (int i = 0; i < steps; ++i) {
      const double before = CpuMicroseconds(CLOCK_THREAD_CPUTIME_ID);
      std::this_thread::sleep_for(kBetweenSteps);
      Drift();
      besides += CpuMicroseconds(CLOCK_THREAD_CPUTIME_ID) - before;
      Step([&] {
        for (key_.node = 1; key_.node <= kRecordsOfStep; ++key_.node) {
          recording_.AppendStatistics(key_, statistics_[key_.node - 1], 1);
        }
      });
    }
    std::this_thread::sleep_for(kUntilWritten);
    std::printf("%.3f %llu\n",
                CpuMicroseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - besides,
                static_cast<unsigned long long>(recording_.records_dropped() -
                                                dropped));
  }

  void BeginAndEndOps(int steps) {
    graphdbg::agent::StartedOp op;
    for (int i = 0; i < steps; ++i) {
      Step([&] {
        for (op.node = 1; op.node <= kRecordsOfStep; ++op.node) {
          op.exec_order = op.node;
          recording_.BeginOp(op);
          recording_.EndOp();
        }
      });
    }
    std::printf("\n");
  }

  // Alternately, so that both see the same machine.
  void Measure(int steps, int64_t elements) {
    const std::vector<float> values(static_cast<size_t>(elements), 0.5f);
    const graphdbg::TensorView view = {graphdbg::DType::kFloat32, values.data(),
                                       1, &elements, nullptr};
    for (int i = 0; i < steps; ++i) {
      for (const bool record : {false, true}) {
        Step([&] {
          for (key_.node = 1; key_.node <= kRecordsOfStep; ++key_.node) {
            Statistics statistics;
            graphdbg::cpu::ComputeStatistics(view, &statistics);
            if (record) recording_.AppendStatistics(key_, statistics, 1);
          }
        });
      }
    }
    std::printf("\n");
  }

  void SaveTensors(int steps, int count, int64_t bytes, bool waits) {
    const int64_t elements = bytes / static_cast<int64_t>(sizeof(float));
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& value : values) value = static_cast<float>(random_());
    graphdbg::agent::TensorToSave tensor;
    tensor.view = {graphdbg::DType::kFloat32, values.data(), 1, &elements,
                   nullptr};
    while (names_.size() < static_cast<size_t>(count)) {
      names_.push_back("forward/layers/" + std::to_string(names_.size()) +
                       "/linear");
    }
    key_.dtype = static_cast<uint8_t>(tensor.view.dtype);
    const uint64_t dropped = recording_.tensors_dropped();
    for (int i = 0; i < steps; ++i) {
      Step([&] {
        for (key_.node = 1; key_.node <= static_cast<uint32_t>(count);
             ++key_.node) {
          while (waits &&
                 !recording_.HasRoomForTensor(static_cast<uint64_t>(bytes))) {
            std::this_thread::sleep_for(kLookForRoom);
          }
          tensor.node_name = names_[key_.node - 1];
          recording_.SaveTensor(key_, tensor);
        }
      });
      if (!waits) std::this_thread::sleep_for(kBetweenSteps);
    }
    // Closing waits 5 s at most.
    while (waits && !recording_.HasRoomForTensor(kAlmostAllRoom)) {
      std::this_thread::sleep_for(kLookForRoom);
    }
    std::printf("%llu\n", static_cast<unsigned long long>(
                              recording_.tensors_dropped() - dropped));
  }

 private:
  // Changes all values a little, as training does, so that packing them later
  // is no easier than usual.
  void Drift() {
    std::uniform_real_distribution<double> change(0.98, 1.02);
    for (Statistics& each : statistics_) {
      for (double* value :
           {&each.min, &each.max, &each.mean, &each.abs_mean, &each.abs_max,
            &each.variance, &each.l1, &each.l2}) {
        *value *= change(random_);
      }
    }
  }

  // Runs a step between its marks, and prints its time.
  void Step(const std::function<void()>& work) {
    RecordKey key;
    key.step = ++key_.step;
    graphdbg::agent::RecordedMark mark;
    mark.mode_step = key.step;
    const Clock::time_point begin = Clock::now();
    recording_.AppendBegin(key, mark);
    work();
    recording_.AppendEnd(key, mark);
    std::printf("%.3f ", Microseconds(Clock::now() - begin));
  }

  Recording& recording_;
  std::mt19937 random_;
  std::vector<Statistics> statistics_;
  // The recording refers to them until it is closed.
  std::deque<std::string> names_;
  RecordKey key_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: recording_speed DIRECTORY RING_DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  const auto recording = Open(directory, argv[2]);
  if (recording == nullptr) return 1;
  Bench bench(recording.get());
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    int steps = 0;
    int count = 0;
    long long elements = 0;
    long long bytes = 0;
    if (std::sscanf(line, "append %d", &steps) == 1) {
      bench.Append(steps);
    } else if (std::sscanf(line, "measure %d %lld", &steps, &elements) == 2) {
      bench.Measure(steps, elements);
    } else if (std::sscanf(line, "ops %d", &steps) == 1) {
      bench.BeginAndEndOps(steps);
    } else if (std::sscanf(line, "save %d %d %lld", &steps, &count, &bytes) ==
               3) {
      bench.SaveTensors(steps, count, bytes, /*waits=*/true);
    } else if (std::sscanf(line, "offer %d %d %lld", &steps, &count, &bytes) ==
               3) {
      bench.SaveTensors(steps, count, bytes, /*waits=*/false);
    } else if (std::sscanf(line, "copy %d %d %lld", &steps, &count, &bytes) ==
               3) {
      if (!CopyToDisk(directory + "/copies", int64_t{steps} * count * bytes,
                      bytes)) {
        std::perror("copy");
        return 1;
      }
    } else if (std::sscanf(line, "write %d %d %lld", &steps, &count, &bytes) ==
               3) {
      if (!WriteToDisk(directory + "/written",
                       int64_t{steps} * count * bytes)) {
        std::perror("write");
        return 1;
      }
    }
    std::fflush(stdout);
  }
  return recording->Close(graphdbg::v1::Goodbye(), "exit") ? 0 : 1;
}
