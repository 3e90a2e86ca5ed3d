#include "server/store/sqlite.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::store {
namespace {

// The log is copied to the file when it has this many pages.
constexpr int kCheckpointPages = 500;

}  // namespace

absl::Status ToStatus(int result, std::string_view file,
                      std::string_view detail) {
  const std::string where(file);
  const std::string why(detail);
  switch (result & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
      return absl::OkStatus();
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(absl::StrCat(
          where, " is damaged or is not a database of graphdbg (", why, ")"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot write ", where, ": the disk is full"));
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return absl::InvalidArgumentError(
          absl::StrCat(where, " does not accept a record: ", why));
    default:
      return absl::UnavailableError(
          absl::StrCat("cannot use ", where, ": ", why));
  }
}

Statement::Statement(sqlite3* db, std::string_view file, const char* sql)
    : db_(db), file_(file) {
  sqlite3_stmt* statement = nullptr;
  error_ = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                              &statement, nullptr);
  statement_.reset(statement);
}

Statement& Statement::Bind(int at, int64_t value) {
  const int result = sqlite3_bind_int64(statement_.get(), at, value);
  if (error_ == SQLITE_OK) error_ = result;
  return *this;
}

Statement& Statement::Bind(int at, std::string_view text) {
  const int result =
      sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(),
                          SQLITE_TRANSIENT, SQLITE_UTF8);
  if (error_ == SQLITE_OK) error_ = result;
  return *this;
}

Statement& Statement::BindBlob(int at, std::string_view bytes) {
  // A null pointer would be NULL, and not an empty blob.
  const char* data = bytes.empty() ? "" : bytes.data();
  const int result = sqlite3_bind_blob64(statement_.get(), at, data,
                                         bytes.size(), SQLITE_TRANSIENT);
  if (error_ == SQLITE_OK) error_ = result;
  return *this;
}

Statement& Statement::BindNull(int at) {
  const int result = sqlite3_bind_null(statement_.get(), at);
  if (error_ == SQLITE_OK) error_ = result;
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  if (error_ == SQLITE_OK) {
    const int result = sqlite3_step(statement_.get());
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) error_ = result;
  }
  absl::Status status = ToStatus(error_, file_, sqlite3_errmsg(db_));
  error_ = SQLITE_OK;
  sqlite3_reset(statement_.get());
  RETURN_IF_ERROR(status);
  return false;
}

absl::Status Statement::Run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, Step());
    if (!has_row) return absl::OkStatus();
  }
}

int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

absl::StatusOr<Database> Database::Open(const std::string& file) {
  Database database(file);
  sqlite3* db = nullptr;
  const int result = sqlite3_open_v2(
      file.c_str(), &db,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  database.db_.reset(db);
  if (result != SQLITE_OK) {
    return ToStatus(result, file, sqlite3_errstr(result));
  }
  sqlite3_extended_result_codes(db, 1);
  // Prevents the content of a damaged or foreign file from running SQL
  // functions.
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_wal_hook(db, &Database::OnCommit, database.checkpoint_result_.get());
  return database;
}

// SQLite's own hook ignores errors. The commit has succeeded in any case.
int Database::OnCommit(void* result, sqlite3* db, const char* name, int pages) {
  if (pages < kCheckpointPages) return SQLITE_OK;
  const int done = sqlite3_wal_checkpoint_v2(
      db, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  // Others may read from the log.
  if (done != SQLITE_OK && done != SQLITE_BUSY && done != SQLITE_LOCKED) {
    *static_cast<int*>(result) = done;
  }
  return SQLITE_OK;
}

absl::Status Database::TakeCheckpointError() {
  const int result = std::exchange(*checkpoint_result_, SQLITE_OK);
  return ToStatus(result, file_, sqlite3_errstr(result));
}

void Database::KeepLogWhenClosed() {
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

absl::Status Database::Run(const char* sql) {
  const int result = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  return ToStatus(result, file_, sqlite3_errmsg(db_.get()));
}

Statement Database::Prepare(const char* sql) const {
  return Statement(db_.get(), file_, sql);
}

absl::StatusOr<int64_t> Database::Number(const char* sql) const {
  Statement statement = Prepare(sql);
  ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return ToStatus(SQLITE_CORRUPT, file_, "a row is missing");
  return statement.Int(0);
}

absl::StatusOr<Database::Place> Database::FindPlace() const {
  int moved = 0;
  sqlite3_file* log = nullptr;
  int result =
      sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (result == SQLITE_OK) {
    result = sqlite3_file_control(db_.get(), "main",
                                  SQLITE_FCNTL_JOURNAL_POINTER, &log);
  }
  if (result != SQLITE_OK) {
    return ToStatus(result, file_, sqlite3_errstr(result));
  }
  // SQLite does not know the log's inode.
  const bool log_open = log != nullptr && log->pMethods != nullptr;
  const std::string log_file = file_ + "-wal";
  return Place{moved != 0, log_open && access(log_file.c_str(), F_OK) != 0};
}

absl::Status Database::CheckInPlace() const {
  ASSIGN_OR_RETURN(const Place place, FindPlace());
  if (!place.file_moved && !place.log_moved) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "cannot write ", file_,
      ": it was removed or replaced; if another file has taken its place, put "
      "it back, or restart the server"));
}

}  // namespace graphdbg::store
