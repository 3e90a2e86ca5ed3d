// Measures what recording costs the training thread.
//
//   bazel run -c opt //tools/bench:recording_speed -- [DIRECTORY...]
//
// For a ring in ordinary memory's file system (/dev/shm) and in each directory:
// nanoseconds to append a record, and microseconds of a step of 3,000 records,
// 10 ms apart, as training steps are. Then the same step with the statistics of
// 3,000 tensors of 4 and of 64 KiB, recorded and not.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/recording/file_recording.h"
#include "agent/tensor/tensor_view.h"

namespace {

using Clock = std::chrono::steady_clock;
using graphdbg::Statistics;
using graphdbg::agent::Recording;
using graphdbg::agent::RecordKey;

constexpr int kRecordsOfStep = 3'000;
constexpr int kSteps = 500;
constexpr auto kBetweenSteps = std::chrono::milliseconds(10);

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

std::unique_ptr<Recording> Open(const std::string& runs,
                                const std::string& ring_directory) {
  graphdbg::agent::RecordingOptions options;
  options.directory = runs;
  options.ring_directory = ring_directory;
  options.program = "bench";
  graphdbg::agent::RecordingCallbacks callbacks;
  callbacks.tell = [](const std::string& line) {
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

struct Percentiles {
  double median;
  double p99;
};

// Runs the steps and times each.
Percentiles TimeSteps(const std::function<void(uint64_t step)>& run) {
  std::vector<double> times;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    const Clock::time_point begin = Clock::now();
    run(step);
    times.push_back(Microseconds(Clock::now() - begin));
    std::this_thread::sleep_for(kBetweenSteps);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

void MeasureAppending(const char* name, Recording* recording) {
  Statistics statistics;
  statistics.count = 1;
  RecordKey key;
  const Percentiles step = TimeSteps([&](uint64_t number) {
    key.step = number;
    for (uint32_t node = 1; node <= kRecordsOfStep; ++node) {
      key.node = node;
      recording->AppendStatistics(key, statistics, 1);
    }
  });
  std::printf(
      "%-10s %8.1f ns a record, step of %d: %7.1f us p50, %7.1f us p99,"
      " %llu dropped\n",
      name, step.median * 1000 / kRecordsOfStep, kRecordsOfStep, step.median,
      step.p99, static_cast<unsigned long long>(recording->records_dropped()));
}

// The tensors have `elements` elements of float32.
void MeasureWithStatistics(const char* name, int64_t elements,
                           Recording* recording) {
  const std::vector<float> values(static_cast<size_t>(elements), 0.5f);
  const graphdbg::TensorView view = {graphdbg::DType::kFloat32, values.data(),
                                     1, &elements, nullptr};
  const auto measure = [&](uint64_t step, bool record) {
    RecordKey key;
    key.step = step;
    for (uint32_t node = 1; node <= kRecordsOfStep; ++node) {
      Statistics statistics;
      graphdbg::cpu::ComputeStatistics(view, &statistics);
      key.node = node;
      if (record) recording->AppendStatistics(key, statistics, 1);
    }
  };
  // Alternately, so that both see the same machine.
  std::vector<double> unrecorded;
  std::vector<double> recorded;
  TimeSteps([&](uint64_t step) {
    for (const bool record : {false, true}) {
      const Clock::time_point begin = Clock::now();
      measure(step, record);
      (record ? recorded : unrecorded)
          .push_back(Microseconds(Clock::now() - begin));
    }
  });
  std::sort(unrecorded.begin(), unrecorded.end());
  std::sort(recorded.begin(), recorded.end());
  const double without = unrecorded[unrecorded.size() / 2];
  const double with = recorded[recorded.size() / 2];
  std::printf(
      "%-10s statistics of %d tensors of %lld KiB: %.0f us, recorded %.0f us: "
      "%.3f\n",
      name, kRecordsOfStep, static_cast<long long>(elements * 4 / 1024),
      without, with, with / without);
}

void Measure(const std::string& directory) {
  const std::string runs = directory + "/graphdbg-bench-runs";
  if (const auto recording = Open(runs, directory)) {
    MeasureAppending(directory.c_str(), recording.get());
    MeasureWithStatistics(directory.c_str(), 1'024, recording.get());
    MeasureWithStatistics(directory.c_str(), 16'384, recording.get());
    recording->Close(graphdbg::v1::Goodbye(), "exit");
  }
  std::filesystem::remove_all(runs);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> directories(argv + 1, argv + argc);
  if (directories.empty()) {
    directories = {"/dev/shm", std::filesystem::temp_directory_path().string()};
  }
  for (const std::string& directory : directories) Measure(directory);
  return 0;
}
