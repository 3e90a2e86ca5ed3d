// The newest events of each job, for readers that come and go.
//
// Readers pull: each remembers how far it has read and is woken when there is
// more. So a slow reader costs no memory and holds nobody back; if it falls
// behind the oldest event kept, it starts again from a snapshot.
#ifndef SERVER_API_EVENT_HUB_H_
#define SERVER_API_EVENT_HUB_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/interfaces.h"

namespace graphdbg::api {

// An event as readers get it: written out once for all who read it soon. Safe
// from any thread.
class EventRecord {
 public:
  EventRecord(std::shared_ptr<const model::Event> event, int64_t time_unix_nano)
      : event_(std::move(event)), time_unix_nano_(time_unix_nano) {}

  const model::Event& event() const { return *event_; }
  std::shared_ptr<const std::string> Text() const;
  // The text takes no memory any more; who wants it has it written anew.
  void DropText() const;

 private:
  const std::shared_ptr<const model::Event> event_;
  const int64_t time_unix_nano_;
  mutable std::mutex mu_;
  mutable std::shared_ptr<const std::string> text_;  // Guarded by mu_.
};

// Safe from any thread; nothing here blocks for long.
class EventHub {
 public:
  struct Limits {
    size_t events_per_job = 2'048;
    // Of the newest of these, in case somebody reads them.
    size_t texts_per_job = 64;
    // Forgotten jobs whose last event readers can still get.
    size_t farewells = 1'000;
  };

  explicit EventHub(jobs::Directory& directory)
      : EventHub(directory, Limits()) {}
  EventHub(jobs::Directory& directory, Limits limits);
  ~EventHub();

  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  struct Page {
    // False: events after the place asked for are gone, or it is a place in
    // another life of the job.
    bool gapless = true;
    std::vector<std::shared_ptr<const EventRecord>> records;
    // Where to go on.
    uint64_t next = 0;
  };
  // Events of a job with a seq above `seq`, oldest first.
  Page After(const std::string& job, uint64_t seq, size_t max) const;
  // `job` and `state` events of all jobs above a position in their common
  // order, which only this hub knows.
  Page StatesAfter(uint64_t position, size_t max) const;

  // The seq of a job's last event; 0 if there was none.
  uint64_t LastSeq(const std::string& job) const;
  uint64_t LastPosition() const;
  // Whether the job's last event says that it was forgotten; the directory may
  // still have it for a moment.
  bool IsForgotten(const std::string& job) const;

  // `wake` is called after each event, on any thread, until the handle is
  // destroyed; it must not block or call the hub.
  std::shared_ptr<void> Listen(std::function<void()> wake);

  uint64_t events() const { return events_; }

 private:
  // Events with numbers without gaps.
  struct Log {
    std::deque<std::shared_ptr<const EventRecord>> records;
    uint64_t last = 0;

    void Append(std::shared_ptr<const EventRecord> record,
                const Limits& limits);
    Page After(uint64_t number, size_t max) const;
  };
  void Take(const std::shared_ptr<const model::Event>& event);
  // With mu_ held.
  void TakeOfJob(const std::shared_ptr<const EventRecord>& record);

  const Limits limits_;
  std::atomic<uint64_t> events_{0};
  // Guards what follows. Of the standard library, which the thread sanitizer
  // sees into.
  mutable std::mutex mu_;
  std::map<std::string, Log> jobs_;
  std::deque<std::string> farewells_;
  Log states_;
  std::vector<std::weak_ptr<std::function<void()>>> listeners_;
  // Not guarded. Last: no event comes once this is gone.
  std::shared_ptr<void> subscription_;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_EVENT_HUB_H_
