#include "agent/recording/file_finisher.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "agent/recording/background_thread.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

// Each keeps a file open.
constexpr size_t kMaxWaiting = 32;

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
  while (busy_ || !waiting_.empty()) changed_.Wait(&mu_);
}

absl::Status FileFinisher::TakeError() {
  MutexLock lock(&mu_);
  return std::exchange(error_, absl::OkStatus());
}

void FileFinisher::Run() {
  BecomeBackground();
  for (;;) {
    std::vector<Complete> files;
    {
      MutexLock lock(&mu_);
      while (waiting_.empty() && !stopping_) changed_.Wait(&mu_);
      if (waiting_.empty()) return;
      files.swap(waiting_);
      busy_ = true;
      // There is room again.
      changed_.NotifyAll();
    }
    absl::Status status = Finish(std::move(files));
    MutexLock lock(&mu_);
    busy_ = false;
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
