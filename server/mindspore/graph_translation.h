// Translates MindSpore's graphs into those of jobs.
#ifndef SERVER_MINDSPORE_GRAPH_TRANSLATION_H_
#define SERVER_MINDSPORE_GRAPH_TRANSLATION_H_

#include "proto/mindspore/graph.pb.h"
#include "server/graph/node_record.h"
#include "server/mindspore/node_table.h"

namespace graphdbg::mindspore {

// Ops keep their full names. Parameters and constants, which have no scope on
// the wire, get the scope of their first consumer. An op that selects an output
// of another op (tuple_getitem) becomes a node that is an alias of that output.
// Known nodes keep their ids. References to nodes that the graph does not
// contain are ignored.
graph::GraphPatch TranslateGraph(const debugger::GraphProto& graph,
                                 NodeTable& table);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_GRAPH_TRANSLATION_H_
