#include "server/graph/node_ids.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

namespace graphdbg::graph {

size_t NodeIdPages::Hash::operator()(
    const std::shared_ptr<NodeIdPage>& page) const {
  return absl::HashOf(page->nodes);
}

std::shared_ptr<NodeIdPage> NodeIdPages::Share(
    std::shared_ptr<NodeIdPage> page) {
  const auto [shared, added] = pages_.insert(std::move(page));
  std::shared_ptr<NodeIdPage> result = *shared;
  if (pages_.size() >= remove_at_) RemoveUnused();
  return result;
}

void NodeIdPages::RemoveUnused() {
  absl::erase_if(pages_,
                 [](const auto& page) { return page.use_count() == 1; });
  remove_at_ = std::max(2 * pages_.size(), remove_at_);
}

NodeIds::NodeIds(const NodeIds& other)
    : pages_(other.pages_), size_(other.size_) {
  for (std::shared_ptr<NodeIdPage>& page : pages_) {
    if (page == nullptr || page->count == NodeIdPage::kSize) continue;
    page = std::make_shared<NodeIdPage>(*page);
  }
}

void NodeIds::Add(uint32_t id, NodeIndex node, NodeIdPages* shared) {
  const size_t number = (id - 1) / NodeIdPage::kSize;
  if (number >= pages_.size()) pages_.resize(number + 1);
  std::shared_ptr<NodeIdPage>& page = pages_[number];
  if (page == nullptr) {
    page = std::make_shared<NodeIdPage>();
    page->nodes.fill(kNoNode);
  }
  NodeIndex& place = page->nodes[(id - 1) % NodeIdPage::kSize];
  if (place != kNoNode) return;
  place = node;
  ++size_;
  if (++page->count == NodeIdPage::kSize && shared != nullptr) {
    page = shared->Share(std::move(page));
  }
}

}  // namespace graphdbg::graph
