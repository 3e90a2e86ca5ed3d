// The writer's connection to the database.
#ifndef SERVER_STORE_CONNECTION_H_
#define SERVER_STORE_CONNECTION_H_

#include <optional>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
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

// Opens the file again after errors of the operating system. What SQLite
// believes to be on the disk may not be there after an fsync() that failed, but
// the write-ahead log still has it: a new connection copies all of the log to
// the file again. Not thread-safe.
class Connection {
 public:
  // Without `db` the file could not be opened yet.
  Connection(std::string file, std::optional<Database> db);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& file() const { return file_; }

  // To be called before a transaction: opens the file again if that is needed.
  // If the file was removed, it is written anew from the descriptor that is
  // still open. UNAVAILABLE if that is impossible, or if another file has taken
  // its place.
  absl::Status Prepare();
  // After an error of the operating system.
  void Distrust() { distrusted_ = true; }

  // Both are valid until the next Prepare(), which must have succeeded. `db` is
  // null before the file was opened for the first time.
  Database* db() { return db_ ? &*db_ : nullptr; }
  Statements& statements() { return *statements_; }

 private:
  absl::Status Reopen();

  const std::string file_;
  bool distrusted_;
  std::optional<Database> db_;
  // Destroyed before the database.
  std::optional<Statements> statements_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_CONNECTION_H_
