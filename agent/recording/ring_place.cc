#include "agent/recording/ring_place.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include "absl/strings/str_cat.h"
#include "agent/recording/file.h"
#include "proto/runs/layout.h"

namespace graphdbg::recording {
namespace {

constexpr char kSharedMemory[] = "/dev/shm";

struct Candidate {
  std::string directory;
  std::string file;
  // How many times the ring's size must be free.
  uint64_t room = 1;
};

std::vector<Candidate> Candidates(const RingPlaces& places) {
  const std::string unique =
      absl::StrCat("graphdbg-", places.unique_name, "-", runs::kRingFile);
  std::vector<Candidate> candidates;
  if (!places.chosen.empty()) candidates.push_back({places.chosen, unique});
  candidates.push_back({places.rank_directory, runs::kRingFile});
  candidates.push_back({kSharedMemory, unique, 4});
  candidates.push_back({places.temporary, unique});
  return candidates;
}

}  // namespace

FileSystem FileSystemOf(const std::string& directory) {
  struct statfs status;
  if (statfs(directory.c_str(), &status) != 0) return {};
  const auto block = static_cast<uint64_t>(status.f_bsize);
  return {static_cast<uint64_t>(status.f_type), status.f_bavail * block,
          (status.f_blocks - status.f_bfree + status.f_bavail) * block};
}

bool MapsSafely(const FileSystem& file_system) {
  switch (file_system.type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
      return true;
    default:
      return false;
  }
}

std::vector<std::string> RingPaths(
    const RingPlaces& places, uint64_t ring_bytes,
    const std::function<FileSystem(const std::string&)>& file_system_of) {
  std::vector<std::string> paths;
  for (const Candidate& candidate : Candidates(places)) {
    const FileSystem there = file_system_of(candidate.directory);
    if (MapsSafely(there) && there.free_bytes / candidate.room >= ring_bytes) {
      paths.push_back(Join(candidate.directory, candidate.file));
    }
  }
  return paths;
}

std::vector<std::string> PossibleRingPaths(const RingPlaces& places) {
  std::vector<std::string> paths;
  for (const Candidate& candidate : Candidates(places)) {
    paths.push_back(Join(candidate.directory, candidate.file));
  }
  return paths;
}

}  // namespace graphdbg::recording
