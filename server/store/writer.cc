#include "server/store/writer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::store {

Statement& Statements::operator[](const char* sql) {
  auto it = prepared_.find(sql);
  if (it == prepared_.end()) {
    it = prepared_.emplace(sql, db_.Prepare(sql)).first;
  }
  return it->second;
}

Writer::Writer(Database db, std::function<void(std::string_view)> log)
    : db_(std::move(db)), statements_(db_), log_(std::move(log)) {
  MeasureFile();
  thread_ = std::thread([this] { Loop(); });
}

void Writer::Close() {
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Writer::Put(Write write) { Enqueue({std::move(write), nullptr}); }

void Writer::WhenDurable(Then then) { Enqueue({nullptr, std::move(then)}); }

bool Writer::HasWork() const { return closed_ || !queue_.empty(); }

void Writer::Enqueue(Item item) {
  absl::MutexLock lock(&mu_);
  if (closed_) return;
  queue_.push_back(std::move(item));
}

void Writer::Loop() {
  while (true) {
    std::vector<Item> items;
    {
      absl::MutexLock lock(&mu_, absl::Condition(this, &Writer::HasWork));
      if (queue_.empty()) return;
      items.swap(queue_);
    }
    Handle(items);
  }
}

void Writer::Handle(std::vector<Item>& items) {
  if (failed_.ok()) {
    failed_ = Commit(items);
    if (!failed_.ok() && log_) {
      log_(absl::StrCat(std::string(failed_.message()),
                        "; nothing that happens from now on is stored"));
    }
  }
  for (Item& item : items) {
    if (item.then) item.then(failed_);
  }
  if (failed_.ok()) ReleaseFreePages();
}

absl::Status Writer::Commit(std::vector<Item>& items) {
  bool begun = false;
  absl::Status status;
  for (Item& item : items) {
    if (!item.write) continue;
    if (!std::exchange(begun, true)) status = statements_["BEGIN"].Run();
    if (status.ok()) status = item.write(statements_);
    if (!status.ok()) break;
  }
  if (begun && status.ok()) status = statements_["COMMIT"].Run();
  if (begun && !status.ok()) db_.Run("ROLLBACK").IgnoreError();
  return status;
}

int64_t Writer::MeasureFile() {
  const auto free = db_.Number("PRAGMA freelist_count");
  const auto pages = db_.Number("PRAGMA page_count");
  const auto size = db_.Number("PRAGMA page_size");
  if (!free.ok() || !pages.ok() || !size.ok()) return 0;
  bytes_ = static_cast<uint64_t>((*pages - *free) * *size);
  return *free;
}

// Releases a limited number of pages, because writes wait for this thread.
void Writer::ReleaseFreePages() {
  if (MeasureFile() > 0)
    db_.Run("PRAGMA incremental_vacuum(256)").IgnoreError();
}

}  // namespace graphdbg::store
