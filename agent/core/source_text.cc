#include "agent/core/source_text.h"

#include <sys/stat.h>

#include <fstream>

#include "absl/strings/ascii.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

constexpr size_t kMaxFiles = 300;
constexpr off_t kMaxFileBytes = 4 << 20;
// Longer lines are not written by hand.
constexpr size_t kMaxLineBytes = 400;

std::vector<std::string> ReadLines(const std::string& file) {
  std::vector<std::string> lines;
  struct stat info;
  const bool ordinary = stat(file.c_str(), &info) == 0 &&
                        S_ISREG(info.st_mode) && info.st_size <= kMaxFileBytes;
  if (!ordinary) return lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(
        wire::ToValidUtf8(absl::StripAsciiWhitespace(line), kMaxLineBytes));
  }
  return lines;
}

}  // namespace

const std::vector<std::string>& SourceText::LinesOf(const std::string& file) {
  static const auto* none = new std::vector<std::string>();
  auto it = files_.find(file);
  if (it != files_.end()) return it->second;
  if (files_.size() >= kMaxFiles) return *none;
  return files_[file] = ReadLines(file);
}

void SourceText::Fill(v1::SourceFrame* frame) {
  if (!frame->user() || frame->line() == 0 || !frame->text().empty()) return;
  const std::vector<std::string>& lines = LinesOf(frame->file());
  if (frame->line() <= lines.size()) {
    frame->set_text(lines[frame->line() - 1]);
  }
}

}  // namespace graphdbg::agent
