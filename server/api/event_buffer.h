// Buffers the newest events of each job for event streams.
//
// Readers pull events: each one remembers its position and is woken when there
// are more. A slow reader therefore uses no memory here and delays no other
// reader. If it falls behind the oldest buffered event, it starts over with a
// snapshot.
#ifndef SERVER_API_EVENT_BUFFER_H_
#define SERVER_API_EVENT_BUFFER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/memory_budget.h"
#include "server/jobs/interfaces.h"

namespace graphdbg::api {

// A buffered event. Its JSON text is shared by the readers of the newest
// events. Thread-safe.
class EventRecord {
 public:
  // `memory` may be null.
  EventRecord(std::shared_ptr<const model::Event> event, int64_t time_unix_nano,
              MemoryBudget* memory);

  const model::Event& event() const { return *event_; }
  // Approximate memory that the event and its text take.
  uint64_t bytes() const { return bytes_; }
  // The event as JSON. Encodes it if the text is not cached.
  std::shared_ptr<const std::string> Text() const ABSL_LOCKS_EXCLUDED(mu_);
  // Drops the cached text to free its memory.
  void DropText() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::shared_ptr<const model::Event> event_;
  const int64_t time_unix_nano_;
  const uint64_t bytes_;
  const MemoryBudget::Reservation memory_;
  mutable absl::Mutex mu_;
  mutable std::shared_ptr<const std::string> text_ ABSL_GUARDED_BY(mu_);
};

// Thread-safe. No function blocks for long.
class EventBuffer {
 public:
  struct Limits {
    size_t events_per_job = 2'048;
    // The events of a job may take this much, and less when memory is short.
    uint64_t bytes_per_job = uint64_t{16} << 20;
    uint64_t bytes_per_job_when_short = uint64_t{256} << 10;
    // The newest events whose JSON text is cached.
    size_t texts_per_job = 64;
    // Deleted jobs whose last event is kept for readers.
    size_t deleted_jobs = 1'000;
    // Null if memory is not limited.
    std::shared_ptr<MemoryBudget> memory = nullptr;
  };

  explicit EventBuffer(jobs::Directory& directory)
      : EventBuffer(directory, Limits()) {}
  EventBuffer(jobs::Directory& directory, Limits limits);
  ~EventBuffer();

  EventBuffer(const EventBuffer&) = delete;
  EventBuffer& operator=(const EventBuffer&) = delete;

  struct Page {
    // False if events after the requested position are no longer buffered, or
    // if the position belongs to a deleted job with the same id.
    bool gapless = true;
    std::vector<std::shared_ptr<const EventRecord>> records;
    // The position from which to continue.
    uint64_t next = 0;
  };
  // Returns at most `max` events of a job whose seq is greater than `seq`,
  // oldest first.
  Page After(const std::string& job, uint64_t seq, size_t max) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Returns `job` and `state` events of all jobs. Positions number these events
  // across jobs; they are meaningful only within this buffer.
  Page StatesAfter(uint64_t position, size_t max) const
      ABSL_LOCKS_EXCLUDED(mu_);

  // The seq of a job's last event; 0 if it has none.
  uint64_t LastSeq(const std::string& job) const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t LastPosition() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the job's last event reported its deletion. The directory may still
  // contain the job for a moment.
  bool IsDeleted(const std::string& job) const ABSL_LOCKS_EXCLUDED(mu_);

  // Calls `wake` after each event, on any thread, until the returned handle is
  // destroyed. `wake` must not block or call the buffer.
  std::shared_ptr<void> Listen(std::function<void()> wake)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Wakes all readers although there is no event.
  void WakeAll() ABSL_LOCKS_EXCLUDED(mu_);

  uint64_t events() const { return events_; }

 private:
  // Consecutively numbered events.
  struct Log {
    std::deque<std::shared_ptr<const EventRecord>> records;
    uint64_t last = 0;
    uint64_t bytes = 0;

    void Append(std::shared_ptr<const EventRecord> record,
                const Limits& limits);
    Page After(uint64_t number, size_t max) const;
  };
  void Append(const std::shared_ptr<const model::Event>& event)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendToJob(const std::shared_ptr<const EventRecord>& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Limits limits_;
  std::atomic<uint64_t> events_{0};
  mutable absl::Mutex mu_;
  std::map<std::string, Log> jobs_ ABSL_GUARDED_BY(mu_);
  // Oldest first.
  std::deque<std::string> deleted_jobs_ ABSL_GUARDED_BY(mu_);
  Log states_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<std::function<void()>>> listeners_
      ABSL_GUARDED_BY(mu_);
  // Declared last, so that no event arrives while the other members are
  // destroyed.
  std::shared_ptr<void> subscription_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_EVENT_BUFFER_H_
