#include "server/graph/search.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/graph/graph_view.h"

namespace graphdbg::graph {
namespace {

constexpr uint32_t kMaxLimit = 1'000;

bool SameLetter(char a, char b) {
  return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
         absl::ascii_tolower(static_cast<unsigned char>(b));
}

unsigned char Folded(char c) {
  return static_cast<unsigned char>(
      absl::ascii_tolower(static_cast<unsigned char>(c)));
}

// Case-insensitive search for one string in many others. Uses Horspool's
// algorithm, which inspects only a few characters of each.
class FoldedFinder {
 public:
  explicit FoldedFinder(std::string_view wanted) : wanted_(wanted) {
    skips_.fill(wanted.size());
    for (size_t i = 0; i + 1 < wanted.size(); ++i) {
      skips_[Folded(wanted[i])] = wanted.size() - 1 - i;
    }
  }

  bool IsIn(std::string_view text) const {
    const size_t size = wanted_.size();
    if (size == 0) return true;
    for (size_t end = size; end <= text.size();) {
      const char last = text[end - 1];
      const bool found = SameLetter(last, wanted_.back()) &&
                         std::equal(wanted_.begin(), wanted_.end(),
                                    text.begin() + (end - size), SameLetter);
      if (found) return true;
      end += skips_[Folded(last)];
    }
    return false;
  }

 private:
  const std::string_view wanted_;
  // How far to advance after a mismatch, by the last character compared.
  std::array<size_t, 256> skips_;
};

// "conv2d" also matches "aten::conv2d".
bool IsOpType(std::string_view op_type, std::string_view wanted) {
  if (op_type.size() < wanted.size()) return false;
  const size_t rest = op_type.size() - wanted.size();
  if (!std::equal(wanted.begin(), wanted.end(), op_type.begin() + rest,
                  SameLetter)) {
    return false;
  }
  return rest == 0 || (rest >= 2 && op_type.substr(rest - 2, 2) == "::");
}

struct SourceFilter {
  std::string_view file;
  uint32_t line = 0;

  static SourceFilter Parse(std::string_view text) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return {text, 0};
    uint32_t line = 0;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + colon + 1, end, line);
    // A colon that is not followed by a number is part of the path.
    if (error != std::errc() || stop != end) return {text, 0};
    return {text.substr(0, colon), line};
  }

  bool Matches(const model::SourceLine& source) const {
    if (line != 0 && source.line != line) return false;
    const std::string_view path = source.file;
    if (!path.ends_with(file)) return false;
    return path.size() == file.size() || file.empty() || file.front() == '/' ||
           path[path.size() - file.size() - 1] == '/';
  }
};

class Filter {
 public:
  Filter(const GraphStore& store, const Annotations& annotations,
         const model::SearchQuery& query)
      : store_(store),
        annotations_(annotations),
        query_(query),
        q_(query.q),
        source_(SourceFilter::Parse(query.source)) {}

  bool Node(NodeIndex index) const {
    const graph::Node& node = store_.node(index);
    if (query_.category && node.category != *query_.category) return false;
    if (query_.kind && node.kind != *query_.kind) return false;
    if (!query_.op_type.empty() && !IsOpType(node.op_type, query_.op_type)) {
      return false;
    }
    if (query_.watchpoint && !annotations_.Covers(*query_.watchpoint, index)) {
      return false;
    }
    if (!query_.source.empty()) {
      const model::SourceLine* source = store_.SourceOf(index);
      if (source == nullptr || !source_.Matches(*source)) return false;
    }
    return q_.IsIn(node.name);
  }

  bool Scope(ScopeIndex index) const {
    const graph::Scope& scope = store_.scope(index);
    // Scopes have no category, source or watchpoints.
    if (scope.name.empty() || query_.category || query_.watchpoint ||
        !query_.source.empty()) {
      return false;
    }
    if (!query_.op_type.empty() && !IsOpType(scope.type, query_.op_type)) {
      return false;
    }
    return q_.IsIn(scope.name);
  }

 private:
  const GraphStore& store_;
  const Annotations& annotations_;
  const model::SearchQuery& query_;
  const FoldedFinder q_;
  const SourceFilter source_;
};

}  // namespace

absl::StatusOr<model::SearchResult> Search(const GraphStore& store,
                                           const Annotations& annotations,
                                           const model::SearchQuery& query) {
  const bool scopes = query.kind == model::NodeKind::kScope;
  const size_t size = scopes ? store.scope_count() : store.node_count();
  size_t next = 0;
  if (!query.cursor.empty()) {
    const char* end = query.cursor.data() + query.cursor.size();
    auto [stop, error] = std::from_chars(query.cursor.data(), end, next);
    if (error != std::errc() || stop != end) {
      return WithField(
          Error(absl::StatusCode::kInvalidArgument, "invalid_cursor",
                absl::StrCat("cursor \"", query.cursor,
                             "\" does not come from this server")),
          "cursor");
    }
  }
  const GraphView view(store, annotations);
  const Filter filter(store, annotations, query);
  const uint32_t limit = std::clamp<uint32_t>(query.limit, 1, kMaxLimit);
  model::SearchResult result;
  for (; next < size; ++next) {
    const uint32_t index = static_cast<uint32_t>(next);
    if (!(scopes ? filter.Scope(index) : filter.Node(index))) continue;
    if (result.nodes.size() == limit) {
      result.next_cursor = absl::StrCat(next);
      break;
    }
    result.nodes.push_back(view.Info({scopes, index}));
  }
  return result;
}

}  // namespace graphdbg::graph
