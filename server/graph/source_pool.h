// Stores each distinct source line once. The stacks of a graph's nodes share
// most of their frames.
#ifndef SERVER_GRAPH_SOURCE_POOL_H_
#define SERVER_GRAPH_SOURCE_POOL_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "server/model/graph.h"

namespace graphdbg::graph {

using FrameIndex = uint32_t;

// Not thread safe. Only grows; the owner limits bytes().
class SourcePool {
 public:
  FrameIndex Add(const model::SourceLine& line);
  // The number of bytes by which Add would increase bytes().
  uint64_t GrowthFor(const model::SourceLine& line) const;
  const model::SourceLine& frame(FrameIndex i) const { return frames_[i]; }
  size_t size() const { return frames_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  // Views into `frames_`.
  using Key = std::tuple<std::string_view, uint32_t, std::string_view,
                         std::string_view, bool>;
  static Key KeyOf(const model::SourceLine& line);
  static uint64_t BytesOf(const model::SourceLine& line);

  std::deque<model::SourceLine> frames_;
  absl::flat_hash_map<Key, FrameIndex> index_;
  uint64_t bytes_ = 0;
};

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_SOURCE_POOL_H_
