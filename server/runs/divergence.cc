#include "server/runs/divergence.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {
namespace {

using model::DivergenceMethod;
using runs::Kind;
using runs::Record;
using runs::StatisticsFields;

// Differences behind the first one.
constexpr size_t kNext = 20;

struct Measure {
  const char* name;
  double StatisticsFields::*field;
};
struct Count {
  const char* name;
  uint64_t StatisticsFields::*field;
};
constexpr Count kCounts[] = {
    {"count", &StatisticsFields::count},
    {"nan_count", &StatisticsFields::nan_count},
    {"pos_inf_count", &StatisticsFields::pos_inf_count},
    {"neg_inf_count", &StatisticsFields::neg_inf_count}};
constexpr Measure kMeasures[] = {{"min", &StatisticsFields::min},
                                 {"max", &StatisticsFields::max},
                                 {"mean", &StatisticsFields::mean},
                                 {"abs_mean", &StatisticsFields::abs_mean},
                                 {"abs_max", &StatisticsFields::abs_max},
                                 {"variance", &StatisticsFields::variance},
                                 {"l1", &StatisticsFields::l1},
                                 {"l2", &StatisticsFields::l2}};

// A name there: with the longest of the names or scopes that it begins with
// replaced.
std::string Renamed(const std::string& name,
                    const std::vector<model::Renaming>& renamings) {
  const model::Renaming* longest = nullptr;
  for (const model::Renaming& each : renamings) {
    const bool fits =
        name == each.from || absl::StartsWith(name, each.from + "/");
    if (fits &&
        (longest == nullptr || each.from.size() > longest->from.size())) {
      longest = &each;
    }
  }
  if (longest == nullptr) return name;
  return longest->to + name.substr(longest->from.size());
}

// Numbers of nodes by their name there.
using NodeNumbers = absl::flat_hash_map<std::string, uint32_t>;

// A tensor, by the number of its node.
uint64_t TensorOf(uint32_t number, uint32_t slot) {
  return uint64_t{number} << 16 | slot;
}

// The properties by which executions of both sides are matched.
struct Execution {
  uint64_t tensor = 0;
  uint16_t iteration = 0;
  uint16_t pass = 0;
  uint8_t mode = 0;
  // How many of the same tensor, iteration, pass and mode precede it.
  uint32_t occurrence = 0;

  bool operator==(const Execution&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const Execution& e) {
    return H::combine(std::move(h), e.tensor, e.iteration, e.pass, e.mode,
                      e.occurrence);
  }
};

// Reads the records of one rank, a step at a time.
class Side {
 public:
  Side(const ComparedRank& rank, const std::vector<model::Renaming>& renamings,
       NodeNumbers& numbers)
      : rank_(rank), renamings_(renamings), numbers_(numbers) {}

  // Reads the records of a step in order of execution.
  void Read(uint64_t step, std::span<const StepEntry> entries,
            DivergenceMethod method) {
    records_ = ReadRecords(rank_.log, entries);
    const Kind kind =
        method == DivergenceMethod::kDigest ? Kind::kChange : Kind::kStatistics;
    std::erase_if(records_, [step, kind](const Record& record) {
      return record.known_kind() != kind || record.step != step ||
             (kind == Kind::kChange && record.change.digest == 0);
    });
    // 0 - 1 is the largest number: records without a place come last.
    std::stable_sort(records_.begin(), records_.end(),
                     [](const Record& a, const Record& b) {
                       return a.exec_order - 1 < b.exec_order - 1;
                     });
    executions_.clear();
    for (const Record& record : records_) {
      executions_.push_back({TensorOf(NumberOf(record.node), record.slot),
                             record.iteration, record.pass, record.mode, 0});
    }
  }
  void AddSeen() {
    for (size_t i = 0; i < records_.size(); ++i) {
      seen_.try_emplace(TensorOf(records_[i].node, records_[i].slot),
                        executions_[i].tensor);
    }
  }

  const std::vector<Record>& records() const { return records_; }
  // Without their occurrence until NumberOccurrences() is called.
  const std::vector<Execution>& executions() const { return executions_; }
  void NumberOccurrences() {
    absl::flat_hash_map<Execution, uint32_t> counts;
    for (Execution& each : executions_) each.occurrence = counts[each]++;
  }

  // The tensors of all steps that were added, by this side's own id of the
  // node: several may have the same name there.
  const absl::flat_hash_map<uint64_t, uint64_t>& seen() const { return seen_; }
  std::string NodeName(uint32_t node) const {
    const auto found = rank_.names.find(node);
    return found == rank_.names.end() ? absl::StrCat("#", node) : found->second;
  }
  // The name of a tensor by this side's own id.
  std::string TensorName(uint64_t own) const {
    return absl::StrCat(NodeName(static_cast<uint32_t>(own >> 16)), ":",
                        own & 0xffff);
  }

 private:
  uint32_t NumberOf(uint32_t node) {
    const auto [known, is_new] = number_of_.try_emplace(node, 0);
    if (is_new) {
      known->second = numbers_
                          .try_emplace(Renamed(NodeName(node), renamings_),
                                       static_cast<uint32_t>(numbers_.size()))
                          .first->second;
    }
    return known->second;
  }

  const ComparedRank& rank_;
  const std::vector<model::Renaming>& renamings_;
  NodeNumbers& numbers_;
  // By the process's id.
  absl::flat_hash_map<uint32_t, uint32_t> number_of_;
  std::vector<Record> records_;
  std::vector<Execution> executions_;
  absl::flat_hash_map<uint64_t, uint64_t> seen_;
};

// The size to which a relative tolerance refers.
double SizeOf(const Measure& measure, const StatisticsFields& fields) {
  if (measure.field == &StatisticsFields::mean) {
    return std::abs(fields.abs_mean);
  }
  if (measure.field == &StatisticsFields::variance) {
    return fields.variance + fields.mean * fields.mean;
  }
  return std::abs(fields.*measure.field);
}

class Comparison {
 public:
  Comparison(const ComparedRank& here, const ComparedRank& there,
             const model::DivergenceQuery& query)
      : here_rank_(here),
        there_rank_(there),
        query_(query),
        here_(here, query.renamings, numbers_),
        there_(there, kNone, numbers_) {}

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
    // Most steps have the same executions in the same order on both sides.
    if (here_.executions() == there_.executions()) {
      for (size_t i = 0; i < here_.records().size(); ++i) {
        Compare(here_.records()[i], there_.records()[i]);
      }
      return;
    }
    here_.NumberOccurrences();
    there_.NumberOccurrences();
    absl::flat_hash_map<Execution, size_t> places;
    for (size_t i = 0; i < there_.executions().size(); ++i) {
      places[there_.executions()[i]] = i;
    }
    for (size_t i = 0; i < here_.records().size(); ++i) {
      const auto place = places.find(here_.executions()[i]);
      if (place == places.end()) continue;
      Compare(here_.records()[i], there_.records()[place->second]);
    }
  }

  void Compare(const Record& here, const Record& there) {
    if (found_.size() > kNext) return;
    if (query_.method == DivergenceMethod::kDigest) {
      if (here.change.digest != there.change.digest) {
        Add(here, "digest", here.change.digest, there.change.digest);
      }
      return;
    }
    const StatisticsFields& a = here.statistics;
    const StatisticsFields& b = there.statistics;
    for (const Count& count : kCounts) {
      if (a.*count.field == b.*count.field) continue;
      return Add(here, count.name, a.*count.field, b.*count.field);
    }
    const bool light = ((here.flags | there.flags) & runs::kFlagLight) != 0;
    for (const Measure& measure : kMeasures) {
      if (AreEqual(measure, a, b, light)) continue;
      return Add(here, measure.name, a.*measure.field, b.*measure.field);
    }
  }

  bool AreEqual(const Measure& measure, const StatisticsFields& a,
                const StatisticsFields& b, bool light) const {
    const double x = a.*measure.field;
    const double y = b.*measure.field;
    if (x == y) return true;
    const bool x_absent = std::isnan(x);
    const bool y_absent = std::isnan(y);
    // A light record has only some of the measures.
    if (x_absent || y_absent) return (x_absent && y_absent) || light;
    if (std::isinf(x) || std::isinf(y)) return false;
    const double size = std::fmax(SizeOf(measure, a), SizeOf(measure, b));
    return std::abs(x - y) <= query_.atol + query_.rtol * size;
  }

  void Add(const Record& here, const char* measure,
           model::Difference::Value value, model::Difference::Value other) {
    model::Difference difference;
    difference.step = here.step;
    if (here.mode <= static_cast<uint8_t>(runs::Mode::kPredict)) {
      difference.mode = static_cast<model::RunMode>(here.mode);
    }
    difference.pass = here.pass;
    difference.node = here_.NodeName(here.node);
    difference.slot = here.slot;
    difference.exec_order = here.exec_order;
    difference.measure = measure;
    difference.here = value;
    difference.there = other;
    found_.push_back(std::move(difference));
  }

  model::Divergence Result() {
    ListNames(here_, there_, result_.only_here, result_.only_here_count);
    ListNames(there_, here_, result_.only_there, result_.only_there_count);
    result_.matched = here_.seen().size() - result_.only_here_count;
    if (!found_.empty()) {
      result_.first = found_.front();
      result_.next.assign(found_.begin() + 1, found_.end());
    }
    return std::move(result_);
  }

  static void ListNames(const Side& side, const Side& other,
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

  inline static const std::vector<model::Renaming> kNone;

  const ComparedRank& here_rank_;
  const ComparedRank& there_rank_;
  const model::DivergenceQuery& query_;
  NodeNumbers numbers_;
  Side here_;
  Side there_;
  std::vector<model::Difference> found_;
  model::Divergence result_;
};

}  // namespace

absl::StatusOr<model::Divergence> FindDivergence(
    const ComparedRank& here, const ComparedRank& there,
    const model::DivergenceQuery& query, const std::atomic<bool>& cancelled) {
  return Comparison(here, there, query).Run(cancelled);
}

}  // namespace graphdbg::recorded
