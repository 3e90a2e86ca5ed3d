#include "server/runs/mindspore/dump_name.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "server/base/string_views.h"

namespace graphdbg::dumps {
namespace {

using std::string_view;

// Limits of an op; more is no dump.
constexpr uint64_t kMaxSlot = 10'000;
constexpr size_t kMaxDimensions = 64;
constexpr size_t kMaxNumbers = 3;
constexpr string_view kOverflow = "Opdebug.Node_OpDebug.";

bool TakeSuffix(string_view suffix, string_view& text) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Removes and returns what is behind the last `separator`; everything if there
// is none.
string_view TakeLast(char separator, string_view& text) {
  const size_t at = text.rfind(separator);
  const string_view last = at == string_view::npos ? text : text.substr(at + 1);
  text = at == string_view::npos ? string_view() : text.substr(0, at);
  return last;
}

std::optional<uint32_t> ParseSlot(string_view text) {
  const auto slot = ParseNumber(text);
  if (!slot || *slot > kMaxSlot) return std::nullopt;
  return static_cast<uint32_t>(*slot);
}

// "type.name.task.stream.time"; 1.1 and 1.2 have no stream, and no release has
// more numbers.
bool TakeOp(string_view text, DumpName& to) {
  std::vector<uint64_t> numbers;
  while (numbers.size() < kMaxNumbers) {
    string_view rest = text;
    const auto number = ParseNumber(TakeLast('.', rest));
    if (!number) break;
    numbers.push_back(*number);
    text = rest;
  }
  if (numbers.size() < 2) return false;
  to.time_us = numbers.front();
  to.task = numbers.back();
  if (numbers.size() == kMaxNumbers) to.stream = numbers[1];
  const size_t dot = text.find('.');
  if (dot == string_view::npos || dot == 0) return false;
  to.op_type = text.substr(0, dot);
  to.op_name = text.substr(dot + 1);
  return !to.op_name.empty();
}

// Behind the op: ".output.0", and in later releases format and element type.
bool TakeTensor(string_view text, DumpName& to) {
  std::vector<string_view> behind;
  for (int i = 0; i < 4 && !text.empty(); ++i) {
    const string_view last = TakeLast('.', text);
    if ((last == "input" || last == "output") && !behind.empty()) {
      const auto slot = ParseSlot(behind.back());
      if (!slot) return false;
      to.slot = *slot;
      to.is_output = last == "output";
      if (behind.size() == 3) to.original_dtype = behind.front();
      return TakeOp(text, to);
    }
    behind.push_back(last);
  }
  return false;
}

DType TypeNamed(string_view name) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(name));
  return ParseDType(lower).value_or(DType::kOther);
}

// "Default--Conv2D-op12_output_0_shape_32_6_Float32_DefaultFormat".
bool TakeRaw(string_view text, DumpName& to) {
  constexpr string_view kShape = "_shape_";
  const size_t at = text.rfind(kShape);
  if (at == string_view::npos) return false;
  string_view tail = text.substr(at + kShape.size());
  text = text.substr(0, at);
  TakeLast('_', tail);
  const string_view type = TakeLast('_', tail);
  to.type.dtype = TypeNamed(type);
  if (to.type.dtype == DType::kOther) to.type.framework_dtype = type;
  while (!tail.empty()) {
    const auto size = ParseNumber(TakeLast('_', tail));
    if (!size || *size > INT64_MAX) return false;
    to.type.shape.push_back(static_cast<int64_t>(*size));
    if (to.type.shape.size() > kMaxDimensions) return false;
  }
  std::reverse(to.type.shape.begin(), to.type.shape.end());
  const auto slot = ParseSlot(TakeLast('_', text));
  const string_view direction = TakeLast('_', text);
  if (!slot || (direction != "input" && direction != "output")) return false;
  to.slot = *slot;
  to.is_output = direction == "output";
  to.op_name = text;
  return !to.op_name.empty();
}

}  // namespace

std::optional<uint64_t> ParseNumber(string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<DumpName> ParseDumpName(string_view name) {
  DumpName parsed;
  if (name.starts_with(kOverflow)) {
    if (!TakeSuffix(".json", name)) return std::nullopt;
    parsed.kind = DumpName::Kind::kOverflow;
    return TakeTensor(name, parsed) ? std::optional(parsed) : std::nullopt;
  }
  if (TakeSuffix(".npy", name)) {
    parsed.kind = DumpName::Kind::kNpy;
    return TakeTensor(name, parsed) ? std::optional(parsed) : std::nullopt;
  }
  const bool bin = TakeSuffix(".bin", name);
  parsed.kind = DumpName::Kind::kRaw;
  if (bin && TakeRaw(name, parsed)) return parsed;
  parsed = DumpName();
  parsed.kind = DumpName::Kind::kMessage;
  return TakeOp(name, parsed) ? std::optional(parsed) : std::nullopt;
}

std::string NormalName(string_view name) {
  return absl::StrReplaceAll(
      ToAbsl(name),
      {{"--", "_"}, {"/", "_"}, {"\\", "_"}, {".", "_"}, {" ", "_"}});
}

}  // namespace graphdbg::dumps
