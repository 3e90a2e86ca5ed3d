#include "server/runs/step_index.h"

#include <algorithm>

namespace graphdbg::recorded {
namespace {

using runs::Kind;
using runs::Record;

// Records that are looked at, from a position on, for one that belongs to the
// training thread's step: tensors are recorded later by the writer's thread,
// and a damaged record belongs to none.
constexpr size_t kLookAhead = 64;

bool ShowsStep(const Record& record) {
  switch (record.known_kind()) {
    case Kind::kStatistics:
    case Kind::kChange:
    case Kind::kBegin:
    case Kind::kEnd:
    case Kind::kUnits:
      return true;
    default:
      return false;
  }
}

class Search {
 public:
  Search(const RankLog& log, uint64_t end) : log_(log), end_(end) {}

  // The step at a position; absent if none of the next records shows one.
  std::optional<uint64_t> StepAt(uint64_t position) const {
    Record record;
    log_.Read(position, {&record, 1});
    if (ShowsStep(record)) return record.step;
    Record ahead[kLookAhead];
    const size_t count = std::min<uint64_t>(kLookAhead, end_ - position);
    log_.Read(position, {ahead, count});
    for (size_t i = 1; i < count; ++i) {
      if (ShowsStep(ahead[i])) return ahead[i].step;
    }
    return std::nullopt;
  }

  bool IsLater(uint64_t position, uint64_t step) const {
    const auto found = StepAt(position);
    return found && *found > step;
  }

  // The first position behind `first` that belongs to a later step. `guess` is
  // the number of records of the step before.
  uint64_t EndOf(uint64_t first, uint64_t step, uint64_t guess) const {
    if (guess > 0 && guess <= end_ - first &&
        !IsLater(first + guess - 1, step)) {
      const uint64_t end = first + guess;
      if (end == end_ || IsLater(end, step)) return end;
    }
    uint64_t low = first;  // Belongs to the step.
    uint64_t width = 1;
    while (width < end_ - low && !IsLater(low + width, step)) {
      low += width;
      width *= 2;
    }
    uint64_t high = width < end_ - low ? low + width : end_;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (IsLater(middle, step) ? high : low) = middle;
    }
    return high;
  }

 private:
  const RankLog& log_;
  const uint64_t end_;
};

}  // namespace

void StepIndex::Update(const RankLog& log) {
  const auto& ranges = log.ranges();
  const uint64_t begin = ranges.empty() ? 0 : ranges.front().first;
  const auto kept = std::find_if(
      entries_.begin(), entries_.end(),
      [begin](const StepEntry& entry) { return entry.first >= begin; });
  entries_.erase(entries_.begin(), kept);
  // The last step may have grown.
  if (!entries_.empty()) entries_.pop_back();
  const uint64_t done =
      entries_.empty() ? 0 : entries_.back().first + entries_.back().count;
  for (const Range& range : ranges) {
    if (range.end > done) Extend(log, {std::max(range.first, done), range.end});
  }
}

void StepIndex::Extend(const RankLog& log, Range range) {
  const Search search(log, range.end);
  uint64_t at = range.first;
  uint64_t guess = entries_.empty() ? 0 : entries_.back().count;
  while (at < range.end && entries_.size() < kMaxSteps) {
    const auto step = search.StepAt(at);
    if (!step) {
      at += std::min<uint64_t>(kLookAhead, range.end - at);
      continue;
    }
    // Steps never descend; one that does is that of a late thread.
    const uint64_t shown =
        entries_.empty() ? *step : std::max(*step, entries_.back().step);
    const uint64_t end = search.EndOf(at, shown, guess);
    guess = end - at;
    if (!entries_.empty() && entries_.back().step == shown &&
        entries_.back().first + entries_.back().count == at) {
      entries_.back().count += guess;
    } else {
      entries_.push_back({shown, at, guess});
    }
    at = end;
  }
}

uint64_t StepIndex::first_step() const {
  return entries_.empty() ? 0 : entries_.front().step;
}

uint64_t StepIndex::last_step() const {
  return entries_.empty() ? 0 : entries_.back().step;
}

size_t StepIndex::LowerBound(uint64_t step) const {
  return static_cast<size_t>(
      std::lower_bound(entries_.begin(), entries_.end(), step,
                       [](const StepEntry& entry, uint64_t wanted) {
                         return entry.step < wanted;
                       }) -
      entries_.begin());
}

std::span<const StepEntry> StepIndex::Find(uint64_t step) const {
  const size_t first = LowerBound(step);
  size_t end = first;
  while (end < entries_.size() && entries_[end].step == step) ++end;
  return std::span(entries_).subspan(first, end - first);
}

}  // namespace graphdbg::recorded
