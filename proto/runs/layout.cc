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
constexpr char kTensorSuffix[] = ".safetensors";
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

std::string TensorFile(uint64_t step, uint32_t number) {
  const std::string behind = number == 1 ? "" : absl::StrCat("-", number);
  return absl::StrCat(absl::Dec(step, absl::kZeroPad8), behind, kTensorSuffix);
}

std::optional<TensorFileName> ParseTensorFile(absl::string_view name) {
  TensorFileName file;
  file.part = absl::ConsumeSuffix(&name, kPartSuffix);
  if (!absl::ConsumeSuffix(&name, kTensorSuffix)) return std::nullopt;
  const size_t dash = name.find('-');
  const absl::string_view step = name.substr(0, dash);
  const std::optional<uint64_t> parsed = ParseDigits(step, step.size());
  if (!parsed.has_value()) return std::nullopt;
  file.step = *parsed;
  if (dash == absl::string_view::npos) return file;
  const absl::string_view behind = name.substr(dash + 1);
  const std::optional<uint64_t> number = ParseDigits(behind, behind.size());
  if (!number.has_value() || *number < 2 || *number > UINT32_MAX) {
    return std::nullopt;
  }
  file.number = static_cast<uint32_t>(*number);
  return file;
}

}  // namespace graphdbg::runs
