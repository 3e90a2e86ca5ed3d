#include "agent/recording/file_finisher.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "agent/recording/background_thread.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

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
  for (Complete& each : files) {
    RETURN_IF_ERROR(each.file.Sync());
    if (rename(each.file.path().c_str(), each.path.c_str()) != 0) {
      return ErrorOf(errno, "rename", each.file.path());
    }
  }
  return SyncDirectoryOf(files.back().path);
}

}  // namespace graphdbg::recording
