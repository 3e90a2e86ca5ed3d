// Where a ring may lie.
#ifndef AGENT_RECORDING_RING_PLACE_H_
#define AGENT_RECORDING_RING_PLACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::recording {

struct FileSystem {
  // The type that statfs() returns.
  uint64_t type = 0;
  // For users other than root, as df shows them.
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};

// The file system of a directory; `type` 0 if it cannot be asked.
FileSystem FileSystemOf(const std::string& directory);

// Whether a mapping of an allocated file there survives the process and cannot
// fail: ext4, xfs, tmpfs, or an overlay. Not on a network, in FUSE, or where
// writing copies (btrfs), because allocating promises nothing there.
bool MapsSafely(const FileSystem& file_system);

struct RingPlaces {
  // The rank's directory in the run.
  std::string rank_directory;
  // GRAPHDBG_RING_DIR; empty if it is not set.
  std::string chosen;
  // TMPDIR, or "/tmp".
  std::string temporary;
  // Distinguishes the ring where other processes have theirs, too.
  std::string unique_name;
};

// Paths to try, in this order: the chosen directory, the rank's directory,
// shared memory if a quarter of what is free there suffices, and the directory
// for temporary files. Those on unsuitable file systems are left out.
std::vector<std::string> RingPaths(
    const RingPlaces& places, uint64_t ring_bytes,
    const std::function<FileSystem(const std::string&)>& file_system_of =
        FileSystemOf);

// All paths that RingPaths could have given, on whatever file systems: where a
// ring of the same rank may be.
std::vector<std::string> PossibleRingPaths(const RingPlaces& places);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_RING_PLACE_H_
