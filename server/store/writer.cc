#include "server/store/writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::store {
namespace {

// Bounds the room that one transaction needs, so that a disk with little room
// takes what it can.
constexpr size_t kMaxBatchBytes = size_t{4} << 20;
// After this time without a failure the pauses start from the first one again.
constexpr std::chrono::seconds kCalm(10);

}  // namespace

Writer::Writer(std::string file, std::optional<Database> db,
               WriterOptions options)
    : options_(std::move(options)),
      connection_(std::move(file), std::move(db)),
      pause_(options_.first_pause) {
  if (options_.memory) {
    reserved_ = options_.memory->Count(MemoryAccount::kJournal);
  }
  MeasureFile();
  thread_ = std::thread([this] { Loop(); });
}

void Writer::Close() {
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
  }
  closing_.Set();
  if (thread_.joinable()) thread_.join();
  // Only if writing fails; callbacks may refer to jobs that own this writer.
  Items unwritten;
  {
    absl::MutexLock lock(&mu_);
    unwritten.swap(queue_);
    reserved_.Set(0);
  }
}

absl::Status Writer::status() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

void Writer::Put(const GroupPtr& group, Write write, size_t bytes, Kind kind) {
  if (kind == Kind::kOptional && ShortOfMemory()) {
    ++dropped_;
    return;
  }
  Item item;
  item.group = group;
  item.write = std::move(write);
  item.bytes = bytes;
  item.kind = kind;
  Enqueue(std::move(item));
}

bool Writer::ShortOfMemory() const {
  if (waiting_bytes_ > options_.max_waiting_bytes / 4) return true;
  return options_.memory != nullptr &&
         options_.memory->pressure() >= MemoryBudget::Pressure::kRefuseJobs;
}

void Writer::WhenDurable(const GroupPtr& group, Then then) {
  absl::Status failure;
  {
    absl::MutexLock lock(&mu_);
    failure = failure_;
    if (failure.ok()) {
      if (closed_) return;
      Item item;
      item.group = group;
      item.when_durable = std::move(then);
      queue_.push_back(std::move(item));
      return;
    }
  }
  then(failure);
}

void Writer::OnceDurable(const GroupPtr& group, Then then) {
  Item item;
  item.group = group;
  item.once_durable = std::move(then);
  Enqueue(std::move(item));
}

bool Writer::Enqueue(Item item) {
  absl::MutexLock lock(&mu_);
  if (closed_) return false;
  waiting_bytes_ += item.bytes;
  reserved_.Set(waiting_bytes_);
  queue_.push_back(std::move(item));
  return true;
}

bool Writer::HasWork() const { return closed_ || !queue_.empty(); }

Writer::Items Writer::TakeBatch() {
  absl::MutexLock lock(&mu_, absl::Condition(this, &Writer::HasWork));
  Items batch;
  size_t bytes = 0;
  while (!queue_.empty() && bytes < kMaxBatchBytes) {
    bytes += queue_.front().bytes;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void Writer::Loop() {
  while (true) {
    Items batch = TakeBatch();
    if (batch.empty() || !WriteOut(batch)) return;
    Complete(batch);
    ReleaseFreePages();
  }
}

bool Writer::WriteOut(Items& batch) {
  bool closing = false;
  while (true) {
    const absl::Status status = Commit(batch);
    if (status.ok()) {
      OnSuccess();
      return true;
    }
    OnFailure(status, batch);
    if (closing) {
      Log(absl::StrCat(std::string(status.message()), "; ",
                       waiting_bytes_.load(),
                       " bytes of records that nobody relies on are lost"));
      return false;
    }
    closing = !PauseAfterFailure();
  }
}

absl::Status Writer::Commit(const Items& batch) {
  const bool writes = std::any_of(batch.begin(), batch.end(),
                                  [](const Item& i) { return !!i.write; });
  if (!writes) return absl::OkStatus();
  absl::Status status = connection_.Prepare();
  if (status.ok()) status = CommitAccepted(batch);
  if (absl::IsUnavailable(status)) connection_.Distrust();
  if (!status.ok()) return status;
  const absl::Status checkpoint = connection_.db()->TakeCheckpointError();
  if (!checkpoint.ok()) {
    connection_.Distrust();
    Log(absl::StrCat(std::string(checkpoint.message()),
                     "; nothing is lost: its log is copied to it again"));
  }
  return status;
}

absl::Status Writer::CommitAccepted(const Items& batch) {
  while (true) {
    GroupPtr culprit;
    const absl::Status status = RunWrites(batch, culprit);
    if (status.ok()) return status;
    // Many errors have rolled back already.
    connection_.db()->Run("ROLLBACK").IgnoreError();
    if (culprit == nullptr) return status;
    culprit->GiveUp(status);
    Log(absl::StrCat(std::string(status.message()),
                     "; nothing more of this job is stored"));
  }
}

absl::Status Writer::RunWrites(const Items& batch, GroupPtr& culprit) {
  Statements& statements = connection_.statements();
  if (auto begun = statements["BEGIN"].Run(); !begun.ok()) return begun;
  for (const Item& item : batch) {
    if (!item.write) continue;
    const bool removal = item.kind == Kind::kRemoval;
    if (!removal && !item.group->status().ok()) continue;
    absl::Status status = item.write(statements);
    if (status.ok()) continue;
    if (absl::IsInvalidArgument(status) && !removal) culprit = item.group;
    return status;
  }
  if (auto there = connection_.db()->CheckInPlace(); !there.ok()) return there;
  return statements["COMMIT"].Run();
}

void Writer::OnFailure(const absl::Status& status, Items& batch) {
  std::vector<Then> refused;
  const auto collect = [&refused](Items& items) {
    for (Item& item : items) {
      if (item.when_durable) refused.push_back(std::move(item.when_durable));
      item.when_durable = nullptr;
    }
  };
  bool begins = false;
  {
    absl::MutexLock lock(&mu_);
    begins = failure_.ok();
    failure_ = status;
    collect(batch);
    collect(queue_);
  }
  if (begins) {
    Log(absl::StrCat(std::string(status.message()),
                     "; what happens from now on waits in memory, and requests "
                     "that must be stored are refused"));
    if (options_.on_change) options_.on_change(status);
  }
  // Whoever is refused finds the server failing.
  for (const Then& then : refused) then(status);
}

void Writer::OnSuccess() {
  {
    absl::MutexLock lock(&mu_);
    if (failure_.ok()) return;
    failure_ = absl::OkStatus();
  }
  recovered_at_ = std::chrono::steady_clock::now();
  Log(absl::StrCat(connection_.file(),
                   " can be written again; nothing that was stored is lost"));
  if (options_.on_change) options_.on_change(absl::OkStatus());
}

bool Writer::PauseAfterFailure() {
  if (recovered_at_ != std::chrono::steady_clock::time_point() &&
      std::chrono::steady_clock::now() - recovered_at_ > kCalm) {
    recovered_at_ = {};
    pause_ = options_.first_pause;
  }
  const auto pause = pause_;
  pause_ = std::min(2 * pause_, options_.longest_pause);
  return !closing_.WaitFor(pause);
}

void Writer::Complete(Items& batch) {
  uint64_t bytes = 0;
  for (const Item& item : batch) bytes += item.bytes;
  {
    absl::MutexLock lock(&mu_);
    waiting_bytes_ -= bytes;
    reserved_.Set(waiting_bytes_);
  }
  for (Item& item : batch) {
    if (item.when_durable) item.when_durable(item.group->status());
    if (item.once_durable) item.once_durable(item.group->status());
  }
}

void Writer::Log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

int64_t Writer::MeasureFile() {
  const Database* db = connection_.db();
  if (db == nullptr) return 0;
  const auto free = db->Number("PRAGMA freelist_count");
  const auto pages = db->Number("PRAGMA page_count");
  const auto size = db->Number("PRAGMA page_size");
  if (!free.ok() || !pages.ok() || !size.ok()) return 0;
  bytes_ = static_cast<uint64_t>((*pages - *free) * *size);
  return *free;
}

// Releases a limited number of pages, because writes wait for this thread.
void Writer::ReleaseFreePages() {
  if (MeasureFile() == 0) return;
  connection_.db()->Run("PRAGMA incremental_vacuum(256)").IgnoreError();
}

}  // namespace graphdbg::store
