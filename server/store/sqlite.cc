#include "server/store/sqlite.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::store {

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
  return database;
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

absl::Status Database::CheckInPlace() const {
  int moved = 0;
  int result =
      sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  sqlite3_file* log = nullptr;
  if (result == SQLITE_OK && moved == 0) {
    result = sqlite3_file_control(db_.get(), "main",
                                  SQLITE_FCNTL_JOURNAL_POINTER, &log);
  }
  if (result == SQLITE_OK && log != nullptr && log->pMethods != nullptr) {
    result = log->pMethods->xFileControl(log, SQLITE_FCNTL_HAS_MOVED, &moved);
  }
  if (result != SQLITE_OK) {
    return ToStatus(result, file_, sqlite3_errstr(result));
  }
  if (moved == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "cannot write ", file_,
      ": it was removed or replaced; put it back, or restart the server"));
}

}  // namespace graphdbg::store
