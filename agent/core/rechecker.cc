#include "agent/core/rechecker.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/execution.h"
#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

absl::Status NotPaused() {
  return wire::MakeError(absl::StatusCode::kFailedPrecondition, "invalid_state",
                         "the program is running");
}

// A tensor without values, which replaces one whose values have changed.
graphdbg_tensor NoTensor() {
  graphdbg_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  return tensor;
}

std::string Count(uint64_t count, absl::string_view one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

}  // namespace

// Carries out one command.
class Rechecker::Round {
 public:
  Round(const Parts& parts, std::shared_ptr<const WatchSnapshot> watch)
      : parts_(parts), watch_(std::move(watch)), step_(parts.gate->step()) {}

  absl::Status Run() {
    Collect();
    if (!WhilePaused([] {})) return NotPaused();
    for (const Outputs& outputs : outputs_) {
      if (!WhilePaused([&] { Check(outputs); })) return NotPaused();
    }
    for (const auto& [node, handle] : parts_.bindings->All()) {
      if (watch_->On(node) == nullptr) continue;
      const auto check = [&, node = node, handle = handle] {
        CheckBound(node, handle);
      };
      if (!WhilePaused(check)) return NotPaused();
    }
    CountGone();
    return absl::OkStatus();
  }

  std::string Line() const {
    std::string line =
        absl::StrCat("recheck: ", Count(tally_.checked, "tensor"), " checked, ",
                     Count(tally_.hits, "hit"));
    if (tally_.overwritten > 0) {
      absl::StrAppend(&line, "; ", Count(tally_.overwritten, "tensor"),
                      " skipped because the program overwrote ",
                      tally_.overwritten == 1 ? "it" : "them");
    }
    if (tally_.gone > 0) {
      absl::StrAppend(&line, "; values of ", Count(tally_.gone, "node"),
                      " are no longer kept");
    }
    return line;
  }

 private:
  // Groups the kept outputs of this step by node, in execution order.
  void Collect() {
    for (KeptTensors::Kept& kept : parts_.kept->All()) {
      if (kept.tensor->step() != step_) continue;
      const auto [it, is_new] = places_.emplace(kept.node, outputs_.size());
      if (is_new) outputs_.push_back({kept.node, {}});
      outputs_[it->second].kept.push_back(std::move(kept));
    }
  }

  // Calls `body` while the program cannot resume. Returns false if it has
  // resumed since the round began.
  template <class Body>
  bool WhilePaused(const Body& body) {
    const Gate::Hold hold = parts_.gate->HoldPaused();
    if (!hold.held()) return false;
    if (!pause_) pause_ = hold.pause();
    if (hold.pause() != *pause_) return false;
    body();
    return true;
  }

  void Check(const Outputs& outputs) {
    kept_inputs_.clear();
    bound_inputs_.clear();
    const NodeTable::LastExecution last =
        parts_.nodes->LastExecutionOf(outputs.node);
    if ((last.flags & GRAPHDBG_IN_PLACE) != 0) RecordWritten(outputs);
    const bool watched = watch_->On(outputs.node) != nullptr;
    std::vector<graphdbg_tensor> tensors;
    for (const KeptTensors::Kept& kept : outputs.kept) {
      if (tensors.size() <= kept.slot) {
        tensors.resize(kept.slot + 1, NoTensor());
      }
      if (parts_.kept->Overwritten(*kept.tensor)) {
        tally_.overwritten += watched ? 1 : 0;
        continue;
      }
      tensors[kept.slot] = kept.tensor->tensor();
      tally_.checked += watched ? 1 : 0;
    }
    // Nodes that are not watched are checked as well, because checks record
    // which infinities are intentional.
    const std::vector<graphdbg_input> inputs =
        watched ? InputsOf(last) : std::vector<graphdbg_input>();
    Execution execution;
    execution.node = outputs.node;
    execution.flags = last.flags;
    execution.inputs = Inputs(inputs.data(), inputs.size());
    execution.outputs = Tensors(tensors.data(), tensors.size());
    execution.grad_scale = parts_.nodes->Facts(outputs.node)->grad_scale.load();
    Findings findings;
    parts_.checker->CheckExecution(
        *watch_, execution, parts_.previous_outputs, /*seen=*/nullptr,
        {step_, last.order, /*in_progress=*/false}, &findings);
    Report(std::move(findings));
    last_order_ = std::max(last_order_, last.order);
  }

  void RecordWritten(const Outputs& outputs) {
    for (const KeptTensors::Kept& kept : outputs.kept) {
      if (kept.tensor->storage_id() != 0) {
        written_.insert(kept.tensor->storage_id());
      }
    }
  }

  std::vector<graphdbg_input> InputsOf(const NodeTable::LastExecution& last) {
    std::vector<graphdbg_input> inputs;
    for (const NodeTable::Endpoint& endpoint : last.inputs) {
      inputs.push_back({endpoint.node, endpoint.slot, InputAt(endpoint)});
    }
    return inputs;
  }

  graphdbg_tensor InputAt(const NodeTable::Endpoint& endpoint) {
    auto kept = parts_.kept->Find(endpoint.node, endpoint.slot);
    if (kept != nullptr) {
      if (kept->step() != step_ || parts_.kept->Overwritten(*kept)) {
        return NoTensor();
      }
      kept_inputs_.push_back(std::move(kept));
      return kept_inputs_.back()->tensor();
    }
    void* handle = parts_.bindings->Find(endpoint.node);
    if (handle == nullptr || endpoint.slot != 0) return NoTensor();
    bound_inputs_.emplace_back();
    BoundTensor* bound = &bound_inputs_.back();
    if (!ResolveBound(*parts_.host, handle, bound) ||
        written_.count(bound->tensor.storage_id) > 0) {
      return NoTensor();
    }
    return bound->tensor;
  }

  void CheckBound(uint32_t node, void* handle) {
    BoundTensor bound;
    if (!ResolveBound(*parts_.host, handle, &bound)) {
      ++tally_.gone;
      return;
    }
    const auto previous = parts_.previous_bound->Before(step_, node, 0);
    graphdbg_tensor before;
    if (previous != nullptr) before = previous->tensor();
    Findings findings;
    parts_.checker->CheckBound(
        *watch_, node, bound.tensor, previous != nullptr ? &before : nullptr,
        {step_, last_order_ + 1, /*in_progress=*/false}, &findings);
    ++tally_.checked;
    Report(std::move(findings));
  }

  void Report(Findings findings) {
    tally_.hits += findings.hits.size();
    if (!findings.empty()) parts_.report(std::move(findings));
  }

  // Counts the watched nodes that executed in this step without any value being
  // kept.
  void CountGone() {
    const uint32_t size = parts_.nodes->size();
    for (uint32_t node = 1; node <= size; ++node) {
      if (watch_->On(node) == nullptr || !parts_.nodes->executes(node))
        continue;
      const bool in_step = parts_.nodes->Facts(node)->last_step == step_;
      tally_.gone += in_step && places_.count(node) == 0 ? 1 : 0;
    }
  }

  const Parts& parts_;
  const std::shared_ptr<const WatchSnapshot> watch_;
  const uint64_t step_;
  std::optional<uint64_t> pause_;
  std::vector<Outputs> outputs_;
  // Indices in outputs_, by node.
  std::unordered_map<uint32_t, size_t> places_;
  // Storages that ops of this step have overwritten, up to the current node.
  std::set<uint64_t> written_;
  // Inputs of the current node, whose views point into these.
  std::vector<std::shared_ptr<const KeptTensor>> kept_inputs_;
  std::deque<BoundTensor> bound_inputs_;
  uint64_t last_order_ = 0;
  Tally tally_;
};

void Rechecker::Add(v1::Command command) {
  MutexLock lock(&mu_);
  commands_.push_back(std::move(command));
}

void Rechecker::DropAll() {
  MutexLock lock(&mu_);
  commands_.clear();
}

bool Rechecker::ServeOne() {
  v1::Command command;
  {
    MutexLock lock(&mu_);
    if (commands_.empty()) return false;
    command = std::move(commands_.front());
    commands_.pop_front();
  }
  parts_.outbox->PutCommandResult(command.id(), Serve(command));
  return true;
}

absl::Status Rechecker::Serve(const v1::Command& command) {
  const auto& ids = command.recheck().watchpoints();
  Round round(parts_, parts_.watch->SnapshotOf({ids.begin(), ids.end()}));
  const absl::Status status = round.Run();
  if (status.ok()) parts_.outbox->PutLog(v1::Log::LEVEL_INFO, round.Line());
  return status;
}

}  // namespace graphdbg::agent
