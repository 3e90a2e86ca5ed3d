#ifndef AGENT_CORE_BUNDLE_SETTINGS_H_
#define AGENT_CORE_BUNDLE_SETTINGS_H_

#include <cstdint>
#include <string>

namespace graphdbg::agent {

struct BundleSettings {
  // Where bundles are written that nobody downloads.
  std::string directory = "bundles";
  // How many of them this process writes.
  uint32_t keep = 3;
  // How many of the ops that led to a hit are repeated before it.
  uint32_t upstream = 8;
  // Whether bundles contain the user's source files.
  bool sources = true;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BUNDLE_SETTINGS_H_
