// The selection of a watchpoint: the nodes, whether or not they are known yet,
// the ranks, and the tensors that it applies to.
#ifndef AGENT_CONDITIONS_SELECTION_H_
#define AGENT_CONDITIONS_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::conditions {

// Numbers as in proto/graphdbg/v1/graph.proto.
enum class Category {
  kOther = 0,
  kWeight = 1,
  kGradient = 2,
  kActivation = 3,
  kOptimizer = 4,
};

// Ways to say which nodes.
struct NodeLists {
  // Full names.
  std::vector<std::string> nodes;
  // Scopes, without trailing slash, which select all nodes below them.
  std::vector<std::string> scopes;
  // Shell patterns over full names, see PatternSet.
  std::vector<std::string> patterns;
  // Regular expressions of RE2, found anywhere in the full name in upper or
  // lower case, as in the page's search.
  std::vector<std::string> regexes;
  std::vector<Category> categories;

  // Types of ops, with or without their namespace: "addmm", "aten::addmm".
  std::vector<std::string> op_types;
  // Lines of the user's code, "model.py:32", or files, "src/model.py". For a
  // backward op, the line of its forward op.
  std::vector<std::string> sources;
  // The types of the tensors, known when they exist.
  std::vector<DType> dtypes;
  std::vector<uint32_t> ranks;

  // Nothing chooses nodes by name or category.
  bool names_nothing() const {
    return nodes.empty() && scopes.empty() && patterns.empty() &&
           regexes.empty() && categories.empty();
  }
  bool empty() const {
    return names_nothing() && op_types.empty() && sources.empty() &&
           dtypes.empty() && ranks.empty();
  }
};

bool operator==(const NodeLists& a, const NodeLists& b);

// The union of nodes, scopes, patterns, regexes and categories (if all are
// empty, every node), narrowed to what is on each other list that is not empty,
// without what any entry of `exclude` describes.
struct NodeSelection : NodeLists {
  NodeLists exclude;

  bool everything() const { return empty() && exclude.empty(); }
  // Only the full names of nodes choose nodes.
  bool only_listed() const;
};

bool operator==(const NodeSelection& a, const NodeSelection& b);

// The first key in use that agents without "watchpoints/selection" do not know;
// empty if there is none. `ranks` is known, since the server applies it.
absl::string_view ExtendedKey(const NodeSelection& selection);

// Whether the selection applies to this rank.
bool IncludesRank(const NodeSelection& selection, uint32_t rank);

// Users write patterns and regular expressions, and they are matched with every
// node of a job: on the server while other users wait for the job, and in the
// training process.
constexpr size_t kMaxPatternBytes = 1'024;
// For all patterns and regular expressions of one selection, and of all
// selections of a job.
constexpr size_t kMaxSelectionPatternBytes = 4'096;
constexpr size_t kMaxJobPatternBytes = 65'536;

size_t PatternBytes(const NodeSelection& selection);

// INVALID_ARGUMENT if a list is too long or has an entry that means nothing.
// The payload "graphdbg/field" names it: "regexes[0]", "exclude.sources[2]".
absl::Status Validate(const NodeSelection& selection);

// The same for the form of entries only, without limits on lengths and counts.
absl::Status CheckEntries(const NodeSelection& selection);

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_SELECTION_H_
