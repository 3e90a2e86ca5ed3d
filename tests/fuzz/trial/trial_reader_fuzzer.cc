// The database of recorded jobs may be damaged by a disk, or made by someone
// else. Whatever it contains, it is opened or refused with a reason.
//
// An input is a list of damages to a sound database. The first byte of each
// selects its kind, see Damage().
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/fuzz/trial/recorded_jobs.h"

namespace graphdbg::trial {
namespace {

namespace fs = std::filesystem;

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::string_view Take(size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  uint32_t Number(size_t size) {
    uint32_t number = 0;
    for (char c : Take(size)) number = number << 8 | static_cast<uint8_t>(c);
    return number;
  }

 private:
  std::string_view bytes_;
};

struct Column {
  std::string table;
  std::string column;
};

// A connection to the file under test; every error is ignored, since damage may
// make the next one impossible.
class Surgeon {
 public:
  explicit Surgeon(const std::string& file) {
    sqlite3_open(file.c_str(), &db_);
    Run("PRAGMA journal_mode = DELETE");
  }
  ~Surgeon() { sqlite3_close_v2(db_); }

  std::vector<Column> Columns() {
    std::vector<Column> columns;
    sqlite3_stmt* rows = nullptr;
    sqlite3_prepare_v2(db_,
                       "SELECT m.name, c.name FROM sqlite_schema m,"
                       " pragma_table_info(m.name) c WHERE m.type = 'table'",
                       -1, &rows, nullptr);
    while (sqlite3_step(rows) == SQLITE_ROW) {
      columns.push_back({Text(rows, 0), Text(rows, 1)});
    }
    sqlite3_finalize(rows);
    return columns;
  }

  void Run(const std::string& sql) {
    sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  void Set(const Column& at, std::string_view bytes) {
    sqlite3_stmt* update = nullptr;
    const std::string sql =
        "UPDATE OR REPLACE \"" + at.table + "\" SET \"" + at.column + "\" = ?";
    sqlite3_prepare_v2(db_, sql.c_str(), -1, &update, nullptr);
    if (update == nullptr) return;
    sqlite3_bind_blob(update, 1, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
    if (sqlite3_step(update) != SQLITE_DONE) {
      sqlite3_reset(update);
      sqlite3_bind_text(update, 1, bytes.data(), static_cast<int>(bytes.size()),
                        SQLITE_STATIC);
      sqlite3_step(update);
    }
    sqlite3_finalize(update);
  }

 private:
  static std::string Text(sqlite3_stmt* rows, int column) {
    const unsigned char* text = sqlite3_column_text(rows, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

  sqlite3* db_ = nullptr;
};

class TrialReader {
 public:
  TrialReader()
      : directory_(
            fs::temp_directory_path() /
            ("graphdbg-trial-" + std::to_string(std::random_device()()))),
        file_((directory_ / "graphdbg.db").string()) {
    fs::create_directories(directory_);
    sound_ = RecordJobs(directory_.string());
    Clear();
    Write();
    columns_ = Surgeon(file_).Columns();
    const std::string refused = ReadJobs(directory_.string());
    if (columns_.size() < 10 || !refused.empty()) {
      std::fprintf(stderr, "the sound database: %s\n", refused.c_str());
      std::abort();
    }
  }
  ~TrialReader() { Clear(); }

  void Read(Input input) {
    Clear();
    Write();
    while (!input.empty()) Damage(input);
    ReadJobs(directory_.string());
  }

 private:
  void Clear() {
    std::error_code ignored;
    for (const auto& each : fs::directory_iterator(directory_, ignored)) {
      fs::remove_all(each.path(), ignored);
    }
  }
  void Write() {
    std::ofstream(file_, std::ios::binary)
        .write(sound_.data(), static_cast<std::streamsize>(sound_.size()));
  }

  void Damage(Input& input) {
    const uint32_t kind = input.Number(1) % 6;
    const uint32_t where = input.Number(kind == 0 || kind == 1 ? 3 : 1);
    if (kind == 0) {  // A byte of the file.
      std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(where % sound_.size()));
      file.put(static_cast<char>(input.Number(1)));
      return;
    }
    if (kind == 1) {  // The file's end is missing.
      std::error_code ignored;
      fs::resize_file(file_, where % sound_.size(), ignored);
      return;
    }
    const Column& at = columns_[where % columns_.size()];
    Surgeon surgeon(file_);
    if (kind == 2) {  // Other records.
      surgeon.Set(at, input.Take(input.Number(1)));
    } else if (kind == 3) {  // Other numbers.
      constexpr int64_t kNumbers[] = {
          -1, 0, 1, 1 << 20, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN};
      const int64_t number = kNumbers[input.Number(1) % std::size(kNumbers)];
      surgeon.Run("UPDATE OR REPLACE \"" + at.table + "\" SET \"" + at.column +
                  "\" = " + std::to_string(number));
    } else if (kind == 4) {  // Missing rows.
      surgeon.Run("PRAGMA foreign_keys = OFF; DELETE FROM \"" + at.table +
                  "\" WHERE rowid IN (SELECT rowid FROM \"" + at.table +
                  "\" LIMIT 1)");
      surgeon.Run("DELETE FROM \"" + at.table + "\" WHERE \"" + at.column +
                  "\" = (SELECT min(\"" + at.column + "\") FROM \"" + at.table +
                  "\")");
    } else {  // Another version, or another program's file.
      surgeon.Run(
          (where % 2 ? "PRAGMA user_version = " : "PRAGMA application_id = ") +
          std::to_string(input.Number(1)));
    }
  }

  const fs::path directory_;
  const std::string file_;
  std::string sound_;
  std::vector<Column> columns_;
};

}  // namespace
}  // namespace graphdbg::trial

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static graphdbg::trial::TrialReader reader;
  reader.Read(
      graphdbg::trial::Input({reinterpret_cast<const char*>(data), size}));
  return 0;
}
