#include "server/store/store.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/status_macros.h"
#include "server/store/dir_lock.h"
#include "server/store/job_rows.h"
#include "server/store/loader.h"
#include "server/store/private_file.h"
#include "server/store/schema.h"
#include "server/store/writer.h"

namespace graphdbg::store {
namespace {

constexpr char kFile[] = "/graphdbg.db";

absl::Status WithAdvice(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kDataLoss) return status;
  return absl::DataLossError(
      absl::StrCat(std::string(status.message()),
                   "; the file was not changed: move it away to start with an "
                   "empty store"));
}

// Whether the operating system has refused something, for example because the
// disk is full: the file itself is in order.
bool MayRecover(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

// Opens a file with jobs in a way that takes no room on the disk.
absl::StatusOr<Database> OpenForReading(const std::string& file,
                                        const absl::Status& why) {
  std::error_code ignored;
  if (!MayRecover(why) || std::filesystem::file_size(file, ignored) == 0) {
    return why;
  }
  auto db = OpenDatabase(file, Access::kReadOnFullDisk);
  // The first error is the one to solve.
  return db.ok() ? std::move(db) : why;
}

// Opens the file only for reading if it cannot be opened for writing.
absl::StatusOr<Database> OpenToLoad(const std::string& file) {
  auto db = OpenDatabase(file);
  return db.ok() ? std::move(db) : OpenForReading(file, db.status());
}

int64_t UnixNano() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Store final : public jobs::Journal {
 public:
  // Without `db` the file can be read, but not written at present.
  Store(DirLock lock, const std::string& file, std::optional<Database> db,
        uint64_t life, StoreOptions options)
      : lock_(std::move(lock)),
        max_bytes_(options.max_bytes),
        other_bytes_(std::move(options.other_bytes)),
        life_(life),
        file_(file),
        writer_(std::make_shared<Writer>(
            file, std::move(db), WriterOptionsOf(std::move(options)))) {}
  ~Store() override { Store::Close(); }

  uint64_t generation() const override { return life_; }

  absl::Status Load(const std::function<void(jobs::SavedJob)>& each) override {
    if (auto loaded = LoadFile(each); !loaded.ok()) return WithAdvice(loaded);
    // Counted only after the whole file has been read successfully.
    const auto nobody = std::make_shared<Writer::Group>();
    writer_->Put(
        nobody,
        [](Statements& statements) {
          return statements["UPDATE server SET lives = lives + 1"].Run();
        },
        0);
    return absl::OkStatus();
  }

  std::unique_ptr<jobs::JobJournal> Open(
      const std::string& id, const std::string& asked_for,
      int64_t created_at_unix_nano) override {
    auto rows = std::make_unique<JobRows>(writer_, ++last_key_);
    rows->Insert(id, asked_for, created_at_unix_nano);
    return rows;
  }

  void Close() override {
    writer_->Close();
    lock_.reset();
  }

  bool over_limit() const override {
    const uint64_t others = other_bytes_ ? other_bytes_() : 0;
    return writer_->bytes() + others > max_bytes_;
  }

  bool full() const override { return writer_->full(); }

  model::Storage storage() const override {
    model::Storage storage;
    storage.waiting_bytes = writer_->waiting_bytes();
    storage.dropped_statistics = writer_->dropped();
    absl::MutexLock lock(&mu_);
    if (failure_.ok()) return storage;
    storage.failing = true;
    storage.reason = std::string(failure_.message());
    storage.since_unix_nano = failing_since_;
    return storage;
  }

  void Listen(std::function<void()> changed) override {
    absl::MutexLock lock(&mu_);
    changed_ = std::move(changed);
  }

 private:
  // Closes its connection, which may exclude the writer's.
  absl::Status LoadFile(const std::function<void(jobs::SavedJob)>& each) {
    ASSIGN_OR_RETURN(const Database db, OpenToLoad(file_));
    return LoadJobs(db, [&](int64_t key, jobs::SavedJob job) {
      last_key_ = key;
      job.journal = std::make_unique<JobRows>(writer_, key, job.frames.size());
      each(std::move(job));
    });
  }

  WriterOptions WriterOptionsOf(StoreOptions options) {
    WriterOptions writer;
    writer.log = std::move(options.log);
    writer.max_waiting_bytes = options.max_waiting_bytes;
    writer.memory = std::move(options.memory);
    writer.first_pause = options.first_pause;
    writer.longest_pause = options.longest_pause;
    writer.on_change = [this](const absl::Status& status) { OnChange(status); };
    return writer;
  }

  void OnChange(const absl::Status& status) {
    std::function<void()> changed;
    {
      absl::MutexLock lock(&mu_);
      failure_ = status;
      failing_since_ = status.ok() ? 0 : UnixNano();
      changed = changed_;
    }
    if (changed) changed();
  }

  // Absent after Close().
  std::optional<DirLock> lock_;
  const uint64_t max_bytes_;
  const std::function<uint64_t()> other_bytes_;
  const uint64_t life_;
  const std::string file_;
  std::atomic<int64_t> last_key_{0};

  mutable absl::Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int64_t failing_since_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> changed_ ABSL_GUARDED_BY(mu_);

  // Shared with the jobs. Declared last: its thread uses the members above.
  const std::shared_ptr<Writer> writer_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<jobs::Journal>> OpenStore(
    const std::string& data_dir, StoreOptions options) {
  ASSIGN_OR_RETURN(DirLock lock, DirLock::Take(data_dir));
  const std::string file = data_dir + kFile;
  RETURN_IF_ERROR(MakePrivate(file));
  auto db = OpenDatabase(file);
  std::optional<Database> reader;
  if (!db.ok()) {
    auto opened = OpenForReading(file, db.status());
    if (!opened.ok()) return WithAdvice(opened.status());
    reader = *std::move(opened);
  }
  auto life = (reader ? *reader : *db).Number("SELECT lives FROM server");
  if (!life.ok()) return WithAdvice(life.status());
  reader.reset();
  std::optional<Database> writable;
  if (db.ok()) writable = *std::move(db);
  return std::make_shared<Store>(std::move(lock), file, std::move(writable),
                                 static_cast<uint64_t>(*life),
                                 std::move(options));
}

}  // namespace graphdbg::store
