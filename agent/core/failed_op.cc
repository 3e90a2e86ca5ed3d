#include "agent/core/failed_op.h"

#include "absl/strings/match.h"

namespace graphdbg::agent {
namespace {

// Frameworks add stack traces and advice in further lines.
absl::string_view FirstLine(absl::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

void FailedOp::Set(uint32_t node, absl::string_view message, uint64_t step) {
  MutexLock lock(&mu_);
  const absl::string_view first_line = FirstLine(message);
  if (step == step_ && first_line == first_line_) return;
  node_ = node;
  first_line_ = std::string(first_line);
  step_ = step;
}

uint32_t FailedOp::Find(absl::string_view message, uint64_t step) const {
  MutexLock lock(&mu_);
  if (step != step_) return 0;
  const bool same =
      first_line_.empty() || absl::StrContains(message, first_line_);
  return same ? node_ : 0;
}

}  // namespace graphdbg::agent
