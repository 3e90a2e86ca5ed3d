// The text of the user's source files, to show with nodes and hits.
#ifndef AGENT_CORE_SOURCE_TEXT_H_
#define AGENT_CORE_SOURCE_TEXT_H_

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/graphdbg/v1/graph.pb.h"

namespace graphdbg::agent {

// Reads each file once, and at most a few hundred files of ordinary size. Used
// by one thread, which must not be a training thread because it reads from
// disk.
class SourceText {
 public:
  // Without `whole_files`, only lines are sent.
  explicit SourceText(bool whole_files) : whole_files_(whole_files) {}

  // Fills in the frame's text if the frame is in the user's code and its file
  // can be read.
  void Fill(v1::SourceFrame* frame);
  // The same for the stacks of all nodes. Adds the files that they are the
  // first to refer to.
  void Fill(v1::GraphUpdate* update);
  // The next updates have another receiver, which knows no files yet.
  void SendFilesAgain();

 private:
  struct File {
    std::string text;
    // Where lines begin in the text.
    std::vector<size_t> lines;

    absl::string_view Line(uint32_t number) const;
  };
  const File& Read(const std::string& path);
  void AddFiles(v1::GraphUpdate* update);

  const bool whole_files_;
  std::unordered_map<std::string, File> files_;
  // Those that are to be sent.
  std::deque<const decltype(files_)::value_type*> unsent_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SOURCE_TEXT_H_
