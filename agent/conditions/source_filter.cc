#include "agent/conditions/source_filter.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace graphdbg::conditions {

SourceFilter SourceFilter::Parse(absl::string_view text) {
  SourceFilter filter;
  const size_t colon = text.rfind(':');
  if (colon != absl::string_view::npos &&
      absl::SimpleAtoi(text.substr(colon + 1), &filter.line)) {
    text = text.substr(0, colon);
  }
  filter.file = std::string(text);
  return filter;
}

bool SourceFilter::Matches(absl::string_view path, uint32_t at) const {
  if (line != 0 && at != line) return false;
  if (!absl::EndsWith(path, file)) return false;
  return path.size() == file.size() || file.empty() || file.front() == '/' ||
         path[path.size() - file.size() - 1] == '/';
}

bool IsOpType(absl::string_view op_type, absl::string_view wanted) {
  if (!absl::EndsWithIgnoreCase(op_type, wanted)) return false;
  const absl::string_view rest =
      op_type.substr(0, op_type.size() - wanted.size());
  return rest.empty() || absl::EndsWith(rest, "::");
}

}  // namespace graphdbg::conditions
