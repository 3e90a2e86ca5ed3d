#include "server/runs/series.h"

#include <algorithm>

namespace graphdbg::recorded {
namespace {

using runs::Kind;
using runs::Record;

constexpr size_t kChunk = 4'096;

}  // namespace

Record SeriesReader::Read(const StepEntry& entry) {
  Record found = {};
  if (ReadWherePredicted(entry, found)) return found;
  return Search(entry);
}

bool SeriesReader::ReadWherePredicted(const StepEntry& entry,
                                      Record& found) const {
  if (entry.count != count_ || places_.empty()) return false;
  for (const uint64_t place : places_) {
    Record record;
    log_.Read(entry.first + place, {&record, 1});
    if (!Fits(record)) return false;
    if (found.known_kind() == Kind::kNone || IsBetter(record, found)) {
      found = record;
    }
  }
  return true;
}

Record SeriesReader::Search(const StepEntry& entry) {
  Record found = {};
  count_ = entry.count;
  places_.clear();
  std::vector<Record> chunk(std::min<uint64_t>(kChunk, entry.count));
  const uint64_t end = std::min(entry.count, kMaxStepRecords);
  for (uint64_t at = 0; at < end; at += chunk.size()) {
    chunk.resize(std::min<uint64_t>(kChunk, end - at));
    log_.Read(entry.first + at, chunk);
    for (size_t i = 0; i < chunk.size(); ++i) {
      const Record& record = chunk[i];
      if (!Fits(record)) continue;
      places_.push_back(at + i);
      if (found.known_kind() == Kind::kNone || IsBetter(record, found)) {
        found = record;
      }
    }
  }
  return found;
}

}  // namespace graphdbg::recorded
