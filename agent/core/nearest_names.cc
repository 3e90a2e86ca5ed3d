#include "agent/core/nearest_names.h"

#include <algorithm>
#include <set>
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

std::vector<std::string> Nearest(const std::vector<std::string>& all,
                                 absl::string_view text, size_t count) {
  std::vector<std::pair<size_t, std::string>> scored;
  for (const std::string& name : all) {
    const size_t common =
        LongestCommonPart(text.substr(0, kMaxTextBytes), name);
    if (common > 1) scored.emplace_back(common, name);
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

}  // namespace

std::vector<std::string> NearestNames(const NodeTable& nodes,
                                      absl::string_view text, size_t count) {
  std::vector<std::string> names;
  const uint32_t size = std::min(nodes.size(), kMaxNodes);
  for (uint32_t node = 1; node <= size; ++node) {
    names.push_back(nodes.InfoOf(node).name);
  }
  return Nearest(names, text, count);
}

std::vector<std::string> NearestOpTypes(const NodeTable& nodes,
                                        absl::string_view text, size_t count) {
  std::set<std::string> types;
  const uint32_t size = std::min(nodes.size(), kMaxNodes);
  for (uint32_t node = 1; node <= size; ++node) {
    types.insert(nodes.InfoOf(node).op_type);
  }
  return Nearest({types.begin(), types.end()}, text, count);
}

}  // namespace graphdbg::agent
