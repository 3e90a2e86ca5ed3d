// Like siblings as one: what a scope shows that has thousands of children.
//
//   optimizer/AdamW/add, …/add_1, …, …/add_29999   shown as
//   optimizer/AdamW/add[*]                         which holds
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

// An aggregate of more is opened in ranges of so many.
inline constexpr size_t kAggregateRange = 1'000;

// What like siblings have in common: the label without its number, as "add" of
// "add_12", "Conv2D-op" of "Conv2D-op7" and "" of "12".
std::string_view StemOf(std::string_view label);

// The name of an aggregate, taken apart.
struct AggregateName {
  std::string_view scope;
  std::string_view stem;
  // Of the members in the order in which they became known; absent: all.
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  std::optional<Range> range;
};
// Absent if it is no aggregate's.
std::optional<AggregateName> ParseAggregate(std::string_view name);
std::string AggregateLabel(std::string_view stem,
                           std::optional<AggregateName::Range> range);

// What a view shows as one: a child, or an aggregate.
struct Shown {
  std::vector<Child> children;
  // Empty: the child itself.
  std::string aggregate_label;
};

// The children of a scope, those with more than `above` like siblings as
// aggregates.
std::vector<Shown> Aggregated(const GraphStore& store, const Scope& scope,
                              size_t above);
// What an aggregate of this scope holds; empty if there is none such.
std::vector<Shown> OpenAggregate(const GraphStore& store, const Scope& scope,
                                 const AggregateName& name);

}  // namespace graphdbg::graph

#endif  // SERVER_GRAPH_AGGREGATES_H_
