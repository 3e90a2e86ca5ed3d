#include "server/api/event_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "server/api/encode.h"
#include "server/api/json.h"

namespace graphdbg::api {

using model::Event;

namespace {

bool ReportsDeletion(const Event& event) {
  return event.type == Event::Type::kJob && !event.job_info;
}

uint64_t BytesOf(const model::Selection& selection) {
  uint64_t bytes = 0;
  for (const conditions::NodeLists* lists :
       {static_cast<const conditions::NodeLists*>(&selection),
        &selection.exclude}) {
    for (const auto* list :
         {&lists->nodes, &lists->scopes, &lists->patterns, &lists->regexes,
          &lists->op_types, &lists->sources}) {
      for (const std::string& name : *list) bytes += sizeof name + name.size();
    }
  }
  return bytes;
}

// Approximate, and including the JSON text.
uint64_t BytesOf(const Event& event) {
  // Strings of one rank, or of a hit with its statistics.
  constexpr uint64_t kBytesOfPart = 600;
  uint64_t bytes = sizeof event + event.message.size();
  if (event.job_info) {
    bytes += kBytesOfPart;
    for (const model::Rank& rank : event.job_info->ranks) {
      bytes += rank.brief ? sizeof rank + rank.node.size() : kBytesOfPart;
    }
  }
  if (event.hit) bytes += kBytesOfPart + event.hit->error.size();
  if (event.watchpoint) bytes += BytesOf(event.watchpoint->spec.selection);
  return 2 * bytes;
}

}  // namespace

EventRecord::EventRecord(std::shared_ptr<const model::Event> event,
                         int64_t time_unix_nano, MemoryBudget* memory)
    : event_(std::move(event)),
      time_unix_nano_(time_unix_nano),
      bytes_(BytesOf(*event_)),
      memory_(memory == nullptr
                  ? MemoryBudget::Reservation()
                  : memory->Count(MemoryAccount::kEvents, bytes_)) {}

std::shared_ptr<const std::string> EventRecord::Text() const {
  absl::MutexLock lock(&mu_);
  if (text_ == nullptr) {
    text_ = std::make_shared<const std::string>(
        Dump(Encode(*event_, time_unix_nano_)));
  }
  return text_;
}

void EventRecord::DropText() const {
  absl::MutexLock lock(&mu_);
  text_ = nullptr;
}

void EventBuffer::Log::Append(std::shared_ptr<const EventRecord> record,
                              const Limits& limits) {
  const bool is_short =
      limits.memory != nullptr &&
      limits.memory->pressure() >= MemoryBudget::Pressure::kRefuseJobs;
  const uint64_t max_bytes =
      is_short ? limits.bytes_per_job_when_short : limits.bytes_per_job;
  bytes += record->bytes();
  records.push_back(std::move(record));
  while (records.size() > limits.events_per_job ||
         (bytes > max_bytes && records.size() > 1)) {
    bytes -= records.front()->bytes();
    records.pop_front();
  }
  if (records.size() > limits.texts_per_job) {
    records[records.size() - limits.texts_per_job - 1]->DropText();
  }
}

EventBuffer::Page EventBuffer::Log::After(uint64_t number, size_t max) const {
  Page page;
  page.next = last;
  uint64_t before_first = last - records.size();
  if (number < before_first || number > last) {
    page.gapless = false;
    return page;
  }
  size_t skip = number - before_first;
  size_t count = std::min(max, records.size() - skip);
  auto first = records.begin() + static_cast<std::ptrdiff_t>(skip);
  page.records.assign(first, first + static_cast<std::ptrdiff_t>(count));
  page.next = number + count;
  return page;
}

EventBuffer::EventBuffer(jobs::Directory& directory, Limits limits)
    : limits_(limits),
      subscription_(directory.Subscribe(
          [this](const std::shared_ptr<const Event>& event) {
            Append(event);
          })) {}

EventBuffer::~EventBuffer() { subscription_.reset(); }

void EventBuffer::Append(const std::shared_ptr<const Event>& event) {
  const auto record = std::make_shared<const EventRecord>(
      event, absl::GetCurrentTimeNanos(), limits_.memory.get());
  ++events_;
  absl::MutexLock lock(&mu_);
  if (event->type == Event::Type::kJob || event->type == Event::Type::kState) {
    ++states_.last;
    states_.Append(record, limits_);
  }
  AppendToJob(record);
  Wake();
}

void EventBuffer::WakeAll() {
  absl::MutexLock lock(&mu_);
  Wake();
}

void EventBuffer::Wake() {
  auto gone = [](const std::weak_ptr<std::function<void()>>& weak) {
    auto wake = weak.lock();
    if (wake) (*wake)();
    return wake == nullptr;
  };
  listeners_.erase(std::remove_if(listeners_.begin(), listeners_.end(), gone),
                   listeners_.end());
}

void EventBuffer::AppendToJob(
    const std::shared_ptr<const EventRecord>& record) {
  const Event& event = record->event();
  Log& job = jobs_[event.job];
  const bool deleted = ReportsDeletion(event);
  // A gap in the numbers means that a new job uses the id of a deleted one.
  if (deleted || event.seq != job.last + 1) job = Log();
  job.last = event.seq;
  job.Append(record, limits_);
  if (!deleted) return;
  deleted_jobs_.push_back(event.job);
  if (deleted_jobs_.size() <= limits_.deleted_jobs) return;
  auto oldest = jobs_.find(deleted_jobs_.front());
  deleted_jobs_.pop_front();
  // A new job may have the same id.
  if (oldest != jobs_.end() &&
      ReportsDeletion(oldest->second.records.back()->event())) {
    jobs_.erase(oldest);
  }
}

EventBuffer::Page EventBuffer::After(const std::string& job, uint64_t seq,
                                     size_t max) const {
  absl::MutexLock lock(&mu_);
  auto found = jobs_.find(job);
  return found == jobs_.end() ? Log().After(seq, max)
                              : found->second.After(seq, max);
}

EventBuffer::Page EventBuffer::StatesAfter(uint64_t position,
                                           size_t max) const {
  absl::MutexLock lock(&mu_);
  return states_.After(position, max);
}

uint64_t EventBuffer::LastSeq(const std::string& job) const {
  absl::MutexLock lock(&mu_);
  auto found = jobs_.find(job);
  return found == jobs_.end() ? 0 : found->second.last;
}

uint64_t EventBuffer::LastPosition() const {
  absl::MutexLock lock(&mu_);
  return states_.last;
}

bool EventBuffer::IsDeleted(const std::string& job) const {
  absl::MutexLock lock(&mu_);
  auto found = jobs_.find(job);
  return found != jobs_.end() &&
         ReportsDeletion(found->second.records.back()->event());
}

std::shared_ptr<void> EventBuffer::Listen(std::function<void()> wake) {
  auto listener = std::make_shared<std::function<void()>>(std::move(wake));
  absl::MutexLock lock(&mu_);
  listeners_.push_back(listener);
  return listener;
}

}  // namespace graphdbg::api
