#include "agent/inject/mappings.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::inject {

namespace {

// Removes the text up to the next blank from the front of `line`.
absl::string_view TakeWord(absl::string_view* line) {
  const size_t end = line->find(' ');
  const absl::string_view word = line->substr(0, end);
  line->remove_prefix(end == absl::string_view::npos ? line->size() : end + 1);
  return word;
}

// A line: begin-end rwxp offset device inode path
absl::StatusOr<Mapping> ParseLine(absl::string_view line) {
  absl::string_view rest = line;
  Mapping mapping;
  const std::vector<absl::string_view> range =
      absl::StrSplit(TakeWord(&rest), '-');
  const absl::string_view permissions = TakeWord(&rest);
  const absl::string_view offset = TakeWord(&rest);
  TakeWord(&rest);  // The device.
  const absl::string_view inode = TakeWord(&rest);
  uint64_t number;
  if (range.size() != 2 || !absl::SimpleHexAtoi(range[0], &mapping.begin) ||
      !absl::SimpleHexAtoi(range[1], &mapping.end) ||
      mapping.begin >= mapping.end || permissions.size() != 4 ||
      !absl::SimpleHexAtoi(offset, &mapping.offset) ||
      !absl::SimpleAtoi(inode, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a line of a memory map: ", line));
  }
  mapping.readable = permissions[0] == 'r';
  mapping.writable = permissions[1] == 'w';
  mapping.executable = permissions[2] == 'x';
  absl::string_view path = absl::StripLeadingAsciiWhitespace(rest);
  mapping.deleted = absl::ConsumeSuffix(&path, " (deleted)");
  mapping.path = std::string(path);
  return mapping;
}

}  // namespace

absl::StatusOr<std::vector<Mapping>> ParseMappings(absl::string_view text) {
  std::vector<Mapping> mappings;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(Mapping mapping, ParseLine(line));
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

const Mapping* FindMapping(const std::vector<Mapping>& mappings,
                           uint64_t address) {
  for (const Mapping& mapping : mappings) {
    if (mapping.Contains(address)) return &mapping;
  }
  return nullptr;
}

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace graphdbg::inject
