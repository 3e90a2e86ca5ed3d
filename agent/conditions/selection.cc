#include "agent/conditions/selection.h"

#include <re2/re2.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "agent/conditions/source_filter.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::conditions {
namespace {

constexpr size_t kMaxNodes = 10'000;
constexpr size_t kMaxScopes = 256;
constexpr size_t kMaxEntries = 64;
constexpr size_t kMaxRanks = 4'096;
constexpr size_t kMaxNameBytes = 4'096;
// Limits the total size of each list: a selection is sent in one message.
constexpr size_t kMaxTotalBytes = 1 << 20;

auto Tie(const NodeLists& lists) {
  return std::tie(lists.nodes, lists.scopes, lists.patterns, lists.regexes,
                  lists.categories, lists.op_types, lists.sources, lists.dtypes,
                  lists.ranks);
}

absl::Status Wrong(const std::string& field, absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload("graphdbg/reason", absl::Cord("invalid_watchpoint"));
  status.SetPayload("graphdbg/field", absl::Cord(field));
  return status;
}

std::string Element(const std::string& field, size_t i) {
  return absl::StrCat(field, "[", i, "]");
}

template <class List>
absl::Status CheckCount(const List& list, const std::string& field,
                        size_t max) {
  if (list.size() <= max) return absl::OkStatus();
  return Wrong(field,
               absl::StrCat(list.size(), " ", field, "; the limit is ", max));
}

absl::Status CheckTexts(const std::vector<std::string>& list,
                        const std::string& field, size_t max_count,
                        size_t max_bytes) {
  RETURN_IF_ERROR(CheckCount(list, field, max_count));
  size_t total = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    total += list[i].size();
    const std::string element = Element(field, i);
    if (list[i].empty()) {
      return Wrong(element, absl::StrCat(element, " is empty"));
    }
    if (list[i].size() > max_bytes) {
      return Wrong(element, absl::StrCat(element, " is longer than ", max_bytes,
                                         " bytes"));
    }
  }
  if (total <= kMaxTotalBytes) return absl::OkStatus();
  return Wrong(field, absl::StrCat(field, " take ", total,
                                   " bytes; the limit is ", kMaxTotalBytes));
}

absl::Status CheckRegexes(const std::vector<std::string>& list,
                          const std::string& field) {
  for (size_t i = 0; i < list.size(); ++i) {
    const RE2 regex(list[i], RE2::Quiet);
    if (regex.ok()) continue;
    return Wrong(Element(field, i),
                 absl::StrCat(Element(field, i),
                              " is no regular expression: ", regex.error()));
  }
  return absl::OkStatus();
}

absl::Status CheckSources(const std::vector<std::string>& list,
                          const std::string& field) {
  for (size_t i = 0; i < list.size(); ++i) {
    const SourceFilter source = SourceFilter::Parse(list[i]);
    const bool line_0 =
        absl::string_view(list[i]).substr(source.file.size()) == ":0";
    if (!source.file.empty() && source.file.back() != ':' &&
        source.file.find(':') == std::string::npos && !line_0) {
      continue;
    }
    return Wrong(Element(field, i),
                 absl::StrCat(Element(field, i), " is \"", list[i],
                              "\"; expected FILE:LINE or FILE, such as "
                              "\"model.py:32\""));
  }
  return absl::OkStatus();
}

absl::Status CheckLists(const NodeLists& lists, const std::string& prefix) {
  const auto field = [&](const char* name) { return prefix + name; };
  RETURN_IF_ERROR(
      CheckTexts(lists.nodes, field("nodes"), kMaxNodes, kMaxNameBytes));
  RETURN_IF_ERROR(
      CheckTexts(lists.scopes, field("scopes"), kMaxScopes, kMaxNameBytes));
  RETURN_IF_ERROR(CheckTexts(lists.patterns, field("patterns"), kMaxEntries,
                             kMaxPatternBytes));
  RETURN_IF_ERROR(CheckTexts(lists.regexes, field("regexes"), kMaxEntries,
                             kMaxPatternBytes));
  RETURN_IF_ERROR(
      CheckTexts(lists.op_types, field("op_types"), kMaxEntries, 256));
  RETURN_IF_ERROR(
      CheckTexts(lists.sources, field("sources"), kMaxEntries, kMaxNameBytes));
  RETURN_IF_ERROR(CheckCount(lists.dtypes, field("dtypes"), kMaxEntries));
  return CheckCount(lists.ranks, field("ranks"), kMaxRanks);
}

size_t BytesOf(const std::vector<std::string>& list) {
  size_t bytes = 0;
  for (const std::string& text : list) bytes += text.size();
  return bytes;
}

bool Contains(const std::vector<uint32_t>& ranks, uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

bool operator==(const NodeLists& a, const NodeLists& b) {
  return Tie(a) == Tie(b);
}

bool operator==(const NodeSelection& a, const NodeSelection& b) {
  return Tie(a) == Tie(b) && a.exclude == b.exclude;
}

bool NodeSelection::only_listed() const {
  return !nodes.empty() && scopes.empty() && patterns.empty() &&
         regexes.empty() && categories.empty();
}

absl::string_view ExtendedKey(const NodeSelection& selection) {
  if (!selection.regexes.empty()) return "regexes";
  if (!selection.op_types.empty()) return "op_types";
  if (!selection.sources.empty()) return "sources";
  if (!selection.dtypes.empty()) return "dtypes";
  NodeLists others = selection.exclude;
  others.ranks.clear();
  return others.empty() ? "" : "exclude";
}

bool IncludesRank(const NodeSelection& selection, uint32_t rank) {
  return (selection.ranks.empty() || Contains(selection.ranks, rank)) &&
         !Contains(selection.exclude.ranks, rank);
}

size_t PatternBytes(const NodeSelection& selection) {
  return BytesOf(selection.patterns) + BytesOf(selection.regexes) +
         BytesOf(selection.exclude.patterns) +
         BytesOf(selection.exclude.regexes);
}

absl::Status CheckEntries(const NodeSelection& selection) {
  RETURN_IF_ERROR(CheckRegexes(selection.regexes, "regexes"));
  RETURN_IF_ERROR(CheckRegexes(selection.exclude.regexes, "exclude.regexes"));
  RETURN_IF_ERROR(CheckSources(selection.sources, "sources"));
  return CheckSources(selection.exclude.sources, "exclude.sources");
}

absl::Status Validate(const NodeSelection& selection) {
  RETURN_IF_ERROR(CheckLists(selection, ""));
  RETURN_IF_ERROR(CheckLists(selection.exclude, "exclude."));
  RETURN_IF_ERROR(CheckEntries(selection));
  const size_t bytes = PatternBytes(selection);
  if (bytes <= kMaxSelectionPatternBytes) return absl::OkStatus();
  const bool patterns = BytesOf(selection.patterns) > 0;
  return Wrong(patterns ? "patterns" : "regexes",
               absl::StrCat("the patterns and regular expressions have ", bytes,
                            " bytes together; the limit is ",
                            kMaxSelectionPatternBytes));
}

}  // namespace graphdbg::conditions
