// Writes to the database on a thread of its own.
#ifndef SERVER_STORE_WRITER_H_
#define SERVER_STORE_WRITER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

// Prepares each statement of the writer's connection once.
class Statements {
 public:
  explicit Statements(const Database& db) : db_(db) {}
  // `sql` must be a string literal.
  Statement& operator[](const char* sql);

 private:
  const Database& db_;
  std::unordered_map<const char*, Statement> prepared_;
};

// Executes writes in the order in which they were queued. Writes that are
// queued while a transaction is being committed form the next transaction.
// After an error nothing more is written, so that the file always contains all
// writes up to some point and none after it.
class Writer {
 public:
  using Write = std::function<absl::Status(Statements&)>;
  using Then = std::function<void(absl::Status)>;

  // `log` receives a line if writing fails. Called on the writer's thread.
  Writer(Database db, std::function<void(std::string_view)> log);
  ~Writer() { Close(); }

  // Executes the queued writes and ends the thread. Later writes are dropped.
  // Must not be called on the writer's thread.
  void Close();

  // Thread-safe, does not block.
  void Put(Write write);
  // Calls `then` on the writer's thread when all previous writes are committed,
  // or with the error that prevents it. Thread-safe, does not block.
  void WhenDurable(Then then);

  // Size of the file without free pages, after the last transaction.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Item {
    // Exactly one of the two is set.
    Write write;
    Then then;
  };

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Enqueue(Item item);
  void Loop();
  void Handle(std::vector<Item>& items);
  absl::Status Commit(std::vector<Item>& items);
  // Updates bytes() and returns the number of free pages.
  int64_t MeasureFile();
  void ReleaseFreePages();

  Database db_;
  Statements statements_;
  const std::function<void(std::string_view)> log_;
  // The error that stopped writing. Used only on the writer's thread.
  absl::Status failed_;
  std::atomic<uint64_t> bytes_{0};

  absl::Mutex mu_;
  std::vector<Item> queue_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_WRITER_H_
