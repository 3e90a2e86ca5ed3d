// Statistics of a rank's tensors, and the steps that have their values.
#include <algorithm>

#include "server/runs/mindspore/dump_rank.h"
#include "server/runs/stored_values.h"

namespace graphdbg::dumps {
namespace {

constexpr size_t kMaxMeasured = 200'000;
// Steps that are looked at, in each direction, for the nearest one.
constexpr int kMaxLooks = 64;

}  // namespace

recorded::TensorFiles::Nearest DumpRank::FindNearest(uint64_t step,
                                                     TensorKey key) {
  const auto has = [&](uint64_t other) {
    const auto found = Find(other, key);
    return found.ok() && found->has_value();
  };
  recorded::TensorFiles::Nearest nearest;
  const auto from = steps_.lower_bound(step);
  auto after = from;
  for (int i = 0; i < kMaxLooks && after != steps_.end(); ++i, ++after) {
    if (after->first == step || !has(after->first)) continue;
    nearest.after = after->first;
    break;
  }
  auto before = from;
  for (int i = 0; i < kMaxLooks && before != steps_.begin(); ++i) {
    --before;
    if (!has(before->first)) continue;
    nearest.before = before->first;
    break;
  }
  return nearest;
}

std::vector<uint64_t> DumpRank::SavedSteps(TensorKey key) {
  std::vector<uint64_t> saved;
  for (const auto& [step, info] : steps_) {
    const auto found = Find(step, key);
    if (found.ok() && *found) saved.push_back(step);
  }
  return saved;
}

std::optional<model::Statistics> DumpRank::Statistics(uint64_t step,
                                                      TensorKey key,
                                                      uint64_t& budget) {
  const auto known = measured_.find({step, key});
  if (known != measured_.end()) return known->second;
  const auto found = Find(step, key);
  if (found.ok() && *found && (*found)->tensor.bytes <= budget) {
    budget -= (*found)->tensor.bytes;
    const auto measured =
        recorded::Measure(**found, /*want_quantiles=*/false, memory_);
    if (measured.ok() && *measured) {
      if (measured_.size() >= kMaxMeasured) measured_.clear();
      measured_.emplace(std::pair(step, key), (*measured)->statistics);
      return (*measured)->statistics;
    }
  }
  const auto row = FindRow(step, key);
  return row == nullptr ? std::nullopt : std::optional(row->statistics);
}

}  // namespace graphdbg::dumps
