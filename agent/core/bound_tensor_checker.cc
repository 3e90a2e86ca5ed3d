#include "agent/core/bound_tensor_checker.h"

#include <algorithm>
#include <map>
#include <utility>

#include "agent/core/statistics_recorder.h"
#include "agent/kernels/cpu/cpu_statistics.h"

namespace graphdbg::agent {
namespace {

// How many tensors one launch measures: fewer than the results that a device
// can have outstanding.
constexpr size_t kBatchSize = 64;

bool NeedStatisticsOnly(const WatchSnapshot::Set& set) {
  return std::all_of(set.watchpoints.begin(), set.watchpoints.end(),
                     [](const Watchpoint* watchpoint) {
                       return watchpoint->predicate.uses_statistics_only();
                     });
}

}  // namespace

void BoundTensorChecker::RecordDevices() const {
  BoundTensor bound;
  for (const auto& [node, handle] : parts_.bindings->All()) {
    if (ResolveBound(*parts_.host, handle, &bound)) {
      parts_.devices->Record(bound.tensor);
    }
  }
}

bool BoundTensorChecker::ComputeStatistics(const graphdbg_tensor& tensor,
                                           Statistics* statistics) const {
  const TensorAccess access(parts_.devices, tensor, /*running=*/true);
  if (!access.ok()) return false;
  const TensorView view = ViewOf(tensor);
  return access.backend() != nullptr
             ? access.backend()->ComputeStatistics(view, statistics)
             : cpu::ComputeStatistics(view, statistics);
}

void BoundTensorChecker::MarkIntentionalInfinities() const {
  BoundTensor bound;
  for (const auto& [node, handle] : parts_.bindings->All()) {
    const graphdbg_node_kind kind = parts_.nodes->InfoOf(node).kind;
    if (kind != GRAPHDBG_BUFFER && kind != GRAPHDBG_CONSTANT) continue;
    Statistics statistics;
    if (!ResolveBound(*parts_.host, handle, &bound) ||
        !ComputeStatistics(bound.tensor, &statistics)) {
      continue;
    }
    if (statistics.inf_count() > 0 && statistics.nan_count == 0) {
      parts_.nodes->Facts(node)->intentional_infinities_in_step =
          NodeFacts::kAlways;
    }
  }
}

void BoundTensorChecker::Check(const WatchSnapshot& watch, uint64_t step,
                               Findings* findings) const {
  if (!watch.tests_values()) return;
  const bool records =
      findings->recorder != nullptr && findings->recorder->recording();
  BoundTensor bound;
  std::vector<BoundNode> on_devices;
  for (const auto& [node, handle] : parts_.bindings->All()) {
    const WatchSnapshot::Set* const set = watch.On(node);
    const NodeFacts& facts = *parts_.nodes->Facts(node);
    if (set == nullptr || facts.is_input) continue;
    // Only the adapter can have tested what did not execute in this step.
    const bool tested =
        set->only_nonfinite && facts.WasFinite(step) && facts.last_step != step;
    if (tested && !records) continue;
    if (!ResolveBound(*parts_.host, handle, &bound)) continue;
    if (bound.tensor.device != GRAPHDBG_CPU) {
      on_devices.push_back({node, std::make_unique<BoundTensor>()});
      ResolveBound(*parts_.host, handle, on_devices.back().value.get());
      continue;
    }
    CheckOne(watch, node, bound, tested, step, findings);
  }
  CheckOnDevices(watch, std::move(on_devices), step, findings);
}

void BoundTensorChecker::CheckOne(const WatchSnapshot& watch, uint32_t node,
                                  const BoundTensor& bound, bool tested,
                                  uint64_t step, Findings* findings) const {
  const bool records =
      findings->recorder != nullptr && findings->recorder->recording();
  if (!records &&
      parts_.checker->IsPlainlyFine(watch, node, bound.tensor, step)) {
    if (findings->recorder != nullptr) findings->recorder->LeaveOut();
    return;
  }
  const auto previous = parts_.previous->Before(step, node, 0);
  graphdbg_tensor before;
  if (previous != nullptr) before = previous->tensor();
  conditions::ScanResult known;
  known.all_finite = tested;
  parts_.checker->CheckBound(
      watch, node, bound.tensor, previous != nullptr ? &before : nullptr,
      {step, parts_.counter->NextOrder()}, findings, known);
}

void BoundTensorChecker::CheckOnDevices(const WatchSnapshot& watch,
                                        std::vector<BoundNode> nodes,
                                        uint64_t step,
                                        Findings* findings) const {
  using Place = std::pair<runtime::Accelerator*, runtime::Stream>;
  std::map<Place, std::vector<std::vector<BoundNode*>>> batches;
  for (BoundNode& node : nodes) {
    Place place;
    if (HasValues(node.value->tensor) &&
        NeedStatisticsOnly(*watch.On(node.node))) {
      place.first = parts_.devices->OnStream(node.value->tensor, &place.second);
    }
    if (place.first == nullptr) {
      CheckOne(watch, node.node, *node.value, /*tested=*/false, step, findings);
      continue;
    }
    auto& members = batches[place];
    if (members.empty() || members.back().size() == kBatchSize) {
      members.emplace_back();
    }
    members.back().push_back(&node);
  }
  for (const auto& [place, batches_there] : batches) {
    for (const auto& members : batches_there) {
      CheckBatch(watch, place.first, place.second, members, step, findings);
    }
  }
}

void BoundTensorChecker::CheckBatch(const WatchSnapshot& watch,
                                    runtime::Accelerator* device,
                                    runtime::Stream stream,
                                    const std::vector<BoundNode*>& members,
                                    uint64_t step, Findings* findings) const {
  std::vector<TensorView> views;
  for (const BoundNode* node : members) {
    views.push_back(ViewOf(node->value->tensor));
  }
  std::vector<runtime::Ticket> tickets;
  if (!device->Launch(views, stream, &tickets).ok()) {
    for (const BoundNode* node : members) {
      CheckOne(watch, node->node, *node->value, /*tested=*/false, step,
               findings);
    }
    return;
  }
  const bool arrived = device->Synchronize(stream).ok();
  for (size_t i = 0; i < members.size(); ++i) {
    // Tickets are taken even after a failure, so that they can be reused.
    const Statistics statistics = device->Take(tickets[i]);
    if (!arrived) continue;
    parts_.checker->CheckBoundMeasured(
        watch, members[i]->node, members[i]->value->tensor, statistics,
        {step, parts_.counter->NextOrder()}, findings);
  }
}

}  // namespace graphdbg::agent
