// Checks a condition over the values of a dump.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "agent/conditions/tensor_measurements.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/runs/check.h"
#include "server/runs/mindspore/dump_run.h"
#include "server/runs/step_records.h"
#include "server/runs/stored_values.h"

namespace graphdbg::dumps {
namespace {

using conditions::Outcome;
using recorded::Check;
using recorded::CheckedNode;

struct CheckedOp {
  CheckedNode node;
  uint64_t order = 0;
};

// A rank's data as a check reads it, so that the run can be read meanwhile.
struct CheckedDump {
  DumpRank rank;
  std::vector<uint64_t> steps;
  // By the rank's id.
  absl::flat_hash_map<uint32_t, CheckedOp> ops;
};

struct Value {
  recorded::StoredTensor tensor;
  std::string data;
  MemoryBudget::Reservation reserved;

  TensorView view() const {
    const auto& shape = tensor.type.shape;
    return {tensor.type.dtype, data.data(), shape.size(), shape.data(),
            nullptr};
  }
};

// Checks one rank, on one thread.
class Task {
 public:
  Task(Check& check, CheckedDump& dump,
       const std::shared_ptr<MemoryBudget>& memory)
      : check_(check), dump_(dump), memory_(memory) {}

  void Run() {
    for (const uint64_t step : dump_.steps) {
      for (const TensorKey& key : dump_.rank.Dumped(step)) {
        if (check_.cancelled()) return;
        const auto op = dump_.ops.find(key.node);
        if (op != dump_.ops.end()) CheckTensor(step, key, op->second);
      }
      check_.StepDone();
    }
  }

 private:
  std::optional<Value> Read(uint64_t step, TensorKey key) {
    const auto found = dump_.rank.Find(step, key);
    if (!found.ok() || !*found) return std::nullopt;
    const recorded::StoredTensor& tensor = (*found)->tensor;
    if (tensor.bytes > recorded::kMaxMeasuredBytes ||
        ItemSize(tensor.type.dtype) == 0) {
      return std::nullopt;
    }
    Value value{tensor, {}, {}};
    if (memory_ != nullptr) {
      auto reserved = memory_->Reserve(MemoryAccount::kTensors, tensor.bytes);
      if (!reserved.ok()) return std::nullopt;
      value.reserved = *std::move(reserved);
    }
    auto data = recorded::ReadSlice((*found)->file, tensor,
                                    WholeSlice(tensor.type.shape));
    if (!data.ok()) return std::nullopt;
    value.data = *std::move(data);
    return value;
  }

  void CheckTensor(uint64_t step, TensorKey key, const CheckedOp& op) {
    if (check_.predicate().uses_overflow_flag()) return check_.NotRecorded();
    const auto now = Read(step, key);
    if (!now) return CheckRow(step, key, op);
    const bool compares = check_.predicate().needs().previous;
    const auto previous =
        compares && step > 1 ? Read(step - 1, key) : std::nullopt;
    if (compares && !previous) return check_.NotRecorded();
    const TensorView now_view = now->view();
    const TensorView previous_view = previous ? previous->view() : TensorView();
    conditions::TensorMeasurements measurements(
        &now_view, previous ? &previous_view : nullptr, step);
    if (!measurements.Measure(check_.predicate().needs())) {
      return check_.NotRecorded();
    }
    conditions::Actual actual;
    if (now_view.element_count() == 0 ||
        check_.predicate().Test(&measurements, &actual) != Outcome::kMatched) {
      return;
    }
    AddHit(step, key, op, now->tensor.type, std::move(actual),
           recorded::FromKernel(measurements.statistics()),
           model::Evidence::kTensor);
  }

  // There are no values, or they cannot be read.
  void CheckRow(uint64_t step, TensorKey key, const CheckedOp& op) {
    const conditions::Predicate& predicate = check_.predicate();
    const auto row = dump_.rank.FindRow(step, key);
    if (row == nullptr || predicate.needs_values() ||
        predicate.needs().previous) {
      return check_.NotRecorded();
    }
    if (row->statistics.count == 0) return;
    conditions::TensorMeasurements measurements(
        recorded::KernelStatisticsOf(recorded::FieldsOf(row->statistics)),
        nullptr, step);
    conditions::Actual actual;
    if (predicate.Test(&measurements, &actual) == Outcome::kMatched) {
      AddHit(step, key, op, row->type, std::move(actual), row->statistics,
             model::Evidence::kStatistics);
    } else if (predicate.needs().statistics) {
      // Some measures are not part of a dump.
      check_.NotRecorded();
    }
  }

  void AddHit(uint64_t step, TensorKey key, const CheckedOp& op,
              const model::TensorType& type, conditions::Actual actual,
              model::Statistics statistics, model::Evidence evidence) {
    model::CheckHit found;
    found.evidence = evidence;
    model::Hit& hit = found.hit;
    hit.condition = check_.condition();
    hit.rank = dump_.rank.number();
    hit.step = step;
    hit.node = op.node.name;
    hit.op_type = op.node.op_type;
    hit.slot = key.slot;
    hit.order = op.order;
    hit.actual = std::move(actual);
    hit.statistics = std::move(statistics);
    hit.type = type;
    hit.source = op.node.source;
    check_.AddHit(std::move(found));
  }

  Check& check_;
  CheckedDump& dump_;
  const std::shared_ptr<MemoryBudget>& memory_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Check>> DumpRun::PrepareCheck(
    const model::CheckSpec& spec) {
  Load();
  ASSIGN_OR_RETURN(const recorded::CheckedNodes nodes,
                   recorded::CheckedNodes::Find(graph_, spec));
  for (const uint32_t rank : spec.ranks) {
    RETURN_IF_ERROR(FindRank(rank).status());
  }
  for (const auto& [number, rank] : ranks_) {
    if (!recorded::Wants(spec, number)) continue;
    auto dump = std::make_shared<CheckedDump>(CheckedDump{*rank, {}, {}});
    for (const auto& [step, info] : rank->steps()) {
      if (step >= spec.from && step <= spec.to) dump->steps.push_back(step);
    }
    rank->graph().ids().nodes.ForEach([&](uint32_t id, graph::NodeIndex index) {
      if (!nodes.Covers(index)) return;
      dump->ops.emplace(id, CheckedOp{recorded::CheckedNodeOf(graph_, index),
                                      graph_.node(index).order});
    });
    const uint64_t steps = dump->steps.size();
    nodes.check()->AddTask(steps, [dump, memory = memory_](Check& check) {
      Task(check, *dump, memory).Run();
    });
  }
  return nodes.check();
}

}  // namespace graphdbg::dumps
