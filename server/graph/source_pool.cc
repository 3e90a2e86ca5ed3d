#include "server/graph/source_pool.h"

namespace graphdbg::graph {

SourcePool::Key SourcePool::KeyOf(const model::SourceLine& line) {
  return {line.file, line.line, line.function, line.text, line.user};
}

FrameIndex SourcePool::Add(const model::SourceLine& line) {
  auto it = index_.find(KeyOf(line));
  if (it != index_.end()) return it->second;
  const FrameIndex index = static_cast<FrameIndex>(frames_.size());
  frames_.push_back(line);
  index_.emplace(KeyOf(frames_.back()), index);
  bytes_ += BytesOf(line);
  return index;
}

uint64_t SourcePool::GrowthFor(const model::SourceLine& line) const {
  return index_.contains(KeyOf(line)) ? 0 : BytesOf(line);
}

uint64_t SourcePool::BytesOf(const model::SourceLine& line) {
  return sizeof(model::SourceLine) + sizeof(Key) + line.file.size() +
         line.function.size() + line.text.size();
}

}  // namespace graphdbg::graph
