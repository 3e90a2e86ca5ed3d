#include "proto/runs/layout.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/runs/headers.h"

namespace graphdbg::runs {
namespace {

constexpr char kRankPrefix[] = "rank-";
constexpr char kSegmentSuffix[] = ".gdbl";
constexpr size_t kRankDigits = 5;
constexpr size_t kPositionDigits = 20;

// The number, if the text has exactly this many digits and nothing else.
std::optional<uint64_t> ParseDigits(absl::string_view text, size_t digits) {
  uint64_t number;
  if (text.size() != digits ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::string RankDirectory(uint32_t rank) {
  return absl::StrCat(kRankPrefix, absl::Dec(rank, absl::kZeroPad5));
}

std::optional<uint32_t> ParseRankDirectory(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kRankPrefix)) return std::nullopt;
  const std::optional<uint64_t> rank = ParseDigits(name, kRankDigits);
  if (!rank.has_value() || *rank >= kMaxRanks) return std::nullopt;
  return static_cast<uint32_t>(*rank);
}

std::string SegmentFile(uint64_t first_position) {
  return absl::StrCat(absl::Dec(first_position, absl::kZeroPad20),
                      kSegmentSuffix);
}

std::optional<SegmentName> ParseSegmentFile(absl::string_view name) {
  const bool open = absl::ConsumeSuffix(&name, kOpenSuffix);
  if (!absl::ConsumeSuffix(&name, kSegmentSuffix)) return std::nullopt;
  const std::optional<uint64_t> first = ParseDigits(name, kPositionDigits);
  if (!first.has_value()) return std::nullopt;
  return SegmentName{*first, open};
}

}  // namespace graphdbg::runs
