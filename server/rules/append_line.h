// Appends lines to a file that others may read meanwhile.
#ifndef SERVER_RULES_APPEND_LINE_H_
#define SERVER_RULES_APPEND_LINE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace graphdbg::rules {

// Adds the line and its end, as a whole or not at all. Creates the file, which
// only its owner may read; links are refused. RESOURCE_EXHAUSTED if the file
// would exceed `max_bytes`; otherwise the system's error, which names the path.
absl::Status AppendLine(const std::string& path, std::string line,
                        uint64_t max_bytes);

}  // namespace graphdbg::rules

#endif  // SERVER_RULES_APPEND_LINE_H_
