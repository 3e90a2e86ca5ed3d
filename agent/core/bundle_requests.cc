#include "agent/core/bundle_requests.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  const v1::BundleRequest& bundle = request.bundle();
  Gate::Hold hold;
  ASSIGN_OR_RETURN(
      std::shared_ptr<const BundleFile> file,
      Write({request, bundle.step(), bundle.hit()}, bundle.id(), &hold));
  files_.push_back(file);
  if (files_.size() > kMaxFiles) files_.pop_front();
  return file;
}

absl::StatusOr<std::string> BundleRequests::Experiment(
    const v1::TensorRequest& request) {
  const v1::ExperimentRequest& experiment = request.experiment();
  // Random numbers come from the program's own generators, whose states are put
  // back before it resumes.
  Gate::Hold hold;
  ASSIGN_OR_RETURN(
      const std::shared_ptr<const BundleFile> file,
      Write({request, experiment.step(), experiment.hit()}, "", &hold));
  std::string text;
  if (parts_.host->Experiment(file->descriptor(),
                              absl::StrJoin(experiment.experiments(), " "),
                              &text)) {
    return text;
  }
  return wire::MakeError(absl::StatusCode::kFailedPrecondition, "cannot_run",
                         absl::StrCat("the op cannot be repeated: ", text));
}

absl::StatusOr<std::shared_ptr<const BundleFile>> BundleRequests::Write(
    const Wanted& wanted, const std::string& id, Gate::Hold* hold) {
  const uint32_t node = parts_.nodes->Find(wanted.request.node());
  if (node == 0) {
    return wire::MakeError(
        absl::StatusCode::kNotFound, "unknown_node",
        absl::StrCat("this rank has no node \"", wanted.request.node(), "\""));
  }
  const uint64_t step = parts_.gate->step();
  // Takes the interpreter's lock, which the program may have while it waits
  // for the gate.
  BundleSubject subject = parts_.captures->SubjectOf(
      node, wanted.request.slot(), wanted.step == 0 ? step : wanted.step);
  subject.hit = wanted.hit;
  ASSIGN_OR_RETURN(const int descriptor, OpenTemporary());
  // Closed on every path.
  const BundleFile opened("", descriptor, 0);
  *hold = parts_.gate->HoldPaused();
  if (!hold->held()) {
    return wire::MakeError(
        absl::StatusCode::kFailedPrecondition, "not_paused",
        "an op can be captured or repeated while the job is paused");
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
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  return std::make_shared<const BundleFile>(id, dup(descriptor),
                                            static_cast<uint64_t>(bytes));
}

}  // namespace graphdbg::agent
