#include "server/store/schema.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::store {
namespace {

// "gdbg" in the file's header.
constexpr int64_t kApplicationId = 0x67646267;

// Each migration upgrades the tables from the version that equals its index to
// the next one. Released migrations never change.
constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE server (lives INTEGER NOT NULL) STRICT;
INSERT INTO server VALUES (0);

CREATE TABLE job (
  job INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  asked_for TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  hit_total INTEGER NOT NULL DEFAULT 0,
  last_steps BLOB
) STRICT;

CREATE TABLE rank (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  hello BLOB NOT NULL,
  state BLOB NOT NULL,
  last_hit INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE frame (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  frame INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (job, frame)
) STRICT, WITHOUT ROWID;

CREATE TABLE scope (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  graph TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  PRIMARY KEY (job, graph, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE node (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  node INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (job, node)
) STRICT, WITHOUT ROWID;

-- A process's own numbers of nodes.
CREATE TABLE agent_node (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  number INTEGER NOT NULL,
  node INTEGER NOT NULL,
  PRIMARY KEY (job, rank, number)
) STRICT, WITHOUT ROWID;

-- Without a record: removed.
CREATE TABLE watchpoint (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  record BLOB,
  PRIMARY KEY (job, id, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE hit (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  id INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (job, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE statistics (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  node INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  step INTEGER NOT NULL,
  record BLOB NOT NULL,
  PRIMARY KEY (job, rank, node, slot, step)
) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
-- The newest run of each name that has a job, even if this run was removed: its
-- number is not used again.
CREATE TABLE newest_run (
  asked_for TEXT PRIMARY KEY,
  id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO newest_run SELECT asked_for, id FROM job ORDER BY job;
)sql",
    R"sql(
-- The rules that are evaluated over what a job records.
CREATE TABLE rules (
  job INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  run TEXT NOT NULL,
  json TEXT NOT NULL
) STRICT;
)sql",
    R"sql(
-- The first tensor of each rank and step that is not finite.
CREATE TABLE origin (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  step INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  node INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  -- Its place in the execution of the step.
  execution INTEGER NOT NULL,
  received INTEGER NOT NULL,
  PRIMARY KEY (job, step, rank)
) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
-- The user's source files.
CREATE TABLE source_file (
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  file TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (job, file)
) STRICT;
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);

absl::Status Migrate(Database& db, int64_t from) {
  for (int64_t version = from; version < kVersion; ++version) {
    const std::string sql =
        absl::StrCat("BEGIN IMMEDIATE;", kMigrations[version],
                     "PRAGMA application_id = ", kApplicationId,
                     "; PRAGMA user_version = ", version + 1, "; COMMIT;");
    if (auto done = db.Run(sql.c_str()); !done.ok()) {
      db.Run("ROLLBACK").IgnoreError();
      return done;
    }
  }
  return absl::OkStatus();
}

// The version of the tables; 0 for a new file. Does not change the file.
absl::StatusOr<int64_t> Version(const Database& db) {
  ASSIGN_OR_RETURN(const int64_t tables,
                   db.Number("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0) return 0;
  ASSIGN_OR_RETURN(const int64_t owner, db.Number("PRAGMA application_id"));
  if (owner != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat(db.file(), " is the database of another program"));
  }
  ASSIGN_OR_RETURN(const int64_t version, db.Number("PRAGMA user_version"));
  if (version < 0) {
    return absl::DataLossError(absl::StrCat(
        db.file(), " is damaged: its tables have version ", version));
  }
  if (version <= kVersion) return version;
  return absl::FailedPreconditionError(absl::StrCat(
      db.file(), " was written by a newer graphdbg (tables of version ",
      version, "; this version supports ", kVersion, ")"));
}

absl::StatusOr<Database> OpenOnFullDisk(const std::string& file) {
  ASSIGN_OR_RETURN(Database db, Database::Open(file));
  // The index of the log is kept in memory then, and not in a file.
  RETURN_IF_ERROR(db.Run("PRAGMA locking_mode = EXCLUSIVE"));
  db.KeepLogWhenClosed();
  ASSIGN_OR_RETURN(const int64_t version, Version(db));
  if (version == kVersion) return db;
  return absl::UnavailableError(
      absl::StrCat("cannot upgrade ", file, " on a full disk"));
}

}  // namespace

absl::StatusOr<Database> OpenDatabase(const std::string& file, Access access) {
  if (access == Access::kReadOnFullDisk) return OpenOnFullDisk(file);
  ASSIGN_OR_RETURN(Database db, Database::Open(file));
  ASSIGN_OR_RETURN(const int64_t version, Version(db));
  // The writer returns freed pages to the file system. In a file that has
  // tables already this would change the header.
  if (version == 0) {
    RETURN_IF_ERROR(db.Run("PRAGMA auto_vacuum = INCREMENTAL"));
  }
  // A committed transaction survives the end of the process at any moment,
  // since the kernel has the data. A power failure may lose the last
  // transactions.
  RETURN_IF_ERROR(
      db.Run("PRAGMA journal_mode = WAL;"
             "PRAGMA synchronous = NORMAL;"
             "PRAGMA foreign_keys = ON;"
             "PRAGMA cell_size_check = ON;"));
  RETURN_IF_ERROR(Migrate(db, version));
  return db;
}

}  // namespace graphdbg::store
