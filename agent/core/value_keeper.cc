#include "agent/core/value_keeper.h"

#include "agent/core/heap.h"

namespace graphdbg::agent {

ValueKeeper::ValueKeeper(const Parts& parts, int64_t budget_bytes,
                         bool partial_memory)
    : parts_(parts),
      partial_memory_(partial_memory),
      budget_bytes_(budget_bytes),
      kept_(parts.host, budget_bytes),
      previous_bound_(/*generations=*/1, budget_bytes / 2, parts.devices),
      previous_outputs_(/*generations=*/2, budget_bytes / 4, parts.devices) {}

void ValueKeeper::SetDemand(const Demand& demand) {
  mode_ = demand.mode;
  if (demand.mode != Mode::kNothing || demand.previous) {
    KeepFreedMemory(budget_bytes_);
  }
  // Writes may have gone unseen until now.
  if (demand.sees_writes && !sees_writes_.exchange(true)) seen_.Clear();
  sees_writes_ = demand.sees_writes;
  catching_ = demand.catching;
}

void ValueKeeper::RecordWrites(const Execution& execution) {
  if (!execution.has(GRAPHDBG_IN_PLACE)) return;
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    seen_.RecordWrite(execution.outputs[i].storage_id);
  }
}

void ValueKeeper::Keep(const WatchSnapshot& watch, const Execution& execution,
                       uint64_t step, bool hit) {
  KeepPreviousOutputs(watch, execution, step);
  KeepOutputs(execution, step, hit);
}

void ValueKeeper::KeepPreviousOutputs(const WatchSnapshot& watch,
                                      const Execution& execution,
                                      uint64_t step) {
  if (!watch.needs_previous()) return;
  const WatchSnapshot::Set* set = watch.On(execution.node);
  if (set == nullptr || !set->needs.previous) return;
  SeenValues* const seen = this->seen();
  for (uint32_t slot = 0; slot < execution.outputs.size(); ++slot) {
    const graphdbg_tensor& output = execution.outputs[slot];
    const bool is_remembered =
        seen != nullptr && SeenValues::IsWorthwhile(output);
    std::shared_ptr<const PreviousValue> same;
    if (is_remembered && IsView(execution, output)) {
      same = seen->Find(output).copy;
    }
    const auto copy =
        previous_outputs_.Keep(execution.node, slot, output, step, same);
    if (is_remembered && same == nullptr) seen->PutCopy(output, copy);
  }
}

void ValueKeeper::KeepOutputs(const Execution& execution, uint64_t step,
                              bool hit) {
  const Mode mode = mode_.load(std::memory_order_relaxed);
  const NodeFacts& facts = *parts_.nodes->Facts(execution.node);
  const bool requested = facts.has(kRequested);
  if (mode == Mode::kNothing && !hit && !requested && !catching_) return;
  const bool wrote = execution.has(GRAPHDBG_IN_PLACE);
  if (hit || mode == Mode::kEverything || requested || facts.has(kWatched) ||
      facts.has(kAwaited)) {
    kept_.KeepOutputs(execution.node, execution.outputs, wrote, step);
  } else if (wrote) {
    for (size_t i = 0; i < execution.outputs.size(); ++i) {
      kept_.RecordWrite(execution.outputs[i].storage_id);
    }
  }
  if (hit) KeepInputs(execution, step);
}

void ValueKeeper::KeepInputs(const Execution& execution, uint64_t step) {
  for (size_t i = 0; i < execution.inputs.size(); ++i) {
    const graphdbg_input& input = execution.inputs[i];
    if (parts_.nodes->Facts(input.node) == nullptr ||
        parts_.bindings->Find(input.node) != nullptr ||
        kept_.Has(input.node, input.slot)) {
      continue;
    }
    kept_.Keep(input.node, input.slot, input.tensor, step);
  }
}

void ValueKeeper::KeepBound(const WatchSnapshot& watch, uint64_t step,
                            bool stepping) {
  if (stepping || watch.needs_previous()) {
    BoundTensor bound;
    for (const auto& [node, handle] : parts_.bindings->All()) {
      const WatchSnapshot::Set* set = watch.On(node);
      const bool stepped =
          stepping &&
          (!partial_memory_ || parts_.nodes->Facts(node)->has(kRequested));
      const bool compared = set != nullptr && set->needs.previous;
      if ((stepped || compared) && ResolveBound(*parts_.host, handle, &bound)) {
        previous_bound_.Keep(node, 0, bound.tensor, step);
      }
    }
  }
  previous_bound_.DropOlderThan(step);
  if (!watch.needs_previous()) previous_outputs_.Clear();
  kept_.Reserve(previous_bound_.bytes() + previous_outputs_.bytes());
}

void ValueKeeper::KeepMissedOutputs(
    const std::shared_ptr<const WatchSnapshot>& watch, uint64_t step) {
  if (watch == copied_for_) return;
  copied_for_ = watch;
  if (!watch->needs_previous()) return;
  for (const KeptTensors::Kept& kept : kept_.All()) {
    const WatchSnapshot::Set* set = watch->On(kept.node);
    if (set == nullptr || !set->needs.previous || kept.tensor->step() != step ||
        kept_.Overwritten(*kept.tensor)) {
      continue;
    }
    const auto newest =
        previous_outputs_.Before(step + 1, kept.node, kept.slot);
    if (newest != nullptr && newest->step() == step) continue;
    previous_outputs_.Keep(kept.node, kept.slot, kept.tensor->tensor(), step);
  }
}

void ValueKeeper::EndStep(const std::shared_ptr<const WatchSnapshot>& watch,
                          uint64_t step, bool stepping) {
  KeepMissedOutputs(watch, step);
  KeepBound(*watch, step, stepping);
  if (catching_) {
    kept_.ClearExcept(parts_.requested->to_catch());
  } else {
    kept_.Clear();
  }
  seen_.Clear();
}

void ValueKeeper::Clear() {
  kept_.Clear();
  previous_bound_.Clear();
  previous_outputs_.Clear();
}

}  // namespace graphdbg::agent
