// Source locations of nodes.
#ifndef SERVER_MINDSPORE_SOURCE_LINES_H_
#define SERVER_MINDSPORE_SOURCE_LINES_H_

#include <string_view>
#include <vector>

#include "server/model/graph.h"

namespace graphdbg::mindspore {

// Parses NodeProto.source_address, which consists of lines in the form
// "# In file <path>:<line>/<text>/"; the prefix before "In" varies. Skips other
// lines. The innermost line comes first.
std::vector<model::SourceLine> SourceLinesOf(std::string_view address);

// The first line in user code, or else the first line; null if the list is
// empty.
const model::SourceLine* UserLine(const std::vector<model::SourceLine>& lines);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_SOURCE_LINES_H_
