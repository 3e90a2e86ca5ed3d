#include "server/runs/step_marks.h"

#include <map>
#include <optional>
#include <utility>

#include "server/model/enum_names.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {
namespace {

using runs::Kind;
using runs::Record;

constexpr double kNanosecond = 1e-9;

bool IsMark(const Record& record) {
  return record.known_kind() == Kind::kBegin ||
         record.known_kind() == Kind::kEnd;
}

model::RunMode ModeOf(const Record& record) {
  return model::FromNumber(record.mode, model::RunMode::kUnknown);
}

model::StepReason ReasonOf(const runs::MarkFields& mark) {
  switch (static_cast<runs::EndReason>(mark.reason)) {
    case runs::EndReason::kOverhead:
      return model::StepReason::kOverhead;
    case runs::EndReason::kNotDue:
      return model::StepReason::kNotDue;
    case runs::EndReason::kNone:
      break;
  }
  return model::StepReason::kNone;
}

// The first and last records, if they are the marks of the step and nothing but
// its records is between them.
std::optional<std::vector<Record>> OuterMarks(const RankLog& log,
                                              const StepEntry& entry) {
  std::vector<Record> marks(2);
  if (entry.count < 2) return std::nullopt;
  log.Read(entry.first, {&marks[0], 1});
  log.Read(entry.first + entry.count - 1, {&marks[1], 1});
  const bool whole =
      marks[0].known_kind() == Kind::kBegin && marks[0].pass == 0 &&
      marks[1].known_kind() == Kind::kEnd && marks[1].pass == 0 &&
      marks[1].mark.records == entry.count - 2;
  return whole ? std::optional(std::move(marks)) : std::nullopt;
}

// Collects the marks of a step in one mode.
class ModeSummary {
 public:
  void AddBegin(const Record& mark) {
    ++step_.passes;
    step_.mode_step = mark.mark.mode_step;
    if (step_.begin_unix_nano) return;
    step_.begin_unix_nano = static_cast<int64_t>(mark.mark.unix_ns);
    began_ = mark.mark.monotonic_ns;
  }

  void AddEnd(const Record& mark) {
    step_.records += mark.mark.records;
    step_.dropped += mark.mark.records_dropped;
    step_.reason = ReasonOf(mark.mark);
    step_.mode_step = mark.mark.mode_step;
    ended_ = mark.mark.monotonic_ns;
    ++ends_;
  }

  model::RecordedStep Finish(uint64_t number, model::RunMode mode) && {
    step_.step = number;
    step_.mode = mode;
    if (ends_ < step_.passes) step_.reason = model::StepReason::kUnfinished;
    if (step_.begin_unix_nano && ended_ >= began_ && ends_ > 0) {
      step_.seconds = static_cast<double>(ended_ - began_) * kNanosecond;
    }
    return std::move(step_);
  }

 private:
  model::RecordedStep step_;
  uint64_t began_ = 0;
  uint64_t ended_ = 0;
  uint32_t ends_ = 0;
};

}  // namespace

std::vector<model::RecordedStep> DescribeStep(
    const RankLog& log, std::span<const StepEntry> entries) {
  if (entries.empty()) return {};
  std::optional<std::vector<Record>> records;
  if (entries.size() == 1) records = OuterMarks(log, entries.front());
  if (!records) records = ReadRecords(log, entries);
  const uint64_t number = entries.front().step;
  // The step itself comes before the passes within it.
  std::map<std::pair<bool, model::RunMode>, ModeSummary> modes;
  uint64_t unmarked = 0;
  for (const Record& record : *records) {
    if (!IsMark(record)) {
      ++unmarked;
      continue;
    }
    ModeSummary& mode = modes[{record.pass != 0, ModeOf(record)}];
    if (record.known_kind() == Kind::kBegin) {
      mode.AddBegin(record);
    } else {
      mode.AddEnd(record);
    }
  }
  std::vector<model::RecordedStep> steps;
  for (auto& [key, mode] : modes) {
    steps.push_back(std::move(mode).Finish(number, key.second));
  }
  if (steps.empty()) {
    model::RecordedStep step;
    step.step = number;
    step.records = unmarked;
    // Values before the first step have no marks.
    if (number != 0) step.reason = model::StepReason::kUnfinished;
    steps.push_back(step);
  }
  return steps;
}

}  // namespace graphdbg::recorded
