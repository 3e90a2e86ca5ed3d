#include "server/main/listed_server.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/auth/private_file.h"

namespace graphdbg {
namespace {

namespace fs = std::filesystem;

// Empty if it is not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DirectoryName() {
  const std::string runtime = Variable("XDG_RUNTIME_DIR");
  if (!runtime.empty()) return runtime + "/graphdbg";
  const std::string temporary = Variable("TMPDIR");
  return absl::StrCat(temporary.empty() ? "/tmp" : temporary, "/.graphdbg-",
                      geteuid());
}

// Makes it unless it exists.
absl::Status MakePrivateDirectory(const std::string& name) {
  if (mkdir(name.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", name, ": ", std::strerror(errno)));
  }
  struct stat info {};
  if (lstat(name.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
      info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is no directory of this user alone"));
  }
  return absl::OkStatus();
}

bool HasEnded(const fs::path& file) {
  const std::string stem = file.stem().string();
  pid_t pid = 0;
  const char* const end = stem.data() + stem.size();
  const auto [stopped, ec] = std::from_chars(stem.data(), end, pid);
  return ec == std::errc() && stopped == end && pid > 0 && kill(pid, 0) != 0 &&
         errno == ESRCH;
}

void RemoveLeftovers(const std::string& directory) {
  std::error_code ec;
  for (fs::directory_iterator file(directory, ec), end; !ec && file != end;
       file.increment(ec)) {
    std::error_code ignored;
    if (HasEnded(file->path())) fs::remove(file->path(), ignored);
  }
}

}  // namespace

absl::Status ListedServer::Write(const std::string& data_dir,
                                 const std::string& http_address,
                                 const std::string& debugger_address) {
  const std::string directory = DirectoryName();
  RETURN_IF_ERROR(MakePrivateDirectory(directory));
  RemoveLeftovers(directory);
  std::error_code ec;
  const fs::path absolute = fs::absolute(data_dir, ec);
  const nlohmann::ordered_json json = {{"pid", getpid()},
                                       {"http_address", http_address},
                                       {"debugger_address", debugger_address},
                                       {"data_dir", absolute.string()}};
  const std::string name = absl::StrCat(directory, "/", getpid(), ".json");
  RETURN_IF_ERROR(auth::WritePrivateFile(name, json.dump() + "\n"));
  name_ = name;
  return absl::OkStatus();
}

void ListedServer::Remove() {
  if (!name_.empty()) unlink(name_.c_str());
  name_.clear();
}

}  // namespace graphdbg
