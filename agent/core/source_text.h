// The text of source lines, to show with nodes and hits.
#ifndef AGENT_CORE_SOURCE_TEXT_H_
#define AGENT_CORE_SOURCE_TEXT_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "proto/graphdbg/v1/graph.pb.h"

namespace graphdbg::agent {

// Reads each file once, and at most a few hundred files of ordinary size. Used
// by one thread, which must not be a training thread because it reads from
// disk.
class SourceText {
 public:
  // Fills in the frame's text if the frame is in the user's code and its file
  // can be read.
  void Fill(v1::SourceFrame* frame);

 private:
  const std::vector<std::string>& LinesOf(const std::string& file);

  std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SOURCE_TEXT_H_
