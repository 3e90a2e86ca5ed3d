#include "server/store/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/status_macros.h"
#include "server/store/dir_lock.h"
#include "server/store/job_rows.h"
#include "server/store/loader.h"
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

// The file contains source lines of users' programs. SQLite creates its other
// files with the same mode. Must be called before SQLite opens the file, since
// closing the descriptor releases SQLite's locks.
absl::Status MakePrivate(const std::string& file) {
  const int fd =
      open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
           0600);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", file, ": ",
                     errno == ELOOP ? "it is a link" : std::strerror(errno)));
  }
  close(fd);
  return absl::OkStatus();
}

int64_t UnixNano() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Store final : public jobs::Journal {
 public:
  Store(DirLock lock, Database db, uint64_t life, StoreOptions options)
      : lock_(std::move(lock)),
        max_bytes_(options.max_bytes),
        other_bytes_(std::move(options.other_bytes)),
        life_(life),
        file_(db.file()),
        writer_(std::make_shared<Writer>(
            std::move(db), WriterOptionsOf(std::move(options)))) {}
  ~Store() override { Store::Close(); }

  uint64_t generation() const override { return life_; }

  absl::Status Load(const std::function<void(jobs::SavedJob)>& each) override {
    auto db = OpenDatabase(file_);
    if (!db.ok()) return WithAdvice(db.status());
    absl::Status loaded = LoadJobs(*db, [&](int64_t key, jobs::SavedJob job) {
      last_key_ = key;
      job.journal = std::make_unique<JobRows>(writer_, key, job.frames.size());
      each(std::move(job));
    });
    // Counted only after the whole file has been read successfully.
    if (loaded.ok()) loaded = db->Run("UPDATE server SET lives = lives + 1");
    return WithAdvice(loaded);
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
  WriterOptions WriterOptionsOf(StoreOptions options) {
    WriterOptions writer;
    writer.log = std::move(options.log);
    writer.max_waiting_bytes = options.max_waiting_bytes;
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
  if (!db.ok()) return WithAdvice(db.status());
  auto life = db->Number("SELECT lives FROM server");
  if (!life.ok()) return WithAdvice(life.status());
  return std::make_shared<Store>(std::move(lock), *std::move(db),
                                 static_cast<uint64_t>(*life),
                                 std::move(options));
}

}  // namespace graphdbg::store
