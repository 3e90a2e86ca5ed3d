// Checks a condition over the records of a run.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "agent/conditions/tensor_measurements.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/runs/check.h"
#include "server/runs/recording.h"
#include "server/runs/stored_values.h"

namespace graphdbg::recorded {
namespace {

using conditions::Outcome;
using runs::Kind;
using runs::Record;

// Records that are read at once: as many as stay in the processor's cache.
constexpr uint64_t kChunk = 512;

// Copies of what a check reads of one rank, so that the run can be read and
// followed meanwhile.
struct CheckedRank {
  uint32_t rank = 0;
  RankLog log;
  TensorFiles tensors;
  StepIndex index;
  // Those of the index that are checked.
  std::vector<StepEntry> steps;
  std::vector<CheckedNode> nodes;
  // By the process's id, which are dense: places in `nodes` plus one, 0 for
  // nodes that are not checked.
  std::vector<uint32_t> places;

  void Add(uint32_t id, CheckedNode node) {
    if (id >= places.size()) places.resize(id + 1);
    nodes.push_back(std::move(node));
    places[id] = static_cast<uint32_t>(nodes.size());
  }
  // Null if the node is not checked.
  const CheckedNode* Find(uint32_t id) const {
    if (id >= places.size() || places[id] == 0) return nullptr;
    return &nodes[places[id] - 1];
  }
};

// The execution of an op of which a record is.
struct Execution {
  TensorKey key;
  uint16_t iteration;
  uint16_t pass;
  uint8_t mode;

  bool operator==(const Execution&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const Execution& e) {
    return H::combine(std::move(h), e.key, e.iteration, e.pass, e.mode);
  }
};

Execution ExecutionOf(const Record& record) {
  return {KeyOf(record), record.iteration, record.pass, record.mode};
}

struct Value {
  StoredTensor tensor;
  std::string data;

  TensorView view() const {
    const auto& shape = tensor.type.shape;
    return {tensor.type.dtype, data.data(), shape.size(), shape.data(),
            nullptr};
  }
};

std::optional<Value> ReadValue(const TensorFiles::Found& found) {
  const StoredTensor& tensor = found.tensor;
  if (tensor.bytes > kMaxMeasuredBytes || ItemSize(tensor.type.dtype) == 0) {
    return std::nullopt;
  }
  auto data = ReadSlice(found.file, tensor, WholeSlice(tensor.type.shape));
  if (!data.ok()) return std::nullopt;
  return Value{tensor, *std::move(data)};
}

// The values that were saved at two consecutive steps.
class SavedValues {
 public:
  explicit SavedValues(CheckedRank& rank) : rank_(rank) {}

  // The values of an execution, or of its counterpart in another step.
  std::optional<Value> Read(const Execution& execution, uint64_t step,
                            const std::string& name) {
    const Saved& saved = SavedAt(step);
    if (saved.empty()) {
      // The records are gone, of which the file's header keeps enough.
      const auto found = rank_.tensors.Find(step, name);
      if (!found.ok() || !*found) return std::nullopt;
      return ReadValue(**found);
    }
    const auto record = saved.find(execution);
    if (record == saved.end()) return std::nullopt;
    const auto found = rank_.tensors.FindRecorded(record->second);
    return found.ok() ? ReadValue(*found) : std::nullopt;
  }

 private:
  using Saved = absl::flat_hash_map<Execution, Record>;

  const Saved& SavedAt(uint64_t step) {
    const auto known = steps_.find(step);
    if (known != steps_.end()) return known->second;
    if (steps_.size() > 1) steps_.erase(steps_.begin());
    Saved& saved = steps_[step];
    // Some records follow in the next step: values are written by and by.
    const auto entries = rank_.index.entries();
    for (size_t at = rank_.index.LowerBound(step);
         at < entries.size() && entries[at].step <= step + 1; ++at) {
      for (const Record& record : ReadRecords(rank_.log, {&entries[at], 1})) {
        if (record.known_kind() == Kind::kTensor && record.step == step) {
          saved[ExecutionOf(record)] = record;
        }
      }
    }
    return saved;
  }

  CheckedRank& rank_;
  std::map<uint64_t, Saved> steps_;
};

// Checks one rank, on one thread.
class RankTask {
 public:
  RankTask(Check& check, CheckedRank& rank)
      : check_(check), rank_(rank), saved_(rank) {}

  void Run() {
    for (const StepEntry& step : rank_.steps) {
      if (check_.cancelled()) return;
      if (check_.predicate().needs().previous) {
        CheckWithChanges(step);
      } else {
        CheckStep(step);
      }
      check_.StepDone();
    }
  }

 private:
  void CheckStep(const StepEntry& step) {
    for (uint64_t at = 0; at < step.count; at += kChunk) {
      records_.resize(std::min(kChunk, step.count - at));
      rank_.log.Read(step.first + at, records_);
      for (const Record& record : records_) CheckRecord(record, nullptr);
    }
  }

  void CheckWithChanges(const StepEntry& step) {
    const auto records = ReadRecords(rank_.log, {&step, 1});
    absl::flat_hash_map<Execution, const Record*> changes;
    for (const Record& record : records) {
      if (record.known_kind() == Kind::kChange) {
        changes[ExecutionOf(record)] = &record;
      }
    }
    for (const Record& record : records) {
      const auto change = changes.find(ExecutionOf(record));
      CheckRecord(record, change == changes.end() ? nullptr : change->second);
    }
  }

  void CheckRecord(const Record& record, const Record* change) {
    // Empty tensors never match.
    if (record.known_kind() != Kind::kStatistics ||
        record.statistics.count == 0 ||
        !check_.ChecksType(DTypeFromNumber(record.dtype))) {
      return;
    }
    const CheckedNode* const node = rank_.Find(record.node);
    if (node == nullptr) return;
    const conditions::Predicate& predicate = check_.predicate();
    if (predicate.needs_values()) return CheckValues(record, *node);
    if (predicate.uses_overflow_flag()) {
      check_.NotRecorded();
      return;
    }
    Statistics statistics = KernelStatisticsOf(record.statistics);
    // Live, intentional infinities match neither.
    if ((record.flags & runs::kFlagIntentionalInfinities) != 0 &&
        predicate.matches_non_finite()) {
      statistics.count -= std::min(statistics.count, statistics.inf_count());
      statistics.pos_inf_count = 0;
      statistics.neg_inf_count = 0;
    }
    PairStatistics pair;
    if (change != nullptr) pair = PairStatisticsOf(change->change);
    conditions::TensorMeasurements measurements(
        statistics, change == nullptr ? nullptr : &pair, record.step);
    if (change != nullptr) {
      measurements.set_changed_count(change->change.changed_count);
    }
    const bool light = (record.flags & runs::kFlagLight) != 0;
    const Outcome outcome = predicate.Test(&measurements);
    if (outcome == Outcome::kMatched) {
      conditions::Actual actual;
      predicate.Test(&measurements, &actual);
      Add(record, *node, std::move(actual), model::Evidence::kStatistics);
    } else if (outcome == Outcome::kNoPrevious ||
               (light && predicate.needs().statistics)) {
      check_.NotRecorded();
    }
  }

  // The condition compares elements.
  void CheckValues(const Record& record, const CheckedNode& node) {
    const std::string name = absl::StrCat(node.name, ":", record.slot);
    const Execution execution = ExecutionOf(record);
    const auto now = saved_.Read(execution, record.step, name);
    std::optional<Value> previous;
    const bool compares = check_.predicate().needs().previous;
    if (compares && record.step > 0) {
      previous = saved_.Read(execution, record.step - 1, name);
    }
    if (!now || (compares && !previous)) {
      check_.NotRecorded();
      return;
    }
    const TensorView now_view = now->view();
    const TensorView previous_view = previous ? previous->view() : TensorView();
    conditions::TensorMeasurements measurements(
        &now_view, previous ? &previous_view : nullptr, record.step);
    if (record.statistics.grad_scale > 0) {
      measurements.set_scale(record.statistics.grad_scale);
    }
    conditions::Actual actual;
    if (!measurements.Measure(check_.predicate().needs()) ||
        check_.predicate().Test(&measurements, &actual) != Outcome::kMatched) {
      return;
    }
    Add(record, node, std::move(actual), model::Evidence::kTensor);
  }

  void Add(const Record& record, const CheckedNode& node,
           conditions::Actual actual, model::Evidence evidence) {
    model::CheckHit found;
    found.evidence = evidence;
    model::Hit& hit = found.hit;
    hit.condition = check_.condition();
    hit.rank = rank_.rank;
    hit.step = record.step;
    hit.node = node.name;
    hit.op_type = node.op_type;
    hit.slot = record.slot;
    hit.order = record.exec_order;
    hit.actual = std::move(actual);
    hit.statistics = StatisticsOf(record.statistics);
    hit.type.dtype = DTypeFromNumber(record.dtype);
    for (const model::Output& output : node.outputs) {
      if (output.slot == record.slot) hit.type = output.type;
    }
    hit.source = node.source;
    check_.AddHit(std::move(found));
  }

  Check& check_;
  CheckedRank& rank_;
  SavedValues saved_;
  std::vector<Record> records_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Check>> Recording::PrepareCheck(
    const model::CheckSpec& spec) {
  Load();
  ASSIGN_OR_RETURN(const CheckedNodes nodes, CheckedNodes::Find(graph_, spec));
  for (const uint32_t rank : spec.ranks) {
    RETURN_IF_ERROR(FindRank(rank).status());
  }
  RETURN_IF_ERROR(RefusePacked(spec));
  for (const auto& [number, rank] : ranks_) {
    if (!Wants(spec, number)) continue;
    auto checked = std::make_shared<CheckedRank>(CheckedRank{
        number, rank->log(), rank->tensors(), rank->index(), {}, {}, {}});
    for (const StepEntry& entry : rank->index().entries()) {
      if (entry.step < spec.from || entry.step > spec.to) continue;
      checked->steps.push_back(entry);
    }
    rank->ids().nodes.ForEach([&](uint32_t id, graph::NodeIndex index) {
      if (nodes.Covers(index)) checked->Add(id, CheckedNodeOf(graph_, index));
    });
    nodes.check()->AddTask(checked->steps.size(), [checked](Check& check) {
      RankTask(check, *checked).Run();
    });
  }
  return nodes.check();
}

}  // namespace graphdbg::recorded
