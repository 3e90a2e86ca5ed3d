// The nodes of a job's graph by the ids that one agent uses for them.
//
// The ranks of a job mostly run the same program and use the same ids. These
// are stored in pages, and ranks share the pages that are equal and complete.
#ifndef SERVER_GRAPH_NODE_IDS_H_
#define SERVER_GRAPH_NODE_IDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace graphdbg::graph {

using NodeIndex = uint32_t;
inline constexpr NodeIndex kNoNode = std::numeric_limits<NodeIndex>::max();

// The nodes of consecutive ids.
struct NodeIdPage {
  static constexpr size_t kSize = 256;

  std::array<NodeIndex, kSize> nodes;
  // How many of them are known. A complete page never changes.
  uint32_t count = 0;
};

// The complete pages of a job's agents, each once.
class NodeIdPages {
 public:
  // Returns the page that is equal to this one, which is complete.
  std::shared_ptr<NodeIdPage> Share(std::shared_ptr<NodeIdPage> page);

  size_t size() const { return pages_.size(); }

 private:
  struct Hash {
    size_t operator()(const std::shared_ptr<NodeIdPage>& page) const;
  };
  struct Equal {
    bool operator()(const std::shared_ptr<NodeIdPage>& a,
                    const std::shared_ptr<NodeIdPage>& b) const {
      return a->nodes == b->nodes;
    }
  };
  void RemoveUnused();

  absl::flat_hash_set<std::shared_ptr<NodeIdPage>, Hash, Equal> pages_;
  // Unused pages are removed when there are this many.
  size_t remove_at_ = 64;
};

class NodeIds {
 public:
  // The largest id.
  static constexpr uint32_t kMaxId = 1 << 24;

  NodeIds() = default;
  // A copy shares the complete pages.
  NodeIds(const NodeIds& other);
  NodeIds& operator=(const NodeIds& other) { return *this = NodeIds(other); }
  NodeIds(NodeIds&&) = default;
  NodeIds& operator=(NodeIds&&) = default;

  // kNoNode if the id is unknown.
  NodeIndex Find(uint32_t id) const {
    // Ids begin with 1.
    const size_t page = (id - 1) / NodeIdPage::kSize;
    return page < pages_.size() && pages_[page] != nullptr
               ? pages_[page]->nodes[(id - 1) % NodeIdPage::kSize]
               : kNoNode;
  }

  // The id must be from 1 to kMaxId. A known one keeps its node. If `shared` is
  // not null, it receives the page if this completes it.
  void Add(uint32_t id, NodeIndex node, NodeIdPages* shared = nullptr);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Calls `visit` with each id, ascending, and its node.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (size_t page = 0; page < pages_.size(); ++page) {
      if (pages_[page] == nullptr) continue;
      for (size_t i = 0; i < NodeIdPage::kSize; ++i) {
        const NodeIndex node = pages_[page]->nodes[i];
        const size_t id = page * NodeIdPage::kSize + i + 1;
        if (node != kNoNode) visit(static_cast<uint32_t>(id), node);
      }
    }
  }

 private:
  // Null where no id is known.
  std::vector<std::shared_ptr<NodeIdPage>> pages_;
  size_t size_ = 0;
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_NODE_IDS_H_
