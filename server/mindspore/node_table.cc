#include "server/mindspore/node_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/wire/utf8.h"

namespace graphdbg::mindspore {
namespace {

constexpr size_t kMaxNameBytes = 4'000;
constexpr size_t kMaxDepth = 64;

bool IsUtf8(const std::string& bytes) {
  return wire::ToValidUtf8(bytes, bytes.size()) == bytes;
}

// A valid full name: UTF-8, without empty segments, and not too deep.
std::string FullName(std::string_view name) {
  const std::string text = wire::ToValidUtf8(
      absl::string_view(name.data(), name.size()), kMaxNameBytes);
  std::vector<absl::string_view> segments =
      absl::StrSplit(text, '/', absl::SkipEmpty());
  if (segments.empty()) return "unnamed";
  if (segments.size() > kMaxDepth) {
    segments.erase(segments.begin() + kMaxDepth - 1, segments.end() - 1);
  }
  return absl::StrJoin(segments, "/");
}

}  // namespace

std::string NodeTable::GraphId(const std::string& graph) {
  auto it = std::find(graphs_.begin(), graphs_.end(), graph);
  if (it == graphs_.end()) it = graphs_.insert(it, graph);
  return it == graphs_.begin() ? std::string() : FullName(graph);
}

std::string NodeTable::FreeName(const std::string& graph,
                                std::string_view name) const {
  std::string free = FullName(name);
  if (by_name_.contains(free)) free = FullName(absl::StrCat(graph, "/", free));
  const std::string base = free;
  for (int i = 1; by_name_.contains(free); ++i) {
    free = absl::StrCat(base, "_", i);
  }
  return free;
}

NodeEntry& NodeTable::Ensure(const std::string& graph,
                             const std::string& wire_name,
                             std::string_view name) {
  const std::string key = absl::StrCat(graph, std::string(1, '\0'), wire_name);
  auto [it, is_new] =
      by_key_.try_emplace(key, static_cast<uint32_t>(nodes_.size() + 1));
  if (!is_new) return nodes_[it->second - 1];
  NodeEntry& node = nodes_.emplace_back();
  node.id = it->second;
  node.name = FreeName(graph, name);
  node.wire_name = wire_name;
  node.has_utf8_name = IsUtf8(wire_name) && IsUtf8(graph);
  node.graph = graph;
  by_name_.emplace(node.name, node.id);
  by_wire_name_.try_emplace(wire_name, node.id);
  return node;
}

const NodeEntry* NodeTable::ById(uint32_t id) const {
  return id == 0 || id > nodes_.size() ? nullptr : &nodes_[id - 1];
}

const NodeEntry* NodeTable::ByName(std::string_view name) const {
  auto it = by_name_.find(absl::string_view(name.data(), name.size()));
  return it == by_name_.end() ? nullptr : ById(it->second);
}

const NodeEntry* NodeTable::ByWireName(std::string_view wire_name) const {
  auto it =
      by_wire_name_.find(absl::string_view(wire_name.data(), wire_name.size()));
  return it == by_wire_name_.end() ? nullptr : ById(it->second);
}

const NodeEntry& NodeTable::OwnerOf(const NodeEntry& node,
                                    uint32_t& slot) const {
  const NodeEntry* owner = &node;
  // Nested tuples result in chains of aliases. The limit protects against
  // cycles, which a malicious client could send.
  for (int i = 0; i < 16 && owner->alias_of != 0; ++i) {
    const NodeEntry* next = ById(owner->alias_of);
    if (next == nullptr) break;
    slot = owner->alias_slot;
    owner = next;
  }
  return *owner;
}

}  // namespace graphdbg::mindspore
