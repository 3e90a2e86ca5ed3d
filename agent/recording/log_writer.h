// The thread that moves records from the ring to the log.
#ifndef AGENT_RECORDING_LOG_WRITER_H_
#define AGENT_RECORDING_LOG_WRITER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "agent/base/mutex.h"
#include "agent/recording/ring.h"
#include "agent/recording/segment_writer.h"

namespace graphdbg::recording {

// Works in rounds: writes the messages that records refer to, the records that
// were committed before the round began, and then tensors. If the disk is full,
// the round is tried again later, and the ring fills up meanwhile; after any
// other failure the thread ends.
class LogWriter {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // All records are written; otherwise only those that are asked for.
    bool keep_all = true;
    std::chrono::milliseconds period{250};
    std::chrono::milliseconds sync_period{5'000};
    std::chrono::milliseconds retry_period{10'000};
    // A segment is finished at the end of the first step beyond this size.
    uint64_t segment_bytes = uint64_t{64} << 20;
  };
  struct Callbacks {
    // Writes what precedes the records, and syncs it if asked to. On the
    // writer's thread.
    std::function<absl::Status(bool sync)> write_messages;
    // Writes what is besides the log, and looks after its own failures. `last`:
    // it is on the disk then. On the writer's thread.
    std::function<void(bool last)> write_tensors;
    // Whether there is room for the log at all. RESOURCE_EXHAUSTED if not.
    std::function<absl::Status()> check_room;
    // A line for the user. On the writer's thread.
    std::function<void(const std::string& line)> log;
    // The thread ends because of a failure. On the writer's thread.
    std::function<void()> failed;
  };

  // `ring` must outlive this.
  LogWriter(Ring* ring, SegmentWriter segments, const Options& options,
            Callbacks callbacks)
      : ring_(ring),
        segments_(std::move(segments)),
        options_(options),
        callbacks_(std::move(callbacks)) {}
  // Finishes first if that was not done.
  ~LogWriter();

  void Start();
  // Has a round begin as soon as possible. Any thread.
  void Wake() GRAPHDBG_EXCLUDES(mu_);
  // A step has ended: has a round begin if there is much to write, so that it
  // does not begin in the midst of a step. Takes no lock if there is not. Any
  // thread.
  void EndStep() GRAPHDBG_EXCLUDES(mu_);
  // Without keep_all: writes what the ring has, and what is appended up to the
  // end of this step. Any thread.
  void KeepThrough(uint64_t step) GRAPHDBG_EXCLUDES(mu_);

  // Writes everything, finishes the segment and ends the thread. Returns false
  // if that takes longer than `limit`; the object must then be leaked, because
  // its thread may hang in a system call forever.
  bool Finish(std::chrono::milliseconds limit) GRAPHDBG_EXCLUDES(mu_);

  // Any thread.
  uint64_t written_bytes() const { return written_bytes_; }

  // After Finish: whether all records are in the log.
  bool complete() const { return complete_; }

 private:
  void Run();
  // Returns false when the thread shall end.
  bool WaitForRound() GRAPHDBG_EXCLUDES(mu_);
  absl::Status Round(bool last);
  // Spares training threads page faults until the next round or so.
  void PopulateAhead(uint64_t head, uint64_t records);
  // The most that a round should have to write.
  uint64_t ComfortableRecords() const {
    return std::max<uint64_t>(ring_->capacity() / 4, 1);
  }
  void PlanRound();
  // Writes records up to `end`, or the first that is not committed yet.
  absl::Status WriteRecords(uint64_t end);
  // Committed records from next_ on, up to `end`. They are copies if the ring
  // overwrites records.
  absl::Span<const runs::Record> NextBatch(uint64_t end);
  // How many of them to write: at most to the end of a step that ends the
  // segment, or what is to be kept.
  size_t ShareOfSegment(absl::Span<const runs::Record> batch,
                        bool* segment_ends);
  // Handles the outcome of a round. Returns false when the thread shall end.
  bool Judge(const absl::Status& status);
  absl::Status SyncIfDue(bool now);
  void SetDone() GRAPHDBG_EXCLUDES(mu_);

  Ring* const ring_;
  SegmentWriter segments_;
  const Options options_;
  const Callbacks callbacks_;

  // The writer's thread only.
  std::vector<runs::Record> copies_;
  // The next position to look at.
  uint64_t next_ = 0;
  // The head in the last round, and up to where the ring was populated.
  uint64_t seen_head_ = 0;
  uint64_t populated_ = 0;
  bool failing_ = false;
  Clock::time_point synced_at_;
  std::chrono::milliseconds wait_{0};

  // Records of steps up to this one are kept; 0: none. Without keep_all.
  std::atomic<uint64_t> keep_through_{0};
  // The position at which EndStep has a round begin. None while there is no
  // room on the disk: that is tried again when its time has come.
  std::atomic<uint64_t> round_due_{UINT64_MAX};
  std::atomic<bool> complete_{false};
  std::atomic<uint64_t> written_bytes_{0};

  Mutex mu_;
  CondVar changed_;
  bool woken_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool stopping_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool done_ GRAPHDBG_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_LOG_WRITER_H_
