#include "agent/recording/run_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/recording/file.h"
#include "agent/recording/ring.h"
#include "proto/runs/digest.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr int kMaxResumptions = 10'000;

std::string AbsolutePathOf(const std::string& path) {
  char absolute[PATH_MAX];
  return realpath(path.c_str(), absolute) == nullptr ? path : absolute;
}

bool IsRecorded(const RingPlaces& places) {
  for (const std::string& path : PossibleRingPaths(places)) {
    if (IsHeldByAnother(path)) return true;
  }
  return false;
}

}  // namespace

std::string RunNameOf(absl::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMaxNameBytes)) {
    const bool usable = c != '/' &&
                        !absl::ascii_iscntrl(static_cast<unsigned char>(c)) &&
                        !(name.empty() && c == '.');
    name += usable ? c : '_';
  }
  return name.empty() ? "run" : name;
}

RingPlaces RingPlacesOf(const std::string& rank_path,
                        const std::string& chosen) {
  const char* const temporary = getenv("TMPDIR");
  RingPlaces places;
  places.rank_directory = rank_path;
  places.chosen = chosen;
  places.temporary = temporary != nullptr ? temporary : "/tmp";
  // Differs for each run, because the path of a run is never used twice.
  places.unique_name = absl::StrCat(absl::Hex(
      runs::Digest(rank_path.data(), rank_path.size(), 1), absl::kZeroPad16));
  return places;
}

absl::StatusOr<RunDirectory> ClaimRunDirectory(const std::string& runs,
                                               const std::string& run,
                                               uint32_t rank,
                                               const std::string& chosen) {
  RETURN_IF_ERROR(MakeDirectories(runs));
  const std::string parent = AbsolutePathOf(runs);
  RunDirectory directory;
  for (int number = 1; number <= kMaxResumptions; ++number) {
    directory.resumes = directory.run;
    directory.run = number == 1 ? run : absl::StrCat(run, ".", number);
    directory.path = Join(parent, directory.run);
    directory.rank_path = Join(directory.path, runs::RankDirectory(rank));
    RETURN_IF_ERROR(MakeDirectories(directory.path));
    if (mkdir(directory.rank_path.c_str(), 0777) == 0) return directory;
    if (errno != EEXIST) {
      return ErrorOf(errno, "create the directory", directory.rank_path);
    }
    if (IsRecorded(RingPlacesOf(directory.rank_path, chosen))) {
      return absl::FailedPreconditionError(absl::StrCat(
          "another process records rank ", rank, " of ", directory.path));
    }
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("there are ", kMaxResumptions, " runs of the name ", run,
                   " in ", parent));
}

}  // namespace graphdbg::recording
