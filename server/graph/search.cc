#include "server/graph/search.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/conditions/source_filter.h"
#include "proto/wire/status_macros.h"
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

bool IsAt(const conditions::SourceFilter& wanted,
          const model::SourceLine& line) {
  return wanted.Matches(line.file, line.line);
}

// The frames that fulfil a criterion. Each distinct frame is checked once: the
// stacks of a graph's nodes share most of their frames.
class FrameSet {
 public:
  template <class Criterion>
  FrameSet(const GraphStore& store, Criterion criterion)
      : store_(store), fulfils_(store.frame_count()) {
    for (FrameIndex i = 0; i < fulfils_.size(); ++i) {
      fulfils_[i] = criterion(store.frame(i));
      empty_ = empty_ && !fulfils_[i];
    }
  }

  bool empty() const { return empty_; }

  // The innermost such frame of the stack that SourceOf uses, or else of the
  // node's own. Null if there is none.
  const model::SourceLine* FindIn(NodeIndex index) const {
    if (empty_) return nullptr;
    const std::vector<FrameIndex>& shown = store_.StackOf(index);
    const std::vector<FrameIndex>& own = store_.node(index).stack;
    const model::SourceLine* found = Find(shown);
    return found != nullptr || &shown == &own ? found : Find(own);
  }

 private:
  const model::SourceLine* Find(const std::vector<FrameIndex>& stack) const {
    for (FrameIndex frame : stack) {
      if (fulfils_[frame]) return &store_.frame(frame);
    }
    return nullptr;
  }

  const GraphStore& store_;
  std::vector<char> fulfils_;
  bool empty_ = true;
};

// Whether a node or scope belongs to the results, and by which frame.
struct Match {
  bool found = false;
  // Null unless a frame decided.
  const model::SourceLine* frame = nullptr;
};

class Filter {
 public:
  Filter(const GraphStore& store, const Annotations& annotations,
         const model::SearchQuery& query)
      : store_(store),
        annotations_(annotations),
        query_(query),
        q_(query.q),
        wanted_(conditions::SourceFilter::Parse(query.source)),
        source_(store,
                [this](const model::SourceLine& frame) {
                  return !query_.source.empty() && IsAt(wanted_, frame);
                }),
        code_(store, [this](const model::SourceLine& frame) {
          return SearchesCode() &&
                 (q_.IsIn(frame.text) || q_.IsIn(frame.function));
        }) {}

  // False if NodeByCode finds nothing.
  bool FindsCode() const { return !code_.empty() || FindsOuterFrames(); }

  Match NodeByName(NodeIndex index) const {
    const model::SourceLine* source = nullptr;
    if (!Fits(index, source) || !q_.IsIn(store_.node(index).name)) return {};
    return {true, source};
  }

  // Leaves out what NodeByName finds, or for kCode what a search of names and
  // of the nodes' own lines finds.
  Match NodeByCode(NodeIndex index) const {
    const model::SourceLine* code = code_.FindIn(index);
    if (code == nullptr && !FindsOuterFrames()) return {};
    const bool named = q_.IsIn(store_.node(index).name);
    if (named ? !FindsOuterFrames() : code == nullptr) return {};
    const model::SourceLine* source = nullptr;
    if (!Fits(index, source)) return {};
    if (named && IsAt(wanted_, *store_.SourceOf(index))) return {};
    return {true, source != nullptr ? source : code};
  }

  Match ScopeByName(ScopeIndex index) const {
    const graph::Scope& scope = store_.scope(index);
    // Scopes have no category, source or watchpoints.
    if (scope.name.empty() || query_.category || query_.watchpoint ||
        !query_.source.empty()) {
      return {};
    }
    if (!query_.op_type.empty() &&
        !conditions::IsOpType(scope.type, query_.op_type)) {
      return {};
    }
    return {q_.IsIn(scope.name)};
  }

 private:
  bool SearchesCode() const {
    return !query_.q.empty() && query_.in != model::SearchIn::kNames &&
           query_.kind != model::NodeKind::kScope;
  }

  // A search of kCode also finds nodes by frames other than their own line.
  bool FindsOuterFrames() const {
    return query_.in == model::SearchIn::kCode && !source_.empty() &&
           query_.kind != model::NodeKind::kScope;
  }

  // Checks everything but `q`. Sets `source` if the query has one.
  bool Fits(NodeIndex index, const model::SourceLine*& source) const {
    const graph::Node& node = store_.node(index);
    if (query_.category && node.category != *query_.category) return false;
    if (query_.kind && node.kind != *query_.kind) return false;
    if (!query_.op_type.empty() &&
        !conditions::IsOpType(node.op_type, query_.op_type)) {
      return false;
    }
    if (query_.watchpoint && !annotations_.Covers(*query_.watchpoint, index)) {
      return false;
    }
    if (query_.source.empty()) return true;
    source = source_.FindIn(index);
    return source != nullptr;
  }

  const GraphStore& store_;
  const Annotations& annotations_;
  const model::SearchQuery& query_;
  const FoldedFinder q_;
  const conditions::SourceFilter wanted_;
  const FrameSet source_;
  const FrameSet code_;
};

// The place where a search continues. Nodes that match by name come first, then
// those that match only by their code.
struct Position {
  bool in_code = false;
  size_t next = 0;
};

constexpr std::string_view kInCode = "code:";

std::string CursorOf(const Position& at) {
  return absl::StrCat(at.in_code ? std::string(kInCode) : "", at.next);
}

absl::StatusOr<Position> BeginOf(const model::SearchQuery& query) {
  if (query.cursor.empty()) return Position{query.in == model::SearchIn::kCode};
  Position at;
  std::string_view number = query.cursor;
  at.in_code = number.starts_with(kInCode);
  if (at.in_code) number.remove_prefix(kInCode.size());
  const char* end = number.data() + number.size();
  auto [stop, error] = std::from_chars(number.data(), end, at.next);
  if (error == std::errc() && stop == end) return at;
  return WithField(Error(absl::StatusCode::kInvalidArgument, "invalid_cursor",
                         absl::StrCat("cursor \"", query.cursor,
                                      "\" does not come from this server")),
                   "cursor");
}

}  // namespace

absl::StatusOr<model::SearchResult> Search(const GraphStore& store,
                                           const Annotations& annotations,
                                           const model::SearchQuery& query) {
  ASSIGN_OR_RETURN(Position at, BeginOf(query));
  const bool scopes = query.kind == model::NodeKind::kScope;
  const size_t size = scopes ? store.scope_count() : store.node_count();
  const GraphView view(store, annotations);
  const Filter filter(store, annotations, query);
  const auto check = [&](uint32_t index) {
    if (at.in_code) return filter.NodeByCode(index);
    return scopes ? filter.ScopeByName(index) : filter.NodeByName(index);
  };
  const uint32_t limit = std::clamp<uint32_t>(query.limit, 1, kMaxLimit);
  model::SearchResult result;
  if (at.in_code && !filter.FindsCode()) return result;
  while (true) {
    for (; at.next < size; ++at.next) {
      const uint32_t index = static_cast<uint32_t>(at.next);
      const Match match = check(index);
      if (!match.found) continue;
      if (result.nodes.size() == limit) {
        result.next_cursor = CursorOf(at);
        return result;
      }
      result.nodes.push_back(view.Info({scopes, index}));
      if (match.frame != nullptr) result.nodes.back().match = *match.frame;
    }
    if (at.in_code || !filter.FindsCode()) return result;
    at = {true, 0};
  }
}

}  // namespace graphdbg::graph
