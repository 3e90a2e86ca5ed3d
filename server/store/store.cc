#include "server/store/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
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
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", file, ": ", std::strerror(errno)));
  }
  close(fd);
  return absl::OkStatus();
}

class Store final : public jobs::Journal {
 public:
  Store(DirLock lock, Database db, uint64_t life, StoreOptions options)
      : lock_(std::move(lock)),
        max_bytes_(options.max_bytes),
        other_bytes_(std::move(options.other_bytes)),
        life_(life),
        file_(db.file()),
        writer_(
            std::make_shared<Writer>(std::move(db), std::move(options.log))) {}
  ~Store() override { Store::Close(); }

  uint64_t generation() const override { return life_; }

  absl::Status Load(
      const std::function<absl::Status(jobs::SavedJob)>& each) override {
    auto db = OpenDatabase(file_);
    if (!db.ok()) return WithAdvice(db.status());
    absl::Status loaded = LoadJobs(*db, [&](int64_t key, jobs::SavedJob job) {
      last_key_ = key;
      job.journal = std::make_unique<JobRows>(writer_, key, job.frames.size());
      return each(std::move(job));
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

 private:
  // Absent after Close().
  std::optional<DirLock> lock_;
  const uint64_t max_bytes_;
  const std::function<uint64_t()> other_bytes_;
  const uint64_t life_;
  const std::string file_;
  std::atomic<int64_t> last_key_{0};
  // Shared with the jobs.
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
