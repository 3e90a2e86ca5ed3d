#include "agent/core/nearest_names.h"

#include <algorithm>
#include <utility>

namespace graphdbg::agent {
namespace {

constexpr uint32_t kMaxNodes = 20'000;
constexpr size_t kMaxTextBytes = 200;

// The length of the longest part that both have.
size_t LongestCommonPart(absl::string_view a, absl::string_view b) {
  std::vector<size_t> lengths(b.size() + 1, 0);
  size_t longest = 0;
  for (const char c : a) {
    // From the end, so that lengths[j - 1] is still that of the row before.
    for (size_t j = b.size(); j > 0; --j) {
      lengths[j] = b[j - 1] == c ? lengths[j - 1] + 1 : 0;
      longest = std::max(longest, lengths[j]);
    }
  }
  return longest;
}

}  // namespace

std::vector<std::string> NearestNames(const NodeTable& nodes,
                                      absl::string_view text, size_t count) {
  std::vector<std::pair<size_t, std::string>> scored;
  const uint32_t size = std::min(nodes.size(), kMaxNodes);
  for (uint32_t node = 1; node <= size; ++node) {
    std::string name = nodes.InfoOf(node).name;
    const size_t common =
        LongestCommonPart(text.substr(0, kMaxTextBytes), name);
    if (common > 1) scored.emplace_back(common, std::move(name));
  }
  std::stable_sort(
      scored.begin(), scored.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(count, scored.size()); ++i) {
    names.push_back(std::move(scored[i].second));
  }
  return names;
}

}  // namespace graphdbg::agent
