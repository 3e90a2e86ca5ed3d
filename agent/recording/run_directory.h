// The directory of a rank in a run.
#ifndef AGENT_RECORDING_RUN_DIRECTORY_H_
#define AGENT_RECORDING_RUN_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/recording/ring_place.h"

namespace graphdbg::recording {

struct RunDirectory {
  // The name of the run: as asked for, or with ".2", ".3" behind it if this
  // rank has recorded one of that name before.
  std::string run;
  // The run that it continues: the one before of that name; empty if none.
  std::string resumes;
  // Absolute paths.
  std::string path;
  std::string rank_path;
};

// Makes a name of a run that is a name of a file: no slashes, no control
// characters, not hidden, at most 200 bytes. "run" if nothing is left.
std::string RunNameOf(absl::string_view text);

// Creates the directory, with those above it. FAILED_PRECONDITION if another
// live process of this machine records this rank of the run. `chosen` is as for
// RingPlacesOf.
absl::StatusOr<RunDirectory> ClaimRunDirectory(const std::string& runs,
                                               const std::string& run,
                                               uint32_t rank,
                                               const std::string& chosen);

// Where the ring of a rank may be. `chosen` is GRAPHDBG_RING_DIR, or empty.
RingPlaces RingPlacesOf(const std::string& rank_path,
                        const std::string& chosen);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_RUN_DIRECTORY_H_
