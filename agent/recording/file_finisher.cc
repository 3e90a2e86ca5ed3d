#include "agent/recording/file_finisher.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "agent/recording/background_thread.h"
#include "agent/recording/ring_place.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

// Of ext4 and xfs, from <linux/magic.h>. They have one journal, and flush the
// disk's cache before each of its commits: once a file is synced, all that was
// written before is as well, if it bypassed the page cache.
constexpr uint64_t kExt4 = 0xef53;
constexpr uint64_t kXfs = 0x58465342;

bool HasOneJournal(const std::string& path) {
  const uint64_t type = FileSystemOf(path.substr(0, path.rfind('/'))).type;
  return type == kExt4 || type == kXfs;
}

bool IsDirect(const File& file) {
  return (fcntl(file.fd(), F_GETFL) & O_DIRECT) != 0;
}

constexpr std::chrono::seconds kPeriod(1);
// Each keeps a file open. With half as many, the period has passed.
constexpr size_t kMaxWaiting = 64;

}  // namespace

FileFinisher::~FileFinisher() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void FileFinisher::Add(File file, std::string path) {
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  MutexLock lock(&mu_);
  while (waiting_.size() >= kMaxWaiting) changed_.Wait(&mu_);
  waiting_.push_back({std::move(file), std::move(path)});
  changed_.NotifyAll();
}

void FileFinisher::Wait() {
  MutexLock lock(&mu_);
  hurries_ = true;
  changed_.NotifyAll();
  while (busy_ || !waiting_.empty()) changed_.Wait(&mu_);
  hurries_ = false;
}

absl::Status FileFinisher::TakeError() {
  MutexLock lock(&mu_);
  return std::exchange(error_, absl::OkStatus());
}

bool FileFinisher::WaitForFiles() {
  while (waiting_.size() < kMaxWaiting / 2 && !stopping_ &&
         (waiting_.empty() || !hurries_)) {
    if (waiting_.empty()) {
      changed_.Wait(&mu_);
    } else if (!changed_.WaitUntil(&mu_, next_)) {
      break;
    }
  }
  return !waiting_.empty();
}

void FileFinisher::Run() {
  BecomeBackground();
  for (;;) {
    std::vector<Complete> files;
    {
      MutexLock lock(&mu_);
      if (!WaitForFiles()) return;
      files.swap(waiting_);
      busy_ = true;
      // There is room again.
      changed_.NotifyAll();
    }
    absl::Status status = Finish(std::move(files));
    MutexLock lock(&mu_);
    busy_ = false;
    next_ = Clock::now() + kPeriod;
    error_.Update(std::move(status));
    changed_.NotifyAll();
  }
}

absl::Status FileFinisher::Finish(std::vector<Complete> files) {
  // Each sync flushes the disk's cache, which what is written meanwhile waits
  // for.
  const bool last_suffices = HasOneJournal(files.back().path);
  RETURN_IF_ERROR(files.back().file.Sync());
  for (Complete& each : files) {
    if (!last_suffices || !IsDirect(each.file)) {
      RETURN_IF_ERROR(each.file.Sync());
    }
    if (rename(each.file.path().c_str(), each.path.c_str()) != 0) {
      return ErrorOf(errno, "rename", each.file.path());
    }
  }
  return SyncDirectoryOf(files.back().path);
}

}  // namespace graphdbg::recording
