#include "agent/recording/append_file.h"

#include "proto/wire/status_macros.h"

namespace graphdbg::recording {

absl::Status AppendFile::Write() {
  if (!added_) return absl::OkStatus();
  if (!file_.is_open()) {
    ASSIGN_OR_RETURN(file_, File::Create(path_));
  }
  RETURN_IF_ERROR(file_.WriteAt(bytes_, pending_));
  bytes_ += pending_.size();
  pending_.clear();
  added_ = false;
  return absl::OkStatus();
}

}  // namespace graphdbg::recording
