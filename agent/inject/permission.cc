#include "agent/inject/permission.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/inject/failure.h"
#include "agent/inject/process.h"

namespace graphdbg::inject {

namespace {

constexpr int kTraceCapability = 19;  // CAP_SYS_PTRACE

// Of the Yama security module; 0 without it.
int PtraceScope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  file >> scope;
  return scope;
}

bool MayTraceAll() {
  for (const absl::string_view line :
       absl::StrSplit(ReadProcFile(getpid(), "status"), '\n')) {
    uint64_t capabilities = 0;
    if (absl::StartsWith(line, "CapEff:") &&
        absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line.substr(7)),
                            &capabilities)) {
      return (capabilities >> kTraceCapability & 1) != 0;
    }
  }
  return false;
}

// The kernel gives the files of a process that is not dumpable to root.
bool IsDumpable(pid_t pid) {
  struct stat information;
  const absl::StatusOr<ProcessStatus> status = ReadStatus(pid);
  return !status.ok() ||
         stat(absl::StrCat("/proc/", pid).c_str(), &information) != 0 ||
         information.st_uid == status->user;
}

absl::Status ExplainYama(int scope) {
  if (scope == 1) {
    return Failure(
        "yama",
        "only a parent may trace here; allow it for this job with setpriv "
        "--ptracer any, or until reboot: echo 0 > "
        "/proc/sys/kernel/yama/ptrace_scope, or run graphdbg attach with sudo");
  }
  return Failure("yama", scope == 2
                             ? "tracing needs CAP_SYS_PTRACE here: run "
                               "graphdbg attach with sudo"
                             : "tracing is off on this machine until reboot");
}

}  // namespace

absl::Status ExplainRefusal(pid_t pid) {
  if (!IsDumpable(pid)) {
    return Failure("not_dumpable",
                   absl::StrCat("process ", pid, " forbids tracing"));
  }
  const int scope = PtraceScope();
  if (scope == 3 || (scope > 0 && !MayTraceAll())) return ExplainYama(scope);
  return Failure(
      "container",
      absl::StrCat("the container does not allow ptrace: --cap-add=SYS_PTRACE "
                   "(Kubernetes: securityContext.capabilities.add), or attach "
                   "inside: kubectl exec ... graphdbg attach --pid ",
                   pid));
}

}  // namespace graphdbg::inject
