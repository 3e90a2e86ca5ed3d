#ifndef AGENT_CORE_BUNDLE_SETTINGS_H_
#define AGENT_CORE_BUNDLE_SETTINGS_H_

#include <cstdint>
#include <string>

namespace graphdbg::agent {

// How much of each step is kept so that bundles can repeat all of it. kAuto:
// as much as the watchpoints whose hits are captured need.
enum class TapeSetting { kAuto, kOff, kForwardBackward, kWholeStep };

struct BundleSettings {
  // Where bundles are written that nobody downloads.
  std::string directory = "bundles";
  // How many of them this process writes.
  uint32_t keep = 3;
  // How many of the ops that led to a hit are repeated before it.
  uint32_t upstream = 8;
  // Whether bundles contain the user's source files.
  bool sources = true;
  TapeSetting tape = TapeSetting::kAuto;
  // Of memory that a step's tape keeps, in bytes.
  int64_t tape_budget = int64_t{2} << 30;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BUNDLE_SETTINGS_H_
