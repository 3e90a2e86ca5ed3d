// Lines of source code as users name them.
#ifndef AGENT_CONDITIONS_SOURCE_FILTER_H_
#define AGENT_CONDITIONS_SOURCE_FILTER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace graphdbg::conditions {

struct SourceFilter {
  // The end of a path, in whole parts: "train.py" and "src/train.py" are
  // "/home/a/src/train.py", but "rain.py" is not.
  std::string file;
  // 0: any.
  uint32_t line = 0;

  // From "train.py:42" or "train.py". A colon that is not followed by a number
  // is part of the path.
  static SourceFilter Parse(absl::string_view text);

  bool Matches(absl::string_view path, uint32_t at) const;
};

// "conv2d" also means "aten::conv2d". In upper or lower case.
bool IsOpType(absl::string_view op_type, absl::string_view wanted);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SOURCE_FILTER_H_
