#include "server/runs/check.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "agent/conditions/tensor_measurements.h"
#include "agent/tensor/slice.h"
#include "proto/wire/status_macros.h"
#include "server/watch/watch_table.h"

namespace graphdbg::recorded {
namespace {

using conditions::Outcome;
using runs::Kind;
using runs::Record;

// Records that are read at once: as many as stay in the processor's cache.
constexpr uint64_t kChunk = 512;
// Larger values are not read for a check.
constexpr uint64_t kMaxValueBytes = uint64_t{256} << 20;

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

std::optional<Value> ReadValue(TensorFiles& files, uint64_t step,
                               const std::string& name) {
  const auto found = files.Find(step, name);
  if (!found.ok() || !*found) return std::nullopt;
  const StoredTensor& tensor = (*found)->tensor;
  if (tensor.bytes > kMaxValueBytes || ItemSize(tensor.type.dtype) == 0) {
    return std::nullopt;
  }
  auto data = ReadSlice((*found)->file, tensor, WholeSlice(tensor.type.shape));
  if (!data.ok()) return std::nullopt;
  return Value{tensor, *std::move(data)};
}

}  // namespace

// Checks one rank, on one thread.
class Check::RankTask {
 public:
  RankTask(Check& check, CheckedRank& rank) : check_(check), rank_(rank) {}

  void Run() {
    for (const StepEntry& step : rank_.steps) {
      if (check_.cancelled_) return;
      if (check_.predicate_.needs().previous) {
        CheckWithChanges(step);
      } else {
        CheckStep(step);
      }
      ++check_.done_;
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
        record.statistics.count == 0) {
      return;
    }
    const CheckedNode* const node = rank_.Find(record.node);
    if (node == nullptr) return;
    const conditions::Predicate& predicate = check_.predicate_;
    if (predicate.needs_values()) return CheckValues(record, *node);
    if (predicate.uses_overflow_flag()) {
      ++check_.not_recorded_;
      return;
    }
    Statistics statistics = KernelStatisticsOf(record.statistics);
    // Live, infinities that are meant match neither.
    if ((record.flags & runs::kFlagMeantInfinities) != 0 &&
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
      ++check_.not_recorded_;
    }
  }

  // The condition compares elements.
  void CheckValues(const Record& record, const CheckedNode& node) {
    const std::string name = absl::StrCat(node.name, ":", record.slot);
    const auto now = ReadValue(rank_.tensors, record.step, name);
    std::optional<Value> previous;
    const bool compares = check_.predicate_.needs().previous;
    if (compares && record.step > 0) {
      previous = ReadValue(rank_.tensors, record.step - 1, name);
    }
    if (!now || (compares && !previous)) {
      ++check_.not_recorded_;
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
    if (!measurements.Measure(check_.predicate_.needs()) ||
        check_.predicate_.Test(&measurements, &actual) != Outcome::kMatched) {
      return;
    }
    Add(record, node, std::move(actual), model::Evidence::kTensor);
  }

  void Add(const Record& record, const CheckedNode& node,
           conditions::Actual actual, model::Evidence evidence) {
    model::CheckHit found;
    found.evidence = evidence;
    model::Hit& hit = found.hit;
    hit.condition = check_.condition_;
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
  std::vector<Record> records_;
};

absl::StatusOr<std::shared_ptr<Check>> Check::Prepare(
    Recording& recording, const model::CheckSpec& spec) {
  recording.Load();
  const graph::GraphStore& graph = recording.graph();
  // Validates the watchpoint and finds its nodes, as for a job.
  watch::WatchTable table(graph);
  ASSIGN_OR_RETURN(const uint32_t id, table.Add(spec.watchpoint));
  const model::Condition& condition = spec.watchpoint.condition;
  ASSIGN_OR_RETURN(conditions::Predicate predicate,
                   conditions::Compile(condition.id, {condition.params,
                                                      condition.text_params}));
  for (const uint32_t rank : spec.ranks) {
    RETURN_IF_ERROR(recording.FindRank(rank).status());
  }
  std::shared_ptr<Check> check(
      new Check(std::move(predicate),
                std::make_shared<const model::Condition>(condition)));
  for (const auto& [number, rank] : recording.ranks()) {
    const bool wanted =
        spec.ranks.empty() || std::find(spec.ranks.begin(), spec.ranks.end(),
                                        number) != spec.ranks.end();
    if (!wanted) continue;
    CheckedRank checked{number, rank->log(), rank->tensors(), {}, {}, {}};
    for (const StepEntry& entry : rank->index().entries()) {
      if (entry.step < spec.from || entry.step > spec.to) continue;
      checked.steps.push_back(entry);
    }
    for (const auto& [process_id, index] : rank->ids().nodes) {
      if (!table.Covers(id, index)) continue;
      const graph::Node& node = graph.node(index);
      CheckedNode to{node.name, node.op_type, node.outputs, nullptr};
      if (const model::SourceLine* source = graph.SourceOf(index)) {
        to.source = std::make_shared<const model::SourceLine>(*source);
      }
      checked.Add(process_id, std::move(to));
    }
    check->total_ += checked.steps.size();
    check->ranks_.push_back(std::move(checked));
  }
  return check;
}

void Check::Start(boost::asio::any_io_executor executor) {
  running_ = ranks_.size();
  for (CheckedRank& rank : ranks_) {
    boost::asio::post(executor, [self = shared_from_this(), &rank] {
      RankTask(*self, rank).Run();
      --self->running_;
    });
  }
}

void Check::AddHit(model::CheckHit hit) {
  absl::MutexLock lock(&mu_);
  ++hit_count_;
  if (hits_.size() < kMaxHits) hits_.push_back(std::move(hit));
}

model::CheckReport Check::Report() const {
  model::CheckReport report;
  // Read first: what is added afterwards belongs to a later report.
  const bool running = running_ > 0;
  report.state = cancelled_ ? model::CheckState::kCancelled
                 : running  ? model::CheckState::kRunning
                            : model::CheckState::kDone;
  report.done = done_;
  report.total = total_;
  report.not_recorded = not_recorded_;
  {
    absl::MutexLock lock(&mu_);
    report.hits = hits_;
    report.hit_count = hit_count_;
  }
  std::sort(report.hits.begin(), report.hits.end(),
            [](const model::CheckHit& a, const model::CheckHit& b) {
              return std::tie(a.hit.step, a.hit.order, a.hit.rank) <
                     std::tie(b.hit.step, b.hit.order, b.hit.rank);
            });
  uint64_t id = 0;
  for (model::CheckHit& each : report.hits) each.hit.id = ++id;
  return report;
}

}  // namespace graphdbg::recorded
