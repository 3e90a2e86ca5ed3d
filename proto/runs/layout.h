// Names of the files in a run's directory. Readers pass over other names.
#ifndef PROTO_RUNS_LAYOUT_H_
#define PROTO_RUNS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace graphdbg::runs {

inline constexpr char kRunFile[] = "run.json";
inline constexpr char kRankFile[] = "rank.json";
inline constexpr char kRingFile[] = "ring.gdbr";
inline constexpr char kGraphFile[] = "graph.gdbm";
inline constexpr char kHitsFile[] = "hits.gdbm";
inline constexpr char kOpTimesFile[] = "op-times.gdbm";
inline constexpr char kUserChangesFile[] = "user-changes.gdbm";
inline constexpr char kCollectionsFile[] = "collections.jsonl";
// The findings of rules while the job ran, one JSON object to a line.
inline constexpr char kFindingsFile[] = "findings.jsonl";
// Readers of findings.jsonl pass over a longer file.
inline constexpr uint64_t kMaxFindingsBytes = uint64_t{16} << 20;
inline constexpr char kLogDirectory[] = "log";
inline constexpr char kTensorsDirectory[] = "tensors";
// Behind the name of a ring: which op each thread runs.
inline constexpr char kLastOpsSuffix[] = ".ops";
// Behind the name of a segment while it is written.
inline constexpr char kOpenSuffix[] = ".open";
// Behind the name of any other file while it is written.
inline constexpr char kPartSuffix[] = ".part";

// "rank-00003".
std::string RankDirectory(uint32_t rank);
// Absent for any other name, and for ranks beyond the limit.
std::optional<uint32_t> ParseRankDirectory(absl::string_view name);

// "00000000000000000123.gdbl": a segment is named by its first position.
std::string SegmentFile(uint64_t first_position);

struct SegmentName {
  uint64_t first_position = 0;
  // Still being written, or never finished.
  bool open = false;
};
// Absent for any other name.
std::optional<SegmentName> ParseSegmentFile(absl::string_view name);

// "00000100.safetensors", "00000100-2.safetensors": saved tensors of a step, in
// files that are numbered from 1.
std::string TensorFile(uint64_t step, uint32_t number);

struct TensorFileName {
  uint64_t step = 0;
  uint32_t number = 1;
  // Still being written, or never finished.
  bool part = false;
};
// Absent for any other name.
std::optional<TensorFileName> ParseTensorFile(absl::string_view name);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_LAYOUT_H_
