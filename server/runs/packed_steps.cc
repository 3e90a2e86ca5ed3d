#include "server/runs/packed_steps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphdbg::recorded {
namespace {

constexpr size_t kMaxFiles = 1'000'000;
constexpr char kSuffix[] = ".parquet";

// "00000001-00001000.parquet", or with "-2" behind the steps.
std::optional<PackedSteps> ParseName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, kSuffix)) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  PackedSteps steps;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &steps.first) ||
      !absl::SimpleAtoi(parts[1], &steps.last)) {
    return std::nullopt;
  }
  steps.first = std::max<uint64_t>(steps.first, 1);
  steps.last = std::max<uint64_t>(steps.last, 1);
  return steps;
}

}  // namespace

std::optional<PackedSteps> FindPackedSteps(const Folder& records,
                                           uint32_t rank) {
  const auto folder = records.OpenFolder(absl::StrCat("rank=", rank));
  if (!folder.ok()) return std::nullopt;
  const auto names = folder->List(kMaxFiles);
  if (!names.ok()) return std::nullopt;
  std::optional<PackedSteps> all;
  for (const std::string& name : *names) {
    const auto steps = ParseName(name);
    if (!steps) continue;
    if (!all) all = steps;
    all->first = std::min(all->first, steps->first);
    all->last = std::max(all->last, steps->last);
  }
  return all;
}

std::optional<PackedSteps> WithoutLog(const PackedSteps& packed,
                                      const PackedSteps& log, uint64_t from,
                                      uint64_t to) {
  const PackedSteps wanted = {std::max(packed.first, from),
                              std::min(packed.last, to)};
  if (wanted.first > wanted.last) return std::nullopt;
  const bool all_there = log.last != 0 &&
                         std::max<uint64_t>(log.first, 1) <= wanted.first &&
                         wanted.last <= log.last;
  if (all_there) return std::nullopt;
  return wanted;
}

}  // namespace graphdbg::recorded
