// A thin C++ layer over SQLite: errors are absl::Status, handles close
// themselves.
#ifndef SERVER_STORE_SQLITE_H_
#define SERVER_STORE_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::store {

// Converts an SQLite result code to a status that names the file: DATA_LOSS for
// a damaged file, RESOURCE_EXHAUSTED for a full disk, INVALID_ARGUMENT for rows
// that the tables do not accept, otherwise UNAVAILABLE.
absl::Status ToStatus(int result, std::string_view file,
                      std::string_view detail);

// A prepared statement. Parameters are numbered from 1, columns from 0. The
// database must outlive it.
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* db, std::string_view file, const char* sql);

  // Errors are reported by the next Step().
  Statement& Bind(int at, int64_t value);
  Statement& Bind(int at, std::string_view text);
  Statement& BindBlob(int at, std::string_view bytes);
  Statement& BindNull(int at);

  // Returns whether there is another row. After the last row the statement can
  // be bound and stepped again.
  absl::StatusOr<bool> Step();
  // Runs the statement to its end and discards its rows.
  absl::Status Run();

  int64_t Int(int column) const;
  // Valid until the next Step().
  std::string_view Bytes(int column) const;
  bool IsNull(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };

  sqlite3* db_ = nullptr;
  std::string file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  // The first error since the last row.
  int error_ = SQLITE_OK;
};

// A connection. Not thread safe.
class Database {
 public:
  // Creates the file if it does not exist.
  static absl::StatusOr<Database> Open(const std::string& file);

  absl::Status Run(const char* sql);
  Statement Prepare(const char* sql) const;
  // The result of a statement that returns one number.
  absl::StatusOr<int64_t> Number(const char* sql) const;
  // UNAVAILABLE if the file or its write-ahead log is not at its place any
  // more: what is committed would not be found by the next server. Call it
  // within a transaction.
  absl::Status CheckInPlace() const;
  // Whether the path of the file leads elsewhere or nowhere, and whether that
  // of its log leads nowhere.
  struct Place {
    bool file_moved = false;
    bool log_moved = false;
  };
  absl::StatusOr<Place> FindPlace() const;

  // The error of the last checkpoint, once. Checkpoints take place after
  // commits, which they do not affect.
  absl::Status TakeCheckpointError();
  // The connection is closed without a checkpoint, so that the next one finds
  // everything in the write-ahead log.
  void KeepLogWhenClosed();

  const std::string& file() const { return file_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };

  explicit Database(std::string file)
      : file_(std::move(file)),
        checkpoint_result_(std::make_unique<int>(SQLITE_OK)) {}

  // SQLite calls it after each commit, with the number of pages in the log.
  static int OnCommit(void* result, sqlite3* db, const char* name, int pages);

  std::string file_;
  // On the heap, because SQLite has its address.
  std::unique_ptr<int> checkpoint_result_;
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace graphdbg::store

#endif  // SERVER_STORE_SQLITE_H_
