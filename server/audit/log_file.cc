#include "server/audit/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::audit {
namespace {

namespace fs = std::filesystem;

constexpr char kCurrent[] = "audit.jsonl";
constexpr absl::string_view kPrefix = "audit.";
constexpr absl::string_view kSuffix = ".jsonl";

absl::Status Failure(const std::string& name, const char* verb) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", verb, " ", name, ": ", std::strerror(errno)));
}

// The number of an older file; 0 for other files.
uint64_t NumberOf(const std::string& name) {
  absl::string_view text = name;
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&text, kPrefix) ||
      !absl::ConsumeSuffix(&text, kSuffix) ||
      !absl::SimpleAtoi(text, &number)) {
    return 0;
  }
  return number;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogFile>> LogFile::Open(std::string dir,
                                                       uint64_t max_bytes,
                                                       uint64_t max_old) {
  std::unique_ptr<LogFile> file(
      new LogFile(std::move(dir), max_bytes, max_old));
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(file->dir_, ec)) {
    file->number_ =
        std::max(file->number_, NumberOf(entry.path().filename().string()) + 1);
  }
  RETURN_IF_ERROR(file->OpenCurrent());
  return file;
}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

std::string LogFile::NameOf(uint64_t number) const {
  if (number == number_) return absl::StrCat(dir_, "/", kCurrent);
  return absl::StrCat(dir_, "/", kPrefix, number, kSuffix);
}

absl::Status LogFile::OpenCurrent() {
  const std::string name = NameOf(number_);
  const int fd = open(
      name.c_str(),
      O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return Failure(name, "open");
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != geteuid() || fchmod(fd, 0600) != 0) {
    close(fd);
    return absl::UnavailableError(
        name + " is not a regular file of the server's user; remove it");
  }
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  size_ = static_cast<uint64_t>(info.st_size);
  // A server that was killed may have left a part of a line.
  char last = '\n';
  if (size_ > 0 && pread(fd_, &last, 1, info.st_size - 1) == 1 &&
      last != '\n') {
    return Append("");
  }
  return absl::OkStatus();
}

absl::Status LogFile::Append(std::string_view line) {
  if (size_ > 0 && size_ + line.size() >= max_bytes_) RETURN_IF_ERROR(Rotate());
  const std::string text = absl::StrCat(std::string(line), "\n");
  const ssize_t written = write(fd_, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) {
    size_ += text.size();
    return absl::OkStatus();
  }
  if (written > 0) errno = ENOSPC;
  const absl::Status failure = Failure(NameOf(number_), "write");
  // If this fails too, a later line continues the torn one, and readers skip
  // both.
  if (written > 0 && ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
    size_ += static_cast<uint64_t>(written);
  }
  return failure;
}

absl::Status LogFile::Rotate() {
  const std::string current = NameOf(number_);
  const std::string old = absl::StrCat(dir_, "/", kPrefix, number_, kSuffix);
  if (rename(current.c_str(), old.c_str()) != 0) {
    return Failure(current, "rename");
  }
  ++number_;
  if (number_ > max_old_ + 1) {
    unlink(NameOf(number_ - max_old_ - 1).c_str());
  }
  return OpenCurrent();
}

std::vector<std::string> LogFile::ReadBefore(Position& position,
                                             uint32_t limit) const {
  std::vector<std::string> lines;
  while (position.file > 0) {
    std::ifstream file(NameOf(position.file), std::ios::binary);
    // Older files may have been removed.
    if (!file) break;
    std::string text;
    file.seekg(0, std::ios::end);
    const auto size = static_cast<uint64_t>(
        std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg())));
    text.resize(std::min(position.offset, size));
    file.seekg(0);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
    while (!text.empty()) {
      if (lines.size() == limit) {
        position.offset = text.size();
        return lines;
      }
      if (text.back() == '\n') text.pop_back();
      const size_t begin = text.rfind('\n') + 1;
      if (begin < text.size()) lines.push_back(text.substr(begin));
      text.resize(begin);
    }
    position = {position.file - 1, UINT64_MAX};
  }
  position = {};
  return lines;
}

}  // namespace graphdbg::audit
