// Writes to the database on a thread of its own.
#ifndef SERVER_STORE_WRITER_H_
#define SERVER_STORE_WRITER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/base/memory_budget.h"
#include "server/base/steady_flag.h"
#include "server/store/connection.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

struct WriterOptions {
  // Receives a line when writing begins to fail, when it works again, and when
  // the records of one job are given up. Called on the writer's thread.
  std::function<void(std::string_view line)> log;
  // Receives the new status when writing begins to fail and when it works
  // again. Called on the writer's thread.
  std::function<void(const absl::Status& status)> on_change;
  // Writer::full() is true while more than this waits to be written. A quarter
  // of it is the limit for writes that may be dropped.
  uint64_t max_waiting_bytes = uint64_t{64} << 20;
  // The memory budget of the server, which counts what waits. May be null.
  std::shared_ptr<MemoryBudget> memory;
  // The pause after the first failure. It doubles up to the longest.
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5'000};
};

// Executes writes in the order in which they were queued. Writes that are
// queued while a transaction is being committed form the next transaction.
//
// A transaction that fails is rolled back and tried again, with increasing
// pauses, until it succeeds or the writer is closed. The file therefore always
// contains all writes up to some point and none after it.
class Writer {
 public:
  using Write = std::function<absl::Status(Statements&)>;
  using Then = std::function<void(absl::Status)>;

  // The records that belong together: those of one job. If the tables do not
  // accept one of them, the later ones are not written either.
  class Group {
   public:
    // Thread-safe. The error with which the group was given up.
    absl::Status status() const {
      absl::MutexLock lock(&mu_);
      return status_;
    }

   private:
    friend class Writer;
    void GiveUp(const absl::Status& status) {
      absl::MutexLock lock(&mu_);
      status_ = status;
    }

    mutable absl::Mutex mu_;
    absl::Status status_ ABSL_GUARDED_BY(mu_);
  };
  using GroupPtr = std::shared_ptr<Group>;

  enum class Kind {
    kRecord,
    // May be dropped when too much waits to be written.
    kOptional,
    // Executed even if the group was given up.
    kRemoval,
  };

  // Without `db`, which is the connection to `file`, the file cannot be opened
  // at present.
  Writer(std::string file, std::optional<Database> db,
         WriterOptions options = {});
  ~Writer() { Close(); }

  // Executes the queued writes and ends the thread. Later writes are dropped.
  // While writing fails, only one more attempt is made. Must not be called on
  // the writer's thread.
  void Close();

  // `bytes` is the approximate memory that `write` holds. Thread-safe, does not
  // block.
  void Put(const GroupPtr& group, Write write, size_t bytes,
           Kind kind = Kind::kRecord);

  // Both call `then` once when all previous writes are committed, or with the
  // error of a group that was given up. While writing fails, WhenDurable calls
  // it with the error, although the writes are still to come; OnceDurable
  // waits. Called on the writer's thread or, while writing fails, on the
  // caller's. Thread-safe, do not block.
  void WhenDurable(const GroupPtr& group, Then then);
  void OnceDurable(const GroupPtr& group, Then then);

  // OK, or the error with which writing fails at present. Thread-safe.
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether so much waits to be written that no more should be queued.
  bool full() const { return waiting_bytes_ > options_.max_waiting_bytes; }
  uint64_t waiting_bytes() const { return waiting_bytes_; }
  // Writes of kind kOptional that were dropped.
  uint64_t dropped() const { return dropped_; }

  // Size of the file without free pages, after the last transaction.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Item {
    GroupPtr group;
    Write write;
    size_t bytes = 0;
    Kind kind = Kind::kRecord;
    Then when_durable;
    Then once_durable;
  };
  using Items = std::deque<Item>;

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Enqueue(Item item) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether a write of kind kOptional should be dropped.
  bool ShortOfMemory() const;
  void Loop();
  // Waits for work. Empty when the writer is closed and nothing is left.
  Items TakeBatch() ABSL_LOCKS_EXCLUDED(mu_);
  // Commits the batch, however often it has to be tried. False if the writer
  // was closed before that succeeded.
  bool WriteOut(Items& batch);
  // Commits the batch, on a connection that can be relied on.
  absl::Status Commit(const Items& batch);
  // Commits what the tables accept, and gives up the other groups.
  absl::Status CommitAccepted(const Items& batch);
  // Runs the batch's writes. Sets `culprit` if its record is not accepted.
  absl::Status RunWrites(const Items& batch, GroupPtr& culprit);
  void OnFailure(const absl::Status& status, Items& batch)
      ABSL_LOCKS_EXCLUDED(mu_);
  void OnSuccess() ABSL_LOCKS_EXCLUDED(mu_);
  // Returns false if the writer was closed meanwhile.
  bool PauseAfterFailure() ABSL_LOCKS_EXCLUDED(mu_);
  void Complete(Items& batch) ABSL_LOCKS_EXCLUDED(mu_);
  void Log(const std::string& line) const;
  // Updates bytes() and returns the number of free pages.
  int64_t MeasureFile();
  void ReleaseFreePages();

  const WriterOptions options_;
  Connection connection_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> waiting_bytes_{0};
  std::atomic<uint64_t> dropped_{0};
  // The next pause, and when writing last worked again. Used only on the
  // writer's thread.
  std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point recovered_at_;

  mutable absl::Mutex mu_;
  Items queue_ ABSL_GUARDED_BY(mu_);
  // Covers waiting_bytes_.
  MemoryBudget::Reservation reserved_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  // Ends the pause after a failure.
  SteadyFlag closing_;

  std::thread thread_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_WRITER_H_
