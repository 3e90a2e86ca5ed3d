// The memory map of a process, as in /proc/PID/maps.
#ifndef AGENT_INJECT_MAPPINGS_H_
#define AGENT_INJECT_MAPPINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphdbg::inject {

struct Mapping {
  // Addresses in the process, `end` excluded.
  uint64_t begin = 0;
  uint64_t end = 0;
  // Of the first byte in the file.
  uint64_t offset = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  // The file's path in the process's mount namespace, a name such as "[vdso]",
  // or empty.
  std::string path;
  // The file was removed or replaced since.
  bool deleted = false;

  bool Contains(uint64_t address) const {
    return begin <= address && address < end;
  }
};

// Parses the text of /proc/PID/maps. Lines that are not understood are errors.
absl::StatusOr<std::vector<Mapping>> ParseMappings(absl::string_view text);

// Returns the mapping that contains an address, or nullptr.
const Mapping* FindMapping(const std::vector<Mapping>& mappings,
                           uint64_t address);

// Returns the part of a path after the last slash.
absl::string_view BaseName(absl::string_view path);

}  // namespace graphdbg::inject

#endif  // AGENT_INJECT_MAPPINGS_H_
