#ifndef AGENT_CORE_BUNDLE_H_
#define AGENT_CORE_BUNDLE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/core/bundle_settings.h"
#include "agent/core/devices.h"
#include "agent/core/host.h"
#include "agent/core/node_table.h"

namespace graphdbg::agent {

// The execution that a bundle captures, and why.
struct BundleSubject {
  uint32_t node = 0;
  uint32_t slot = 0;
  uint64_t step = 0;
  // The hit, a JSON object.
  std::string hit;
  std::string job;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  // JSON objects; see Host::Environment and Host::Training.
  std::string environment;
  std::string training;
};

// Writes bundles: a hit's op and those that led to it, with their values. The
// format is described in agent/docs/bundles.md.
class BundleWriter {
 public:
  // All must outlive this.
  struct Parts {
    const Host* host;
    Devices* devices;
    const NodeTable* nodes;
  };
  explicit BundleWriter(const Parts& parts) : parts_(parts) {}

  // Writes to an empty file, while the program stays where it is: on the
  // training thread that has the hit, or while the program is paused. Reasons
  // of errors: "unsupported", "value_gone", "input_overwritten",
  // "not_repeatable", "unreadable", "cannot_write".
  absl::Status Write(const BundleSubject& subject,
                     const BundleSettings& settings, int file) const;

 private:
  const Parts parts_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BUNDLE_H_
