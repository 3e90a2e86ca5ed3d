#include "server/runs/noisy_updates.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "server/runs/compared_side.h"

namespace graphdbg::recorded {
namespace {

using runs::Record;

// What an element may move in the first step, as a part of the largest one.
constexpr double kFirstMove = 0x1p-4;
constexpr double kSlack = 16;
// How many ops behind a bias are looked at.
constexpr int kDepth = 16;

bool IsBias(const ComparedNode& node) {
  return node.kind == model::NodeKind::kParameter && !node.outputs.empty() &&
         node.outputs[0].type.shape.size() == 1;
}

bool IsOfOptimizer(const ComparedNodes& nodes, uint32_t id) {
  return nodes.at(id).category == model::Category::kOptimizer;
}

double Distance(const std::array<double, 3>& a,
                const std::array<double, 3>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

}  // namespace

NoisyUpdates::NoisyUpdates(const ComparedNodes& nodes, const Updates& updates) {
  Readers readers;
  std::vector<uint32_t> biases;
  for (const auto& [id, node] : nodes) {
    absl::flat_hash_set<uint32_t> read;
    for (const ComparedNode::Input& each : node.inputs) {
      if (read.insert(each.node).second) readers[each.node].push_back(id);
    }
    if (IsBias(node)) biases.push_back(id);
  }
  std::sort(biases.begin(), biases.end());
  for (const uint32_t bias : biases) {
    const auto found = readers.find(bias);
    if (found == readers.end()) continue;
    const bool adapts = std::any_of(
        found->second.begin(), found->second.end(),
        [&](uint32_t each) { return updates.adaptive.contains(each); });
    if (adapts) Add(bias, nodes, readers);
  }
}

void NoisyUpdates::Add(uint32_t bias, const ComparedNodes& nodes,
                       const Readers& readers) {
  biases_.emplace(TensorOf(bias, 0), bias);
  const auto& shape = nodes.at(bias).outputs[0].type.shape;
  for (const uint32_t writer : readers.at(bias)) {
    if (!IsOfOptimizer(nodes, writer)) continue;
    for (const model::Output& each : nodes.at(writer).outputs) {
      if (each.type.shape != shape) continue;
      biases_.emplace(TensorOf(writer, each.slot), bias);
    }
  }
  absl::flat_hash_set<uint32_t> seen = {bias};
  std::deque<std::pair<uint32_t, int>> waiting = {{bias, 0}};
  while (!waiting.empty()) {
    const auto [node, depth] = waiting.front();
    waiting.pop_front();
    const auto found = readers.find(node);
    if (found == readers.end() || depth >= kDepth) continue;
    for (const uint32_t reader : found->second) {
      if (IsOfOptimizer(nodes, reader) || !seen.insert(reader).second) continue;
      behind_[reader].push_back(bias);
      waiting.emplace_back(reader, depth + 1);
    }
  }
}

void NoisyUpdates::Begin() {
  for (auto& [bias, spread] : spreads_) spread.before_step = spread.so_far;
}

void NoisyUpdates::Widen(const Record& here, const Record& there,
                         Allowance& allowance) {
  const uint64_t tensor = TensorOf(here.node, here.slot);
  if (const auto bias = biases_.find(tensor); bias != biases_.end()) {
    allowance.of_elements =
        std::max(allowance.of_elements, 2 * Movement(tensor, here, there));
    double& spread = spreads_[bias->second].so_far;
    spread = std::max(spread, RelativeDifference(here, there));
  }
  const auto behind = behind_.find(here.node);
  if (behind == behind_.end()) return;
  for (const uint32_t bias : behind->second) {
    const auto spread = spreads_.find(bias);
    if (spread == spreads_.end()) continue;
    // Ops read the bias before it is updated.
    allowance.relative =
        std::max(allowance.relative, kSlack * spread->second.before_step);
  }
}

double NoisyUpdates::Movement(uint64_t tensor, const Record& here,
                              const Record& there) {
  const Extremes ours = ExtremesOf(here);
  const Extremes theirs = ExtremesOf(there);
  const auto [found, is_first] = moved_.try_emplace(tensor);
  Moved& moved = found->second;
  if (is_first) {
    moved.sum = kFirstMove * std::max(ours[2], theirs[2]);
  } else {
    moved.sum +=
        std::min(Distance(ours, moved.here), Distance(theirs, moved.there));
  }
  moved.here = ours;
  moved.there = theirs;
  return moved.sum;
}

NoisyUpdates::Extremes NoisyUpdates::ExtremesOf(const Record& record) {
  Extremes extremes = {record.statistics.min, record.statistics.max,
                       record.statistics.abs_max};
  for (double& each : extremes) {
    if (std::isnan(each)) each = 0;
  }
  return extremes;
}

}  // namespace graphdbg::recorded
