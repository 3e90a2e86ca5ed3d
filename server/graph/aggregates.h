// Aggregates: many similar siblings shown as one node, for scopes that have
// thousands of children.
//
//   optimizer/AdamW/add, …/add_1, …, …/add_29999   are shown as
//   optimizer/AdamW/add[*]                         which expands to
//   optimizer/AdamW/add[0:1000], …/add[1000:2000]  and so on
#ifndef SERVER_GRAPH_AGGREGATES_H_
#define SERVER_GRAPH_AGGREGATES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/graph/graph_store.h"

namespace graphdbg::graph {

// Larger aggregates expand to ranges of this size.
inline constexpr size_t kAggregateRange = 1'000;

// The part of the label that similar siblings share, which is the label without
// its number: "add" for "add_12", "Conv2D-op" for "Conv2D-op7", "" for "12".
std::string_view StemOf(std::string_view label);

// The parts of an aggregate's name.
struct AggregateName {
  std::string_view scope;
  std::string_view stem;
  // Members by the order in which they became known.
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  // Absent for the aggregate of all members.
  std::optional<Range> range;
};

// Absent if the name is not that of an aggregate.
std::optional<AggregateName> ParseAggregate(std::string_view name);
std::string AggregateLabel(std::string_view stem,
                           std::optional<AggregateName::Range> range);

// One item of a view: a child, or an aggregate of several.
struct ViewItem {
  std::vector<Child> children;
  // Empty for a single child.
  std::string aggregate_label;
};

// The children of a scope. Groups of more than `above` similar siblings become
// aggregates.
std::vector<ViewItem> AggregateChildren(const GraphStore& store,
                                        const Scope& scope, size_t above);

// The content of an aggregate in this scope. Empty if it does not exist.
std::vector<ViewItem> ExpandAggregate(const GraphStore& store,
                                      const Scope& scope,
                                      const AggregateName& name);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_AGGREGATES_H_
