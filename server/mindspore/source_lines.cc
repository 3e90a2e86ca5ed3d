#include "server/mindspore/source_lines.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/wire/utf8.h"

namespace graphdbg::mindspore {
namespace {

constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxNameBytes = 4'096;
constexpr char kInFile[] = "In file ";

bool IsUsers(absl::string_view file) {
  return !absl::StrContains(file, "/site-packages/") &&
         !absl::StrContains(file, "/dist-packages/");
}

// Parses "/home/me/net.py:42/x = self.conv(x)/".
bool Parse(absl::string_view text, model::SourceLine& line) {
  size_t colon = text.find(':');
  while (colon != absl::string_view::npos) {
    const size_t slash = text.find('/', colon);
    const absl::string_view number = text.substr(colon + 1, slash - colon - 1);
    if (absl::SimpleAtoi(number, &line.line)) {
      line.file = wire::ToValidUtf8(text.substr(0, colon), kMaxNameBytes);
      if (slash != absl::string_view::npos) {
        absl::string_view source = text.substr(slash + 1);
        absl::ConsumeSuffix(&source, "/");
        line.text = wire::ToValidUtf8(source, kMaxNameBytes);
      }
      line.user = IsUsers(line.file);
      return !line.file.empty();
    }
    colon = text.find(':', colon + 1);
  }
  return false;
}

}  // namespace

std::vector<model::SourceLine> SourceLinesOf(std::string_view address) {
  std::vector<model::SourceLine> lines;
  for (absl::string_view text : absl::StrSplit(
           absl::string_view(address.data(), address.size()), '\n')) {
    const size_t at = text.find(kInFile);
    model::SourceLine line;
    if (at == absl::string_view::npos || lines.size() >= kMaxFrames) continue;
    if (Parse(text.substr(at + sizeof(kInFile) - 1), line)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

const model::SourceLine* UserLine(const std::vector<model::SourceLine>& lines) {
  for (const model::SourceLine& line : lines) {
    if (line.user) return &line;
  }
  return lines.empty() ? nullptr : &lines.front();
}

}  // namespace graphdbg::mindspore
