#include "server/runs/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::recorded {
namespace {

using runs::Record;

constexpr double kScale = 16;
constexpr double kFloat64 = 0x1p-53;
constexpr double kFloat32 = 0x1p-24;
// Ops that multiply two tensors and sum, by a part of their names.
constexpr const char* kContractions[] = {
    "mm",     "matmul",    "linear", "conv", "dot", "mv",
    "einsum", "attention", "lstm",   "gru",  "rnn"};
// Half the distance from 1 to the next number; at least that of float64, since
// statistics are sums in it.
double RoundoffOfType(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E5m2:
      return 0x1p-3;
    case DType::kFloat8E4m3fn:
      return 0x1p-4;
    case DType::kBfloat16:
      return 0x1p-8;
    case DType::kFloat16:
      return 0x1p-11;
    case DType::kFloat32:
    case DType::kComplex64:
      return kFloat32;
    default:
      return kFloat64;
  }
}

double Elements(const std::vector<int64_t>& shape) {
  double count = 1;
  for (const int64_t size : shape) {
    count *= static_cast<double>(std::max<int64_t>(size, 0));
  }
  return count;
}

const model::Output* FindOutput(const ComparedNode& node, uint32_t slot) {
  for (const model::Output& each : node.outputs) {
    if (each.slot == slot) return &each;
  }
  return nullptr;
}

}  // namespace

double Reductions::Of(uint32_t node, uint32_t slot) {
  const uint64_t key = TensorOf(node, slot);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  double found = Behind(node, slot, 0);
  if (const auto gradients = updates_.gradients_of.find(node);
      gradients != updates_.gradients_of.end()) {
    for (const uint32_t each : gradients->second) {
      found = std::max(found, Behind(each, 0, 0));
    }
  }
  known_[key] = found;
  return found;
}

double Reductions::Behind(uint32_t id, uint32_t slot, size_t steps) {
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) return 1;
  const uint64_t key = TensorOf(id, slot);
  const auto known = behind_[steps].find(key);
  if (known != behind_[steps].end()) return known->second;
  double largest = By(node->second, slot);
  if (steps < kStepsBack && largest <= 1) {
    for (const ComparedNode::Input& each : node->second.inputs) {
      largest = std::max(largest, Behind(each.node, each.slot, steps + 1));
    }
  }
  behind_[steps][key] = largest;
  return largest;
}

// How many elements the op itself sums.
double Reductions::By(const ComparedNode& node, uint32_t slot) const {
  const model::Output* const output = FindOutput(node, slot);
  if (node.inputs.empty() || output == nullptr) return 1;
  std::vector<double> inputs;
  for (const ComparedNode::Input& each : node.inputs) {
    inputs.push_back(SizeOf(each.node, each.slot));
  }
  std::sort(inputs.rbegin(), inputs.rend());
  const double result = std::max(1.0, Elements(output->type.shape));
  const std::string type = absl::AsciiStrToLower(node.op_type);
  const bool contracts = std::any_of(
      std::begin(kContractions), std::end(kContractions),
      [&](const char* part) { return absl::StrContains(type, part); });
  if (contracts && inputs.size() > 1) {
    // Of (m, n) times (n, k): m n * n k / (m k) = n^2.
    return std::max(
        {1.0, inputs[0] / result, std::sqrt(inputs[0] * inputs[1] / result)});
  }
  if (absl::StrContains(type, "softmax")) {
    const std::vector<int64_t>& shape = output->type.shape;
    return shape.empty()
               ? 1
               : static_cast<double>(std::max<int64_t>(1, shape.back()));
  }
  // The smallest result of a normalization is its mean.
  double smallest = result;
  for (const model::Output& each : node.outputs) {
    smallest = std::min(smallest, Elements(each.type.shape));
  }
  return std::max(1.0, inputs[0] / std::max(1.0, smallest));
}

double Reductions::SizeOf(uint32_t id, uint32_t slot) const {
  const auto node = nodes_.find(id);
  const model::Output* const output =
      node == nodes_.end() ? nullptr : FindOutput(node->second, slot);
  return output == nullptr ? 1 : Elements(output->type.shape);
}

DerivedTolerances::DerivedTolerances(
    const ComparedNodes& here, const ComparedNodes& there,
    const std::vector<std::pair<uint32_t, uint32_t>>& pairs)
    : here_nodes_(here),
      here_updates_(FindUpdates(here)),
      there_updates_(FindUpdates(there)),
      noisy_(here, here_updates_),
      here_(here, here_updates_),
      there_(there, there_updates_) {
  for (const auto& [node, other] : pairs) {
    for (const model::Output& each : here.at(node).outputs) {
      const model::Output* const same = FindOutput(there.at(other), each.slot);
      if (same == nullptr || same->type.dtype == each.type.dtype) continue;
      least_ = std::max({least_, RoundoffOfType(each.type.dtype),
                         RoundoffOfType(same->type.dtype)});
    }
  }
}

void DerivedTolerances::Begin(std::span<const Matched> matched,
                              uint64_t steps) {
  noisy_.Begin();
  scale_ = kScale * std::sqrt(static_cast<double>(steps));
  largest_gradient_ = largest_weight_ = 0;
  for (const Matched& each : matched) {
    const TensorKind kind = KindOf(each.here->node);
    const double value = each.here->statistics.abs_max;
    if (kind < TensorKind::kOfParameter || !std::isfinite(value)) continue;
    double& largest =
        kind == TensorKind::kWeight ? largest_weight_ : largest_gradient_;
    largest = std::max(largest, value);
  }
  noise_.clear();
  for (const Matched& each : matched) {
    const uint32_t node = each.here->node;
    if (KindOf(node) != TensorKind::kOfParameter) continue;
    const double size = std::fmax(each.here->statistics.abs_max,
                                  each.there->statistics.abs_max);
    const double error =
        RelativeOf(*each.here, *each.there) * largest_gradient_;
    if (!(size > 0 && size <= error)) continue;
    noise_.insert(node);
    moved_.insert(here_updates_.parameter_of.at(node));
  }
}

Allowance DerivedTolerances::Of(const Record& here, const Record& there) {
  Allowance allowance;
  allowance.relative = RelativeOf(here, there);
  const TensorKind kind = KindOf(here.node);
  if (kind != TensorKind::kOther) {
    allowance.of_elements = scale_ * RoundoffOf(here, there) * LargestOf(kind);
  }
  if (IsMovedByNoise(here.node)) {
    allowance.of_elements = std::numeric_limits<double>::infinity();
  }
  noisy_.Widen(here, there, allowance);
  return allowance;
}

DerivedTolerances::TensorKind DerivedTolerances::KindOf(uint32_t node) const {
  if (here_updates_.parameter_of.contains(node)) {
    return TensorKind::kOfParameter;
  }
  const auto found = here_nodes_.find(node);
  if (found == here_nodes_.end()) return TensorKind::kOther;
  switch (found->second.category) {
    case model::Category::kGradient:
      return TensorKind::kGradient;
    case model::Category::kWeight:
      return TensorKind::kWeight;
    default:
      return TensorKind::kOther;
  }
}

double DerivedTolerances::RoundoffOf(const Record& here,
                                     const Record& there) const {
  const double own = std::max(RoundoffOfType(DTypeFromNumber(here.dtype)),
                              RoundoffOfType(DTypeFromNumber(there.dtype)));
  return own <= kFloat64 ? own : std::max(own, least_);
}

double DerivedTolerances::RelativeOf(const Record& here, const Record& there) {
  const double result = RoundoffOf(here, there);
  const double reduced = std::max(here_.Of(here.node, here.slot),
                                  there_.Of(there.node, there.slot));
  // Statistics are sums of float64 over all elements.
  const double measured =
      kScale * kFloat64 * std::sqrt(static_cast<double>(here.statistics.count));
  return scale_ * (result + std::min(result, kFloat32) * std::sqrt(reduced)) +
         measured;
}

bool DerivedTolerances::IsMovedByNoise(uint32_t node) const {
  if (moved_.contains(node)) return true;
  const auto gradients = here_updates_.gradients_of.find(node);
  return gradients != here_updates_.gradients_of.end() &&
         std::all_of(gradients->second.begin(), gradients->second.end(),
                     [this](uint32_t each) { return noise_.contains(each); });
}

}  // namespace graphdbg::recorded
