// The op that raised the error which may end the program.
#ifndef AGENT_CORE_FAILED_OP_H_
#define AGENT_CORE_FAILED_OP_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"

namespace graphdbg::agent {

// Thread-safe.
class FailedOp {
 public:
  // The execution of `node` in this step raised an error; `message` is empty if
  // it is not known. The first node of an error is kept.
  void Set(uint32_t node, absl::string_view message, uint64_t step);

  // The node whose error ends the program in this step with an exception of
  // this message; 0 if none. The program may have handled the error of an op
  // and fail with another one.
  uint32_t Find(absl::string_view message, uint64_t step) const;

 private:
  mutable Mutex mu_;
  uint32_t node_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::string first_line_ GRAPHDBG_GUARDED_BY(mu_);
  uint64_t step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_FAILED_OP_H_
