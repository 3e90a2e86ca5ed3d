#include "agent/core/undecided_infinities.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::agent {
namespace {

using conditions::Category;

// More are not kept waiting.
constexpr size_t kMaxHits = 1000;

bool IsForward(Category category) {
  return category != Category::kGradient && category != Category::kOptimizer;
}

std::optional<Statistics> StatisticsOf(Devices* devices,
                                       const graphdbg_tensor& tensor,
                                       const ExecutionPoint& point) {
  const TensorView view = ViewOf(tensor);
  const TensorAccess access(devices, tensor, point.in_progress);
  conditions::TensorMeasurements measurements(&view, nullptr, point.step);
  measurements.set_backend(access.backend());
  if (!access.ok() ||
      !measurements.Measure({/*statistics=*/true, /*previous=*/false})) {
    return std::nullopt;
  }
  return measurements.statistics();
}

bool Overwrites(const Execution& execution, const graphdbg_tensor& input) {
  if (!execution.has(GRAPHDBG_IN_PLACE)) return false;
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    if (SharesMemory(input, execution.outputs[i])) return true;
  }
  return false;
}

}  // namespace

// The effect of an execution on its inputs.
struct UndecidedInfinities::Outcome {
  // Some output shows whether infinities were passed on.
  bool known = false;
  bool has_nan = false;
  // The largest of `shares`.
  double share = 0;
  // The share of infinities, by slot.
  std::vector<double> shares;
};

UndecidedInfinities::Outcome UndecidedInfinities::Measure(
    const Execution& execution, const ExecutionPoint& point,
    const std::vector<std::optional<Statistics>>* measured) const {
  Outcome outcome;
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    outcome.shares.push_back(0);
    const graphdbg_tensor& output = execution.outputs[i];
    if (output.dtype == GRAPHDBG_BOOL) continue;
    const std::optional<Statistics> statistics =
        measured != nullptr ? (*measured)[i]
                            : StatisticsOf(devices_, output, point);
    if (!statistics) continue;
    outcome.known = true;
    outcome.has_nan |= statistics->nan_count > 0;
    outcome.shares.back() = statistics->inf_share();
    outcome.share = std::max(outcome.share, outcome.shares.back());
  }
  return outcome;
}

bool UndecidedInfinities::ReadsValues(uint32_t node) const {
  const std::string full = nodes_->InfoOf(node).op_type;
  // "aten::zeros_like".
  const size_t space = full.rfind("::");
  const std::string type =
      space == std::string::npos ? full : full.substr(space + 2);
  return !absl::EndsWith(type, "_like") && !absl::StartsWith(type, "new_");
}

UndecidedInfinities::Reading UndecidedInfinities::Read(
    const Execution& execution, const ExecutionPoint& point, bool measured) {
  Reading reading;
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    const graphdbg_input& input = execution.inputs[i];
    if (storages_.count(input.tensor.storage_id) == 0) continue;
    std::optional<Statistics> statistics;
    const bool overwritten = Overwrites(execution, input.tensor);
    if (!overwritten && !measured) {
      statistics = StatisticsOf(devices_, input.tensor, point);
    }
    // Infinities of unknown origin in the same memory are those of a carrier
    // that the program refers to through another view.
    const bool others =
        input.tensor.storage_id != 0 &&
        (overwritten || (statistics && statistics->inf_count() > 0));
    double share = 0;
    for (auto& [number, entry] : entries_) {
      for (Carrier& carrier : entry.carriers) {
        if (carrier.storage != input.tensor.storage_id) continue;
        const bool same =
            carrier.node == input.node && carrier.slot == input.slot;
        if (!same && !others) continue;
        reading.carriers.push_back(&carrier);
        reading.entries.insert(number);
        share = std::max(share, carrier.share);
      }
    }
    if (!statistics) reading.share += share;
  }
  return reading;
}

std::set<uint64_t> UndecidedInfinities::UnreadResults() const {
  std::set<uint64_t> unread;
  for (const auto& [number, entry] : entries_) {
    for (const Carrier& carrier : entry.carriers) {
      if (carrier.forward && !carrier.read) unread.insert(number);
    }
  }
  return unread;
}

std::set<uint64_t> UndecidedInfinities::MadeBy(uint32_t node) const {
  std::set<uint64_t> made;
  for (const auto& [number, entry] : entries_) {
    for (const Carrier& carrier : entry.carriers) {
      if (node != 0 && carrier.node == node) made.insert(number);
    }
  }
  return made;
}

void UndecidedInfinities::Stand(const std::set<uint64_t>& entries,
                                Findings* findings) {
  std::vector<v1::Hit> hits;
  for (uint64_t number : entries) {
    const auto it = entries_.find(number);
    for (UndecidedHit& undecided : it->second.hits) {
      findings->AddStop(undecided.hit.watchpoint(), undecided.pause);
      hits.push_back(std::move(undecided.hit));
    }
    hits_ -= it->second.hits.size();
    entries_.erase(it);
  }
  // They happened before those of the current execution.
  findings->hits.insert(findings->hits.begin(),
                        std::make_move_iterator(hits.begin()),
                        std::make_move_iterator(hits.end()));
  Reindex();
}

void UndecidedInfinities::Reindex() {
  storages_.clear();
  for (const auto& [number, entry] : entries_) {
    for (const Carrier& carrier : entry.carriers) {
      storages_.insert(carrier.storage);
    }
  }
  any_.store(!entries_.empty(), std::memory_order_relaxed);
}

void UndecidedInfinities::Extend(const Execution& execution,
                                 const Outcome& outcome, bool forward,
                                 Findings* findings, Entry* entry) {
  hits_ += findings->undecided.size();
  std::move(findings->undecided.begin(), findings->undecided.end(),
            std::back_inserter(entry->hits));
  findings->undecided.clear();
  for (uint32_t slot = 0; slot < outcome.shares.size(); ++slot) {
    if (outcome.shares[slot] == 0) continue;
    const uint64_t storage = execution.outputs[slot].storage_id;
    storages_.insert(storage);
    entry->carriers.push_back(
        {execution.node, slot, storage, outcome.shares[slot], forward});
  }
  any_.store(true, std::memory_order_relaxed);
}

bool UndecidedInfinities::PassesOn(const Execution& execution,
                                   const ExecutionPoint& point, bool measured,
                                   double share, const Reading& reading) const {
  if (execution.has(GRAPHDBG_MOVES_VALUES)) return true;
  double share_of_inputs = reading.share;
  for (size_t i = 0; i < execution.inputs.size() && !measured; ++i) {
    const graphdbg_tensor& tensor = execution.inputs[i].tensor;
    if (Overwrites(execution, tensor)) continue;
    const auto statistics = StatisticsOf(devices_, tensor, point);
    if (statistics) share_of_inputs += statistics->inf_share();
  }
  return share <= share_of_inputs;
}

void UndecidedInfinities::Executed(
    const Execution& execution, const ExecutionPoint& point,
    const std::vector<std::optional<Statistics>>* measured,
    Findings* findings) {
  const NodeTable::Info info = nodes_->InfoOf(execution.node);
  const Category category = info.category;
  const bool forward = IsForward(category);
  execution.inputs.Describe();
  MutexLock lock(&mu_);
  if (!forward && any()) {
    Stand(UnreadResults(), findings);
    StandAfterGradient(execution, point, measured, info.forward_node, findings);
  }
  const Reading reading = any() && ReadsValues(execution.node)
                              ? Read(execution, point, measured != nullptr)
                              : Reading();
  if (reading.entries.empty() && findings->undecided.empty()) return;
  const Outcome outcome = Measure(execution, point, measured);
  if (outcome.known) {
    for (Carrier* carrier : reading.carriers) carrier->read = true;
  }
  if (reading.entries.empty()) {
    Extend(execution, outcome, forward, findings, &entries_[next_++]);
  } else if (outcome.has_nan ||
             (outcome.share > 0 &&
              (category == Category::kOptimizer ||
               !PassesOn(execution, point, measured != nullptr, outcome.share,
                         reading)))) {
    Stand(reading.entries, findings);
    StandAtOnce(findings);
  } else if (outcome.share > 0) {
    // If one remains a hit, so do the others.
    const uint64_t first = Merge(reading.entries);
    Extend(execution, outcome, forward, findings, &entries_[first]);
  }
  if (hits_ > kMaxHits) Stand({entries_.begin()->first}, findings);
}

void UndecidedInfinities::StandAfterGradient(
    const Execution& execution, const ExecutionPoint& point,
    const std::vector<std::optional<Statistics>>* measured, uint32_t forward,
    Findings* findings) {
  const std::set<uint64_t> made = MadeBy(forward);
  if (made.empty()) return;
  const Outcome outcome = Measure(execution, point, measured);
  if (!outcome.has_nan && outcome.share == 0) return;
  Stand(made, findings);
  StandAtOnce(findings);
}

void UndecidedInfinities::StandAtOnce(Findings* findings) {
  for (UndecidedHit& undecided : findings->undecided) {
    findings->AddStop(undecided.hit.watchpoint(), undecided.pause);
    findings->hits.push_back(std::move(undecided.hit));
  }
  findings->undecided.clear();
}

uint64_t UndecidedInfinities::Merge(const std::set<uint64_t>& numbers) {
  const uint64_t first = *numbers.begin();
  Entry& into = entries_[first];
  for (uint64_t number : numbers) {
    if (number == first) continue;
    Entry& from = entries_[number];
    std::move(from.hits.begin(), from.hits.end(),
              std::back_inserter(into.hits));
    into.carriers.insert(into.carriers.end(), from.carriers.begin(),
                         from.carriers.end());
    entries_.erase(number);
  }
  return first;
}

bool UndecidedInfinities::any_stops() {
  if (!any()) return false;
  MutexLock lock(&mu_);
  for (const auto& [number, entry] : entries_) {
    for (const UndecidedHit& undecided : entry.hits) {
      if (undecided.pause != v1::PAUSE_MODE_NONE) return true;
    }
  }
  return false;
}

void UndecidedInfinities::EndStep(Findings* findings) {
  if (!any()) return;
  MutexLock lock(&mu_);
  std::set<uint64_t> standing;
  for (auto& [number, entry] : entries_) {
    const bool absorbed =
        std::all_of(entry.carriers.begin(), entry.carriers.end(),
                    [](const Carrier& carrier) { return carrier.read; });
    if (!absorbed) {
      standing.insert(number);
      continue;
    }
    for (UndecidedHit& undecided : entry.hits) {
      undecided.hit.set_absorbed(true);
      findings->hits.push_back(std::move(undecided.hit));
    }
  }
  Stand(standing, findings);
  entries_.clear();
  hits_ = 0;
  Reindex();
}

}  // namespace graphdbg::agent
