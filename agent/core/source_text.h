// The text of source lines, for people.
#ifndef AGENT_CORE_SOURCE_TEXT_H_
#define AGENT_CORE_SOURCE_TEXT_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "proto/graphdbg/v1/graph.pb.h"

namespace graphdbg::agent {

// Reads each file once, a few hundred files of ordinary size at most. For one
// thread, never one of training: it reads from disk.
class SourceText {
 public:
  // Fills the frame's text if it is in the user's code and can be read.
  void Fill(v1::SourceFrame* frame);

 private:
  const std::vector<std::string>& LinesOf(const std::string& file);

  std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SOURCE_TEXT_H_
