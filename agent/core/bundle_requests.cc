#include "agent/core/bundle_requests.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

// Downloads that may go on at the same time.
constexpr size_t kMaxFiles = 4;

absl::StatusOr<int> OpenTemporary() {
  const char* const directory = std::getenv("TMPDIR");
  std::string path = absl::StrCat(
      directory != nullptr && *directory != '\0' ? directory : "/tmp",
      "/graphdbg-XXXXXX");
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    return wire::MakeError(
        absl::StatusCode::kUnavailable, "cannot_write",
        absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path))
            .message());
  }
  unlink(path.c_str());
  return file;
}

}  // namespace

BundleFile::~BundleFile() { close(file_); }

absl::Status BundleFile::Read(uint64_t offset, uint64_t size,
                              std::string* out) const {
  const size_t before = out->size();
  out->resize(before + size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(file_, out->data() + before + done, size - done,
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::DataLossError("the bundle cannot be read");
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const BundleFile>> BundleRequests::Find(
    const v1::TensorRequest& request) {
  if (!request.want_data()) return Make(request);
  for (const auto& file : files_) {
    if (file->id() == request.bundle().id()) return file;
  }
  return wire::MakeError(absl::StatusCode::kNotFound, "value_gone",
                         "the bundle is gone, because others were made since");
}

absl::StatusOr<std::shared_ptr<const BundleFile>> BundleRequests::Make(
    const v1::TensorRequest& request) {
  const uint32_t node = parts_.nodes->Find(request.node());
  if (node == 0) {
    return wire::MakeError(
        absl::StatusCode::kNotFound, "unknown_node",
        absl::StrCat("this rank has no node \"", request.node(), "\""));
  }
  // Takes the interpreter's lock, which the program may have while it waits
  // for the gate.
  BundleSubject subject =
      parts_.captures->SubjectOf(node, request.slot(), request.bundle().step());
  subject.hit = request.bundle().hit();
  ASSIGN_OR_RETURN(const int descriptor, OpenTemporary());
  // Closed on every path.
  auto opened = std::make_shared<const BundleFile>("", descriptor, 0);
  {
    const Gate::Hold hold = parts_.gate->HoldPaused();
    if (!hold.held()) {
      return wire::MakeError(absl::StatusCode::kFailedPrecondition,
                             "not_paused",
                             "a bundle can be made while the job is paused");
    }
    if (parts_.gate->step() != subject.step) {
      return wire::MakeError(
          absl::StatusCode::kNotFound, "value_gone",
          absl::StrCat("the hit was in step ", subject.step,
                       ", whose values are gone; to get the bundle of the next "
                       "one, give its watchpoint the action capture"));
    }
    RETURN_IF_ERROR(
        parts_.writer->Write(subject, parts_.config->bundles, descriptor));
  }
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  auto file = std::make_shared<const BundleFile>(
      request.bundle().id(), dup(descriptor), static_cast<uint64_t>(bytes));
  files_.push_back(file);
  if (files_.size() > kMaxFiles) files_.pop_front();
  return file;
}

}  // namespace graphdbg::agent
