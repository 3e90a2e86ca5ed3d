#include "server/store/connection.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/store/private_file.h"
#include "server/store/schema.h"

namespace graphdbg::store {
namespace {

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Writes a file that was removed to its place again.
absl::Status WriteAnew(Database& db) {
  const std::string copy = absl::StrCat(db.file(), ".new");
  unlink(copy.c_str());
  RETURN_IF_ERROR(MakePrivate(copy));
  absl::Status written =
      db.Prepare("VACUUM INTO ?").Bind(1, std::string_view(copy)).Run();
  if (written.ok()) {
    // They belong to the file that was removed.
    for (const char* suffix : {"-wal", "-shm"}) {
      unlink(absl::StrCat(db.file(), suffix).c_str());
    }
    if (std::rename(copy.c_str(), db.file().c_str()) == 0) {
      return absl::OkStatus();
    }
    written = absl::UnavailableError(absl::StrCat(
        "cannot write ", db.file(), " anew: ", std::strerror(errno)));
  }
  unlink(copy.c_str());
  return written;
}

// Makes sure that the file at the path is the one that is open.
absl::Status PutInPlace(Database& db) {
  ASSIGN_OR_RETURN(const Database::Place place, db.FindPlace());
  const bool lost = (place.file_moved && !Exists(db.file())) || place.log_moved;
  const bool foreign = place.file_moved && Exists(db.file());
  if (foreign || !lost) return db.CheckInPlace();
  return WriteAnew(db);
}

}  // namespace

Statement& Statements::operator[](const char* sql) {
  auto it = prepared_.find(sql);
  if (it == prepared_.end()) {
    it = prepared_.emplace(sql, db_.Prepare(sql)).first;
  }
  return it->second;
}

Connection::Connection(std::string file, std::optional<Database> db)
    : file_(std::move(file)), distrusted_(!db), db_(std::move(db)) {
  if (db_) statements_.emplace(*db_);
}

Connection::~Connection() {
  statements_.reset();
  // The next server copies the log to the file.
  if (db_ && distrusted_) db_->KeepLogWhenClosed();
}

absl::Status Connection::Prepare() {
  if (!distrusted_) return absl::OkStatus();
  RETURN_IF_ERROR(Reopen());
  distrusted_ = false;
  return absl::OkStatus();
}

absl::Status Connection::Reopen() {
  statements_.reset();
  if (db_) {
    if (auto placed = PutInPlace(*db_); !placed.ok()) {
      statements_.emplace(*db_);
      return placed;
    }
    db_->KeepLogWhenClosed();
    db_.reset();
  }
  if (!Exists(file_)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot open ", file_, ": it was removed; restart the server"));
  }
  ASSIGN_OR_RETURN(Database again, OpenDatabase(file_));
  db_.emplace(std::move(again));
  statements_.emplace(*db_);
  return absl::OkStatus();
}

}  // namespace graphdbg::store
