// Values of variables and settings.
#ifndef AGENT_CORE_CONFIG_VALUES_H_
#define AGENT_CORE_CONFIG_VALUES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace graphdbg::agent {

// A size in bytes, such as "2GiB", "512MB", "1.5 GiB" or "1000".
std::optional<int64_t> ParseBytes(absl::string_view text);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_CONFIG_VALUES_H_
