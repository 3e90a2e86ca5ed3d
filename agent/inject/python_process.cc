#include "agent/inject/python_process.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/inject/failure.h"
#include "agent/inject/process.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

// The interpreters' threads wait for locks in these functions, some of which
// older and newer versions do not have.
constexpr absl::string_view kLockWaits[] = {"PyThread_acquire_lock_timed",
                                            "_PySemaphore_Wait"};

// More code than this is not searched for gadgets.
constexpr uint64_t kMaxSearchedBytes = uint64_t{64} << 20;

std::string UserName(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry == nullptr ? absl::StrCat("user ", user) : entry->pw_name;
}

absl::Status CheckUser(pid_t pid, const ProcessStatus& status) {
  if (geteuid() == 0 || status.user == geteuid()) return absl::OkStatus();
  const std::string name = UserName(status.user);
  return Failure("other_user",
                 absl::StrCat("process ", pid, " belongs to ", name,
                              "; attach as that user (sudo -u ", name,
                              " graphdbg attach --pid ", pid, ")"));
}

// The files that may contain the interpreter, the most likely one first.
std::vector<std::string> Candidates(pid_t pid,
                                    const std::vector<Mapping>& mappings) {
  std::vector<std::string> found;
  for (const Mapping& each : mappings) {
    if (absl::StartsWith(BaseName(each.path), "libpython3") &&
        (found.empty() || found.back() != each.path)) {
      found.push_back(each.path);
    }
  }
  char program[4096];
  const ssize_t size = readlink(absl::StrCat("/proc/", pid, "/exe").c_str(),
                                program, sizeof(program));
  if (size > 0) {
    absl::string_view path(program, static_cast<size_t>(size));
    absl::ConsumeSuffix(&path, " (deleted)");
    found.emplace_back(path);
  }
  return found;
}

// The version in a path such as lib/libpython3.11.so.1.0 or bin/python3.9.
std::string VersionInPath(absl::string_view path) {
  const size_t at = path.rfind("python3.");
  if (at == absl::string_view::npos) return "";
  const absl::string_view rest = path.substr(at + 8);
  const size_t digits = rest.find_first_not_of("0123456789");
  return absl::StrCat("3.", rest.substr(0, digits));
}

std::string VersionOf(const PythonProcess& process, const Image& image) {
  // A variable from CPython 3.11 on.
  const std::vector<AddressRange> variable = image.Find("Py_Version");
  uint64_t number = 0;
  if (!variable.empty() &&
      ReadMemory(process.pid, variable[0].begin, sizeof(number), &number)) {
    return absl::StrCat(number >> 24 & 0xff, ".", number >> 16 & 0xff);
  }
  const std::string version = VersionInPath(image.path());
  if (!version.empty()) return version;
  // Modules of the standard library name it too.
  for (const Mapping& each : process.mappings) {
    const size_t at = each.path.find("/lib-dynload/");
    if (at != std::string::npos) {
      return VersionInPath(absl::string_view(each.path).substr(0, at));
    }
  }
  return "";
}

// Fills in the addresses; false if the image has no interpreter.
bool FindFunctions(const Image& image, PythonProcess* process) {
  const std::vector<AddressRange> add = image.Find("Py_AddPendingCall");
  const std::vector<AddressRange> run = image.Find("PyRun_SimpleString");
  if (add.empty() || run.empty()) return false;
  process->file = image.path();
  process->add_pending_call = add[0].begin;
  process->run_string = run[0].begin;
  for (const absl::string_view each : kLockWaits) {
    for (const AddressRange& range : image.Find(each)) {
      process->lock_waits.push_back(range);
    }
  }
  process->version = VersionOf(*process, image);
  return true;
}

// The executable mappings, the C library's first.
std::vector<Mapping> SearchedMappings(const std::vector<Mapping>& mappings) {
  std::vector<Mapping> code;
  std::copy_if(mappings.begin(), mappings.end(), std::back_inserter(code),
               [](const Mapping& each) {
                 return each.executable && each.readable &&
                        !each.path.empty() &&
                        each.end - each.begin <= kMaxSearchedBytes;
               });
  std::stable_partition(code.begin(), code.end(), [](const Mapping& each) {
    const absl::string_view name = BaseName(each.path);
    return absl::StartsWith(name, "libc.") || absl::StartsWith(name, "libc-") ||
           absl::StartsWith(name, "ld-musl");
  });
  return code;
}

}  // namespace

absl::StatusOr<PythonProcess> FindPython(pid_t pid) {
  ASSIGN_OR_RETURN(const ProcessStatus status, ReadStatus(pid));
  if (status.state == 'Z' || status.state == 'X' || status.process != pid) {
    return Failure("no_process", absl::StrCat("no process ", pid));
  }
  RETURN_IF_ERROR(CheckUser(pid, status));
  PythonProcess process;
  process.pid = pid;
  ASSIGN_OR_RETURN(process.mappings, ReadMappings(pid));
  absl::Status problem = Failure(
      "no_python", absl::StrCat("process ", pid,
                                " runs no CPython; for a C++ program start it "
                                "under graphdbg run"));
  for (const std::string& file : Candidates(pid, process.mappings)) {
    const absl::StatusOr<Image> image =
        Image::Load(pid, process.mappings, file);
    if (FailureCode(image.status()) == "file_replaced") {
      problem = image.status();
    }
    if (!image.ok() || !FindFunctions(*image, &process)) continue;
    if (!image->DiffersFrom(pid, image->Find("Py_AddPendingCall")[0])) {
      return process;
    }
    problem = FileReplaced(pid, file);
  }
  return problem;
}

absl::StatusOr<Gadgets> FindGadgets(const PythonProcess& process) {
  Gadgets gadgets;
  std::string code;
  for (const Mapping& each : SearchedMappings(process.mappings)) {
    code.resize(each.end - each.begin);
    if (!ReadMemory(process.pid, each.begin, code.size(), code.data())) {
      continue;
    }
    if (AddGadgets(code, each.begin, &gadgets)) return gadgets;
  }
  if (gadgets.system_call != 0 && gadgets.restore != 0) return gadgets;
  return Failure("no_gadgets",
                 absl::StrCat("process ", process.pid,
                              " has no C library that graphdbg knows"));
}

}  // namespace graphdbg::inject
