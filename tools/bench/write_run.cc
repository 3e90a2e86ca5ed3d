// Writes a recorded run of a given size: write_run DIRECTORY RANKS STEPS OPS.
// Each step has one record for each op; values of the first 100 ops are saved
// each 100 steps.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "server/runs/testing/run_writer.h"

namespace {

using graphdbg::recorded::testing::RankWriter;

// 64 MiB, at which a recording begins another segment.
constexpr uint64_t kSegmentRecords = (uint64_t{64} << 20) / 160;
constexpr uint32_t kLossOp = 1;

uint32_t NumberIn(const char* text) {
  uint32_t number = 0;
  const auto [stop, error] =
      std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc() || *stop != '\0' || number == 0) {
    std::cerr << "write_run: '" << text << "' is not a positive number\n";
    std::exit(2);
  }
  return number;
}

double ValueAt(uint64_t step, uint32_t op) {
  if (op == kLossOp) return 2.3 * std::exp(-static_cast<double>(step) / 300);
  return std::sin(static_cast<double>(step * op));
}

void WriteRank(const std::string& run, uint32_t rank, uint32_t steps,
               uint32_t ops) {
  RankWriter writer(run, rank);
  writer.WriteGraph(ops);
  writer.WriteInfo(
      R"("program": "train.py",
         "config": {"collections": [{"name": "losses"}]})");
  writer.WriteFile("collections.jsonl",
                   "{\"collection\": \"losses\", \"tensors\": [[1, 0]]}\n");
  for (uint64_t step = 1; step <= steps; ++step) {
    writer.Begin(step);
    for (uint32_t op = 1; op <= ops; ++op) {
      writer.Statistics(step, op, ValueAt(step, op));
    }
    writer.End(step);
    if (step % 100 == 0) {
      writer.WriteTensor(step, kLossOp + 1, std::vector<float>(1 << 20, 1),
                         {1 << 10, 1 << 10});
    }
  }
  for (uint64_t first = 0; first < writer.size(); first += kSegmentRecords) {
    writer.WriteSegment(first, first + kSegmentRecords);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: write_run DIRECTORY RANKS STEPS OPS\n";
    return 2;
  }
  const uint32_t ranks = NumberIn(argv[2]);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    WriteRank(argv[1], rank, NumberIn(argv[3]), NumberIn(argv[4]));
  }
  return 0;
}
