#include "agent/inject/process.h"

#include <sys/uio.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/inject/failure.h"

namespace graphdbg::inject {

namespace {

// Returns the first of the words after "NAME:", or nothing.
absl::string_view FirstWord(absl::string_view text) {
  const absl::string_view value = absl::StripLeadingAsciiWhitespace(text);
  return value.substr(0, value.find_first_of(" \t"));
}

void ParseField(absl::string_view name, absl::string_view value,
                ProcessStatus* status) {
  const absl::string_view first = FirstWord(value);
  int number = 0;
  const bool is_number = absl::SimpleAtoi(first, &number);
  if (name == "State" && !first.empty()) status->state = first[0];
  if (name == "TracerPid" && is_number) status->tracer = number;
  if (name == "Tgid" && is_number) status->process = number;
  if (name == "Uid" && is_number) status->user = static_cast<uid_t>(number);
  if (name == "x86_Thread_features") {
    status->has_shadow_stack = value.find("shstk") != absl::string_view::npos;
  }
}

}  // namespace

absl::StatusOr<ProcessStatus> ParseStatus(absl::string_view text) {
  ProcessStatus status;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    ParseField(line.substr(0, colon), line.substr(colon + 1), &status);
  }
  if (status.state == '?' || status.process == 0) {
    return absl::InvalidArgumentError("not the status of a process");
  }
  return status;
}

absl::StatusOr<ProcessStatus> ReadStatus(pid_t pid) {
  const std::string text = ReadProcFile(pid, "status");
  if (text.empty()) {
    return Failure("no_process", absl::StrCat("no process ", pid));
  }
  return ParseStatus(text);
}

std::string ReadProcFile(pid_t pid, absl::string_view name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/", name));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::StatusOr<std::vector<Mapping>> ReadMappings(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/maps"));
  if (!file.is_open() && (errno == EACCES || errno == EPERM)) {
    return Failure("not_dumpable",
                   absl::StrCat("process ", pid, " forbids tracing"));
  }
  return ParseMappings(std::string(std::istreambuf_iterator<char>(file), {}));
}

bool ReadMemory(pid_t pid, uint64_t address, size_t size, void* out) {
  iovec local{out, size};
  iovec remote{reinterpret_cast<void*>(address), size};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size);
}

bool WriteMemory(pid_t pid, uint64_t address, absl::string_view bytes) {
  iovec local{const_cast<char*>(bytes.data()), bytes.size()};
  iovec remote{reinterpret_cast<void*>(address), bytes.size()};
  return process_vm_writev(pid, &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace graphdbg::inject
