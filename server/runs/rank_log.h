// The records of one rank: the segments of its log, and behind them what only
// the ring has, which is what recovery adds.
#ifndef SERVER_RUNS_RANK_LOG_H_
#define SERVER_RUNS_RANK_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/runs/headers.h"
#include "proto/runs/record.h"
#include "server/runs/files.h"

namespace graphdbg::recorded {

// Consecutive positions.
struct Range {
  uint64_t first = 0;
  uint64_t end = 0;

  bool operator==(const Range&) const = default;
};

// A copy reads the same records as the original; each is used by one thread at
// a time.
class RankLog {
 public:
  // The ring is in `folder`, that of the rank.
  explicit RankLog(Folder folder);
  // The ring is elsewhere, where a run may name any file: it must be that of
  // this incarnation.
  RankLog(Folder folder, std::string ring_path,
          const runs::Incarnation& incarnation);

  // Looks for what was written since the last call: the process may be alive.
  void Refresh();

  // The ranges that exist, ascending, without overlaps; neighbours are merged.
  const std::vector<Range>& ranges() const { return ranges_; }
  // Reads the records from `first` on. Those that are missing or damaged have
  // Kind::kNone.
  void Read(uint64_t first, std::span<runs::Record> out) const;

  // The ring's file; absent if there is none, or a damaged one.
  const std::optional<File>& ring_file() const { return ring_file_; }
  // Damaged files, with their reason, by path.
  const std::map<std::string, std::string>& damage() const { return damage_; }
  // Size of the segments in bytes.
  uint64_t log_bytes() const { return log_bytes_; }
  // Whether the writer has closed its ring.
  bool closed() const {
    return ring_ &&
           ring_->state == static_cast<uint32_t>(runs::RingState::kClosed);
  }

 private:
  struct Segment {
    std::string name;
    Range range;
    bool open = false;
  };

  void RefreshSegments(const Folder& log);
  std::optional<Segment> ReadSegment(const Folder& log, const std::string& name,
                                     uint64_t first_position);
  void RefreshRing();
  void AddRange(Range range);
  const Segment* SegmentOf(uint64_t position) const;
  void ReadFromSegment(const Segment& segment, uint64_t first,
                       std::span<runs::Record> out) const;
  void ReadFromRing(uint64_t first, std::span<runs::Record> out) const;

  Folder folder_;
  // Empty: in the folder.
  std::string ring_path_;
  runs::Incarnation incarnation_{};
  // By first position.
  std::map<uint64_t, Segment> segments_;
  std::optional<File> ring_file_;
  std::optional<runs::RingHeader> ring_;
  std::vector<Range> ranges_;
  std::map<std::string, std::string> damage_;
  uint64_t log_bytes_ = 0;
  std::optional<Folder> log_;
  // The segment that was read last stays open.
  mutable std::optional<File> file_;
  mutable uint64_t file_first_ = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RANK_LOG_H_
