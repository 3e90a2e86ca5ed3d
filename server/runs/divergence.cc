#include "server/runs/divergence.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "server/runs/call_differences.h"
#include "server/runs/compared_side.h"
#include "server/runs/measures_apart.h"
#include "server/runs/tolerance.h"

namespace graphdbg::recorded {
namespace {

using model::DivergenceMethod;
using runs::Record;

// Differences behind the first one.
constexpr size_t kNext = 20;
// How far behind an op recorded inputs are looked for.
constexpr int kMaxDepth = 16;
constexpr size_t kMaxInputs = 64;

// How much further apart than in the calibration two values may be, which
// samples their spread once.
constexpr double kSlack = 8;

// The relative tolerances that a run gives which counts as equal.
class Calibration {
 public:
  Calibration(const ComparedRank& here, const ComparedRank& equal,
              const SharedNames& shared, NodeNumbers& numbers)
      : equal_rank_(equal),
        names_(here, equal, kNone),
        equal_(
            equal,
            [this, &shared](uint32_t node) { return Name(shared, node); },
            numbers) {}

  // Those of the records of a step here, in their order.
  std::vector<double> Read(uint64_t step, ComparedSide& here) {
    equal_.Read(step, equal_rank_.index.Find(step),
                DivergenceMethod::kStatistics);
    std::vector<double> spread(here.records().size());
    for (const Matched& each : Match(here, equal_)) {
      spread[each.place] = RelativeDifference(*each.here, *each.there);
    }
    for (size_t i = 0; i < spread.size(); ++i) {
      double& largest = spreads_[here.executions()[i].tensor];
      largest = std::max(largest, spread[i]);
      spread[i] = kSlack * largest;
    }
    return spread;
  }

 private:
  std::string Name(const SharedNames& shared, uint32_t node) const {
    return shared.Translate(names_.OfThere(node));
  }

  inline static const std::vector<model::Renaming> kNone;

  const ComparedRank& equal_rank_;
  // Between this side and the calibration.
  const SharedNames names_;
  ComparedSide equal_;
  // By the number of a tensor: its largest spread so far.
  absl::flat_hash_map<uint64_t, double> spreads_;
};

class Comparison {
 public:
  Comparison(const ComparedRank& here, const ComparedRank& there,
             const ComparedRank* calibration,
             const model::DivergenceQuery& query)
      : here_rank_(here),
        there_rank_(there),
        query_(query),
        names_(here, there, query.renamings),
        here_(
            here, [this](uint32_t node) { return names_.OfHere(node); },
            numbers_),
        there_(
            there, [this](uint32_t node) { return names_.OfThere(node); },
            numbers_) {
    if (calibration != nullptr) {
      calibration_.emplace(here, *calibration, names_, numbers_);
    }
    if (!query.rtol) derived_.emplace(here.nodes, there.nodes, names_.Pairs());
  }

  absl::StatusOr<model::Divergence> Run(const std::atomic<bool>& cancelled) {
    const auto entries = here_rank_.index.entries();
    for (size_t at = 0; at < entries.size() && found_.size() <= kNext;) {
      if (cancelled) return absl::CancelledError("the server stops");
      const uint64_t step = entries[at].step;
      const auto ours = here_rank_.index.Find(step);
      CompareStep(step, ours, there_rank_.index.Find(step));
      at += ours.size();
    }
    return Result();
  }

 private:
  void CompareStep(uint64_t step, std::span<const StepEntry> ours,
                   std::span<const StepEntry> theirs) {
    if (theirs.empty()) return;
    here_.Read(step, ours, query_.method);
    there_.Read(step, theirs, query_.method);
    if (here_.records().empty() || there_.records().empty()) return;
    ++result_.steps;
    here_.AddSeen();
    there_.AddSeen();
    const std::vector<Matched> matched = Match(here_, there_);
    std::vector<double> calibrated;
    if (query_.method == DivergenceMethod::kStatistics) {
      if (calibration_) calibrated = calibration_->Read(step, here_);
      if (derived_) derived_->Begin(matched, result_.steps);
    }
    for (const Matched& each : matched) {
      if (found_.size() > kNext) return;
      const double least = calibrated.empty() ? 0 : calibrated[each.place];
      Compare(*each.here, *each.there, least);
    }
  }

  // `least` is the least relative tolerance.
  void Compare(const Record& here, const Record& there, double least) {
    std::optional<Apart> apart;
    if (query_.method == DivergenceMethod::kDigest) {
      apart = DigestsApart(here, there);
    } else {
      Allowance allowance;
      if (derived_) allowance = derived_->Of(here, there);
      if (query_.rtol) allowance.relative = *query_.rtol;
      allowance.relative = std::max(allowance.relative, least);
      allowance.absolute = query_.atol;
      apart = MeasuresApart(here, there, allowance);
    }
    if (apart) Add(here, there, *apart);
    newest_[TensorOf(here.node, here.slot)] = {there.node, apart};
  }

  void Add(const Record& here, const Record& there, const Apart& apart) {
    model::Difference difference;
    difference.step = here.step;
    if (here.mode <= static_cast<uint8_t>(runs::Mode::kPredict)) {
      difference.mode = static_cast<model::RunMode>(here.mode);
    }
    difference.pass = here.pass;
    difference.node = here_.NodeName(here.node);
    difference.there_node = there_.NodeName(there.node);
    difference.slot = here.slot;
    difference.exec_order = here.exec_order;
    difference.measure = apart.measure;
    difference.here = apart.here;
    difference.there = apart.there;
    absl::flat_hash_set<uint64_t> seen;
    AddInputs(here.node, 0, seen, difference.inputs);
    difference.calls = CallDifferences(
        {here_rank_.nodes, here.node,
         [this](uint32_t node) { return names_.OfHere(node); }},
        {there_rank_.nodes, there.node,
         [this](uint32_t node) { return names_.OfThere(node); }});
    found_.push_back(std::move(difference));
  }

  // Adds what an op reads, and instead of what was not recorded, what that was
  // computed from.
  void AddInputs(uint32_t node, int depth, absl::flat_hash_set<uint64_t>& seen,
                 std::vector<model::ComparedInput>& inputs) const {
    const ComparedNode* const reader = here_.FindNode(node);
    if (reader == nullptr) return;
    for (const ComparedNode::Input& input : reader->inputs) {
      const uint64_t key = TensorOf(input.node, input.slot);
      if (!seen.insert(key).second) continue;
      const ComparedNode* const producer = here_.FindNode(input.node);
      if (!newest_.contains(key) && depth < kMaxDepth &&
          seen.size() < kMaxInputs && !producer->inputs.empty()) {
        AddInputs(input.node, depth + 1, seen, inputs);
      } else {
        inputs.push_back(Describe(input));
      }
    }
  }

  model::ComparedInput Describe(const ComparedNode::Input& input) const {
    model::ComparedInput described;
    described.node = here_.NodeName(input.node);
    described.slot = input.slot;
    const auto newest = newest_.find(TensorOf(input.node, input.slot));
    if (newest == newest_.end()) return described;
    const auto& [there_node, apart] = newest->second;
    described.there_node = there_.NodeName(there_node);
    described.state = model::InputState::kEqual;
    if (!apart) return described;
    described.state = model::InputState::kDiffers;
    described.measure = apart->measure;
    described.here = apart->here;
    described.there = apart->there;
    return described;
  }

  model::Divergence Result() {
    ListNames(here_, there_, result_.only_here, result_.only_here_count);
    ListNames(there_, here_, result_.only_there, result_.only_there_count);
    result_.matched = here_.seen().size() - result_.only_here_count;
    if (!found_.empty()) {
      result_.first = found_.front();
      result_.next.assign(found_.begin() + 1, found_.end());
    }
    result_.renamings = names_.alignment().renamings;
    result_.renamings.resize(
        std::min(result_.renamings.size(), model::Divergence::kMaxNames));
    return std::move(result_);
  }

  static void ListNames(const ComparedSide& side, const ComparedSide& other,
                        std::vector<std::string>& names, uint64_t& count) {
    absl::flat_hash_set<uint64_t> others;
    for (const auto& [own, tensor] : other.seen()) others.insert(tensor);
    for (const auto& [own, tensor] : side.seen()) {
      if (!others.contains(tensor)) names.push_back(side.TensorName(own));
    }
    count = names.size();
    std::sort(names.begin(), names.end());
    names.resize(std::min(names.size(), model::Divergence::kMaxNames));
  }

  const ComparedRank& here_rank_;
  const ComparedRank& there_rank_;
  const model::DivergenceQuery& query_;
  const SharedNames names_;
  NodeNumbers numbers_;
  ComparedSide here_;
  ComparedSide there_;
  struct Newest {
    uint32_t there_node = 0;
    std::optional<Apart> apart;
  };
  // What was compared last, by the tensor here.
  absl::flat_hash_map<uint64_t, Newest> newest_;
  std::optional<Calibration> calibration_;
  std::optional<DerivedTolerances> derived_;
  std::vector<model::Difference> found_;
  model::Divergence result_;
};

}  // namespace

absl::StatusOr<model::Divergence> FindDivergence(
    const ComparedRank& here, const ComparedRank& there,
    const ComparedRank* calibration, const model::DivergenceQuery& query,
    const std::atomic<bool>& cancelled) {
  return Comparison(here, there, calibration, query).Run(cancelled);
}

}  // namespace graphdbg::recorded
