#include "agent/core/source_text.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

constexpr size_t kMaxFiles = 300;
constexpr off_t kMaxFileBytes = 4 << 20;
// Longer lines are not written by hand.
constexpr size_t kMaxLineBytes = 400;
// In one update. What is beyond that is sent with the next one.
constexpr size_t kMaxBytesAtOnce = 2 << 20;

std::string ReadText(const std::string& path) {
  struct stat info;
  const bool ordinary = stat(path.c_str(), &info) == 0 &&
                        S_ISREG(info.st_mode) && info.st_size <= kMaxFileBytes;
  if (!ordinary) return "";
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

absl::string_view SourceText::File::Line(uint32_t number) const {
  if (number == 0 || number > lines.size()) return "";
  const absl::string_view rest =
      absl::string_view(text).substr(lines[number - 1]);
  return rest.substr(0, rest.find('\n'));
}

const SourceText::File& SourceText::Read(const std::string& path) {
  static const auto* none = new File();
  if (const auto it = files_.find(path); it != files_.end()) return it->second;
  if (files_.size() >= kMaxFiles) return *none;
  const auto added = files_.emplace(path, File{ReadText(path), {}}).first;
  File& file = added->second;
  for (size_t begin = 0; begin < file.text.size();) {
    file.lines.push_back(begin);
    const size_t end = file.text.find('\n', begin);
    begin = end == std::string::npos ? file.text.size() : end + 1;
  }
  if (!file.text.empty()) unsent_.push_back(&*added);
  return file;
}

void SourceText::Fill(v1::SourceFrame* frame) {
  if (!frame->user() || frame->line() == 0 || !frame->text().empty()) return;
  frame->set_text(wire::ToValidUtf8(
      absl::StripAsciiWhitespace(Read(frame->file()).Line(frame->line())),
      kMaxLineBytes));
}

void SourceText::Fill(v1::GraphUpdate* update) {
  for (v1::Node& node : *update->mutable_nodes()) {
    for (v1::SourceFrame& frame : *node.mutable_stack()) Fill(&frame);
  }
  AddFiles(update);
}

void SourceText::AddFiles(v1::GraphUpdate* update) {
  size_t bytes = 0;
  for (; !unsent_.empty() && bytes < kMaxBytesAtOnce; unsent_.pop_front()) {
    const auto& [path, file] = *unsent_.front();
    if (!whole_files_ || file.text.size() > wire::kMaxSourceFileBytes) continue;
    v1::SourceFile* const sent = update->add_files();
    sent->set_file(path);
    sent->set_text(wire::ToValidUtf8(file.text, wire::kMaxSourceFileBytes));
    bytes += file.text.size();
  }
}

void SourceText::SendFilesAgain() {
  unsent_.clear();
  for (const auto& entry : files_) {
    if (!entry.second.text.empty()) unsent_.push_back(&entry);
  }
}

}  // namespace graphdbg::agent
