// Where in the user's program a node comes from.
#ifndef SERVER_MINDSPORE_SOURCE_LINES_H_
#define SERVER_MINDSPORE_SOURCE_LINES_H_

#include <string_view>
#include <vector>

#include "server/model/graph.h"

namespace graphdbg::mindspore {

// Of NodeProto.source_address, lines of "# In file <path>:<line>/<text>/" with
// or without a mark before "In"; what is no such line is left out. Innermost
// first, as MindSpore lists them.
std::vector<model::SourceLine> SourceLinesOf(std::string_view address);

// The first line that is the user's, else the first; null if there is none.
const model::SourceLine* UserLine(const std::vector<model::SourceLine>& lines);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_SOURCE_LINES_H_
