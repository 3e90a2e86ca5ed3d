#include "agent/recording/log_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/recording/background_thread.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

using std::chrono::milliseconds;

// How much is written at once: file systems take less time for each page of a
// large write, and it still is in the cache when the system copies it, because
// its checksums have just been tested.
constexpr uint64_t kBatchRecords = (uint64_t{1} << 20) / runs::kRecordBytes;
// With so many records to write, the end of a step begins a round.
constexpr uint64_t kManyRecords = (uint64_t{1} << 20) / runs::kRecordBytes;
// While records arrive faster than the period allows for.
constexpr milliseconds kShortestWait(5);
// How long the last round waits for threads in the midst of appending.
constexpr milliseconds kLastCommits(100);

bool EndsStep(const runs::Record& record) {
  return record.known_kind() == runs::Kind::kEnd && record.pass == 0;
}

}  // namespace

LogWriter::~LogWriter() {
  if (thread_.joinable()) Finish(std::chrono::hours(1));
}

void LogWriter::Start() {
  if (ring_->overwrites()) copies_.resize(kBatchRecords);
  synced_at_ = Clock::now();
  PlanRound();
  thread_ = std::thread([this] { Run(); });
}

void LogWriter::Wake() {
  MutexLock lock(&mu_);
  woken_ = true;
  changed_.NotifyAll();
}

void LogWriter::EndStep() {
  if (ring_->head() < round_due_.load(std::memory_order_relaxed)) return;
  // Once for each round.
  round_due_.store(UINT64_MAX, std::memory_order_relaxed);
  Wake();
}

void LogWriter::KeepThrough(uint64_t step) {
  uint64_t before = keep_through_.load();
  while (before < step && !keep_through_.compare_exchange_weak(before, step)) {
  }
  Wake();
}

bool LogWriter::Finish(milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
    while (!done_) {
      if (!changed_.WaitUntil(&mu_, deadline) && !done_) return false;
    }
  }
  thread_.join();
  return true;
}

void LogWriter::Run() {
  BecomeBackground();
  wait_ = options_.period;
  PopulateAhead(ring_->head(), kManyRecords);
  bool works = true;
  while (works && WaitForRound()) works = Judge(Round(/*last=*/false));
  if (works) {
    const absl::Status last = Round(/*last=*/true);
    complete_ = last.ok() && next_ == ring_->head();
    if (!last.ok()) callbacks_.log(std::string(last.message()));
  }
  SetDone();
}

void LogWriter::SetDone() {
  MutexLock lock(&mu_);
  done_ = true;
  changed_.NotifyAll();
}

bool LogWriter::WaitForRound() {
  const auto deadline = Clock::now() + wait_;
  MutexLock lock(&mu_);
  while (!stopping_ && !woken_) {
    if (!changed_.WaitUntil(&mu_, deadline)) break;
  }
  woken_ = false;
  return !stopping_;
}

absl::Status LogWriter::Round(bool last) {
  // Whatever these refer to was declared before.
  const uint64_t end = ring_->head();
  if (!last) PopulateAhead(end, 2 * (end - seen_head_));
  RETURN_IF_ERROR(callbacks_.check_room());
  RETURN_IF_ERROR(callbacks_.write_messages(last));
  if (last) keep_through_ = UINT64_MAX;
  if (options_.keep_all || keep_through_.load() > 0) {
    const uint64_t begin = next_;
    RETURN_IF_ERROR(WriteRecords(end));
    for (auto waited = milliseconds(0);
         last && next_ < end && waited < kLastCommits;
         waited += kShortestWait) {
      std::this_thread::sleep_for(kShortestWait);
      RETURN_IF_ERROR(WriteRecords(end));
    }
    const uint64_t share =
        std::max<uint64_t>((next_ - begin) / ComfortableRecords(), 1);
    wait_ =
        std::max(kShortestWait, options_.period / static_cast<int64_t>(share));
  }
  PlanRound();
  callbacks_.write_tensors(last);
  RETURN_IF_ERROR(SyncIfDue(last));
  return last ? segments_.Close() : absl::OkStatus();
}

void LogWriter::PopulateAhead(uint64_t head, uint64_t records) {
  ring_->Populate(std::max(head, populated_), head + records);
  populated_ = std::max(populated_, head + records);
  seen_head_ = head;
}

void LogWriter::PlanRound() {
  if (!options_.keep_all) return;
  round_due_.store(next_ + std::min(kManyRecords, ComfortableRecords()),
                   std::memory_order_relaxed);
}

absl::Status LogWriter::WriteRecords(uint64_t end) {
  next_ = std::max(next_, ring_->oldest());
  while (next_ < end) {
    absl::Span<const runs::Record> batch = NextBatch(end);
    if (batch.empty()) return absl::OkStatus();
    bool segment_ends = false;
    batch = batch.subspan(0, ShareOfSegment(batch, &segment_ends));
    RETURN_IF_ERROR(segments_.Append(next_, batch));
    next_ += batch.size();
    written_bytes_ += batch.size() * runs::kRecordBytes;
    ring_->SetTail(next_);
    if (segment_ends) RETURN_IF_ERROR(segments_.Close());
    if (!options_.keep_all && keep_through_.load() == 0) {
      return segments_.Close();
    }
  }
  return absl::OkStatus();
}

absl::Span<const runs::Record> LogWriter::NextBatch(uint64_t end) {
  end = std::min(end, next_ + kBatchRecords);
  if (!ring_->overwrites()) return ring_->Committed(next_, end);
  size_t count = 0;
  while (next_ + count < end && ring_->Read(next_ + count, &copies_[count])) {
    ++count;
  }
  return absl::MakeConstSpan(copies_.data(), count);
}

size_t LogWriter::ShareOfSegment(absl::Span<const runs::Record> batch,
                                 bool* segment_ends) {
  size_t count = 0;
  for (const runs::Record& record : batch) {
    ++count;
    if (!EndsStep(record)) continue;
    if (segments_.segment_bytes() + count * runs::kRecordBytes >=
        options_.segment_bytes) {
      *segment_ends = true;
      return count;
    }
    uint64_t through = keep_through_.load();
    if (!options_.keep_all && record.step >= through &&
        keep_through_.compare_exchange_strong(through, 0)) {
      return count;
    }
  }
  return count;
}

absl::Status LogWriter::SyncIfDue(bool now) {
  if (!now && Clock::now() - synced_at_ < options_.sync_period) {
    return absl::OkStatus();
  }
  synced_at_ = Clock::now();
  RETURN_IF_ERROR(callbacks_.write_messages(/*sync=*/true));
  return segments_.Sync();
}

bool LogWriter::Judge(const absl::Status& status) {
  if (status.ok()) {
    if (failing_) callbacks_.log("there is room again: recording continues");
    failing_ = false;
    return true;
  }
  if (absl::IsResourceExhausted(status)) {
    if (!failing_) {
      callbacks_.log(absl::StrCat(
          status.message(),
          "; what does not fit into the ring is not recorded until there is "
          "room"));
    }
    failing_ = true;
    wait_ = options_.retry_period;
    return true;
  }
  callbacks_.log(absl::StrCat(status.message(), "; nothing more is recorded"));
  callbacks_.failed();
  return false;
}

}  // namespace graphdbg::recording
