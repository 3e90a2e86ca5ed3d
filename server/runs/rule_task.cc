#include "server/runs/rule_task.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/model/enum_names.h"
#include "server/runs/rule_measures.h"

namespace graphdbg::recorded {
namespace {

using model::SeriesPart;
using runs::Kind;
using runs::Record;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kNanosecond = 1e-9;
constexpr uint32_t kAnyRank = UINT32_MAX;
constexpr uint8_t kAnyMode = UINT8_MAX;

// Identifies an execution of an op within a step and a rank.
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

// A step, or a pass within it.
struct Marks {
  uint64_t mode_step = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;

  double seconds() const {
    if (begin_ns == 0 || end_ns == 0 || end_ns < begin_ns) return kUnknown;
    return static_cast<double>(end_ns - begin_ns) * kNanosecond;
  }
};

// The first entries of those that belong to one step.
std::span<const StepEntry> FirstStep(std::span<const StepEntry> entries) {
  size_t count = 0;
  while (count < entries.size() && entries[count].step == entries[0].step) {
    ++count;
  }
  return entries.first(count);
}

}  // namespace

uint64_t RuleRank::steps() const {
  uint64_t count = 0;
  for (std::span<const StepEntry> rest = entries; !rest.empty(); ++count) {
    rest = rest.subspan(FirstStep(rest).size());
  }
  return count;
}

// The records of one step of one rank.
class RuleTask::StepOfRank {
 public:
  StepOfRank(const RuleRank& rank, std::span<const StepEntry> entries)
      : rank_(rank),
        step_(entries[0].step),
        records_(ReadRecords(rank.log, entries)) {
    for (const Record& record : records_) {
      // Values that were saved later belong to another step.
      if (record.step == step_) Add(record);
    }
    // A series is in order of step and pass.
    std::stable_sort(
        statistics_.begin(), statistics_.end(),
        [](const Record* a, const Record* b) { return a->pass < b->pass; });
  }

  uint32_t rank() const { return rank_.rank; }
  uint64_t step() const { return step_; }
  const std::vector<const Record*>& statistics() const { return statistics_; }
  // The keys are pass and mode.
  const std::map<std::pair<uint16_t, uint8_t>, Marks>& marks() const {
    return marks_;
  }

  graph::NodeIndex NodeOf(const Record& record) const {
    return record.node < rank_.nodes.size() ? rank_.nodes[record.node]
                                            : graph::kNoNode;
  }
  // 0 if it is not known.
  uint64_t ModeStepOf(const Record& record) const {
    auto found = marks_.find({record.pass, record.mode});
    // Records outside of passes belong to the step itself.
    if (found == marks_.end()) found = marks_.find({0, record.mode});
    return found == marks_.end() ? 0 : found->second.mode_step;
  }
  ObservedTensor Observed(const Record& record) const {
    return {record, Find(changes_, record), Find(units_, record),
            ModeStepOf(record)};
  }

 private:
  using Records = absl::flat_hash_map<Execution, const Record*>;

  void Add(const Record& record) {
    switch (record.known_kind()) {
      case Kind::kStatistics:
        statistics_.push_back(&record);
        break;
      case Kind::kChange:
        changes_[ExecutionOf(record)] = &record;
        break;
      case Kind::kUnits:
        AddUnits(record);
        break;
      case Kind::kBegin:
        MarksOf(record).begin_ns = record.mark.monotonic_ns;
        break;
      case Kind::kEnd:
        MarksOf(record).end_ns = record.mark.monotonic_ns;
        break;
      default:
        break;
    }
  }
  // Collections may count units in several ways; that with the greatest share
  // of idle ones counts.
  void AddUnits(const Record& record) {
    const Record*& kept = units_[ExecutionOf(record)];
    if (kept == nullptr || IdleShare(record) > IdleShare(*kept)) kept = &record;
  }
  static double IdleShare(const Record& record) {
    return record.units.units == 0
               ? 0
               : static_cast<double>(record.units.idle_units) /
                     record.units.units;
  }
  Marks& MarksOf(const Record& record) {
    Marks& marks = marks_[{record.pass, record.mode}];
    if (marks.mode_step == 0) marks.mode_step = record.mark.mode_step;
    return marks;
  }
  static const Record* Find(const Records& records, const Record& record) {
    const auto found = records.find(ExecutionOf(record));
    return found == records.end() ? nullptr : found->second;
  }

  const RuleRank& rank_;
  const uint64_t step_;
  const std::vector<Record> records_;
  std::vector<const Record*> statistics_;
  Records changes_;
  Records units_;
  std::map<std::pair<uint16_t, uint8_t>, Marks> marks_;
};

RuleTask::RuleTask(RuleCheck& check)
    : check_(check),
      progress_(check.rules().size()),
      values_(RuleMeasureNames().size(), kUnknown) {}

void RuleTask::Run(const std::vector<RuleRank>& ranks,
                   std::shared_ptr<const SelectedTensors> tensors) {
  tensors_ = std::move(tensors);
  std::vector<std::span<const StepEntry>> rest;
  for (const RuleRank& rank : ranks) rest.emplace_back(rank.entries);
  for (;;) {
    std::optional<uint64_t> step;
    for (const auto& entries : rest) {
      if (!entries.empty() && (!step || entries[0].step < *step)) {
        step = entries[0].step;
      }
    }
    if (!step || check_.cancelled()) break;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (rest[i].empty() || rest[i][0].step != *step) continue;
      const auto entries = FirstStep(rest[i]);
      ObserveStep(ranks[i], entries);
      rest[i] = rest[i].subspan(entries.size());
      check_.StepDone();
    }
    FinishStep(*step);
  }
  for (size_t i = 0; i < progress_.size(); ++i) {
    Progress& progress = progress_[i];
    check_.AddObservations(i, std::exchange(progress.observations, 0),
                           std::exchange(progress.unknown, 0));
  }
}

void RuleTask::ObserveStep(const RuleRank& rank,
                           std::span<const StepEntry> entries) {
  const StepOfRank step(rank, entries);
  for (const Record* record : step.statistics()) ObserveTensor(step, *record);
  ObserveMarks(step);
}

void RuleTask::ObserveTensor(const StepOfRank& step, const Record& record) {
  const graph::NodeIndex node = step.NodeOf(record);
  const RuleMask rules =
      node == graph::kNoNode ? 0 : tensors_->RulesOf(node, record.slot);
  if (rules == 0) return;
  ObservedTensor observed = step.Observed(record);
  for (size_t i = 0; i < progress_.size(); ++i) {
    const Rule& rule = check_.rules()[i];
    if ((rules >> i & 1) == 0 || rule.observes_steps()) continue;
    for (const uint32_t measure : rule.measures()) {
      values_[measure] = observed.Value(measure);
    }
    const SeriesId id = IdOf(rule, step.rank(), node, record.slot, record.mode);
    if (rule.reduces()) {
      rule.AddTo(values_, &progress_[i].sums[id]);
    } else {
      Evaluate(i, id, step.step(), values_);
    }
  }
}

void RuleTask::ObserveMarks(const StepOfRank& step) {
  for (const auto& [key, marks] : step.marks()) {
    const auto [pass, mode] = key;
    if (pass != 0) continue;
    const ObservedStep observed{step.step(), marks.mode_step, marks.seconds()};
    for (size_t i = 0; i < progress_.size(); ++i) {
      const Rule& rule = check_.rules()[i];
      if (!rule.observes_steps()) continue;
      for (const uint32_t measure : rule.measures()) {
        values_[measure] = observed.Value(measure);
      }
      Evaluate(i, IdOf(rule, step.rank(), graph::kNoNode, 0, mode), step.step(),
               values_);
    }
  }
}

void RuleTask::FinishStep(uint64_t step) {
  for (size_t i = 0; i < progress_.size(); ++i) {
    for (const auto& [id, sums] : progress_[i].sums) {
      Evaluate(i, id, step, check_.rules()[i].Reduce(sums, step));
    }
    progress_[i].sums.clear();
  }
}

void RuleTask::Evaluate(size_t place, const SeriesId& id, uint64_t step,
                        absl::Span<const double> values) {
  const Rule& rule = check_.rules()[place];
  Progress& progress = progress_[place];
  auto found = progress.series.find(id);
  if (found == progress.series.end()) {
    if (!check_.AddSeries(place)) return;
    found = progress.series.emplace(id, rule.Start()).first;
  }
  const Rule::Result result = rule.Observe(values, &found->second);
  ++progress.observations;
  if (result == Rule::Result::kUnknown) ++progress.unknown;
  if (result != Rule::Result::kFires) return;
  model::Finding finding;
  finding.rule = rule.spec().name;
  finding.step = step;
  if (id.rank != kAnyRank) finding.rank = id.rank;
  if (id.node != graph::kNoNode) {
    finding.tensor = absl::StrCat(tensors_->name(id.node), ":", id.slot);
  }
  if (id.mode != kAnyMode) {
    finding.mode = model::FromNumber(id.mode, model::RunMode::kUnknown);
  }
  finding.values = rule.Named(values);
  finding.message = rule.Describe(finding.values);
  finding.advice = rule.spec().advice;
  check_.AddFinding(place, std::move(finding));
}

RuleTask::SeriesId RuleTask::IdOf(const Rule& rule, uint32_t rank,
                                  graph::NodeIndex node, uint32_t slot,
                                  uint8_t mode) {
  SeriesId id{kAnyRank, graph::kNoNode, 0, kAnyMode};
  if (rule.distinguishes(SeriesPart::kRank)) id.rank = rank;
  if (rule.distinguishes(SeriesPart::kTensor)) {
    id.node = node;
    id.slot = slot;
  }
  if (rule.distinguishes(SeriesPart::kMode)) id.mode = mode;
  return id;
}

}  // namespace graphdbg::recorded
