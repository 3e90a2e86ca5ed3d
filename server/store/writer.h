// The thread that writes to the database.
#ifndef SERVER_STORE_WRITER_H_
#define SERVER_STORE_WRITER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "server/store/sqlite.h"

namespace graphdbg::store {

// The statements of the writer's connection, each prepared once.
class Statements {
 public:
  explicit Statements(const Database& db) : db_(db) {}
  // `sql` is a literal.
  Statement& operator[](const char* sql);

 private:
  const Database& db_;
  std::unordered_map<const char*, Statement> prepared_;
};

// Writes in the order in which it is told to, all that waits at a time in one
// transaction: while one is on its way to the disk the next gathers. After an
// error nothing is written any more, so that what is on the disk stays all
// there was up to some moment.
class Writer {
 public:
  using Write = std::function<absl::Status(Statements&)>;
  using Then = std::function<void(absl::Status)>;

  // `log` gets a line if writing fails; called on the writer's thread.
  Writer(Database db, std::function<void(std::string_view)> log);
  ~Writer() { Close(); }

  // Writes what is left and ends the thread; what comes later is dropped. Not
  // from the writer's thread.
  void Close();

  // Any thread; neither blocks.
  void Put(Write write);
  // `then` is called on the writer's thread, when all that was put before is
  // committed, or with the error because of which it is not.
  void WhenKept(Then then);

  // Size of the file without its free pages, as of the last transaction.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Item {
    // One of the two.
    Write write;
    Then then;
  };

  void Enqueue(Item item);
  void Loop();
  void Handle(std::vector<Item>& items);
  absl::Status Commit(std::vector<Item>& items);
  int64_t Measure();
  void Tidy();

  Database db_;
  Statements statements_;
  const std::function<void(std::string_view)> log_;
  // The error after which nothing is written. On the writer's thread only.
  absl::Status failed_;
  std::atomic<uint64_t> bytes_{0};

  std::mutex mu_;
  std::condition_variable filled_;
  // Guarded by mu_.
  std::vector<Item> queue_;
  bool closed_ = false;

  std::thread thread_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_WRITER_H_
