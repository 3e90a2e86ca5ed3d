// From MindSpore's graphs to the session's.
#ifndef SERVER_MINDSPORE_GRAPH_TRANSLATION_H_
#define SERVER_MINDSPORE_GRAPH_TRANSLATION_H_

#include "proto/mindspore/graph.pb.h"
#include "server/graph/node_record.h"
#include "server/mindspore/node_book.h"

namespace graphdbg::mindspore {

// Ops keep their full names; parameters and constants, which have no scope on
// the wire, stand in that of their first consumer. An op that picks an output
// of another (tuple_getitem) is a node and an alias of that output. Nodes that
// were known before keep their ids; what the graph refers to and does not hold
// is left out.
graph::GraphPatch TranslateGraph(const debugger::GraphProto& graph,
                                 NodeBook& book);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_GRAPH_TRANSLATION_H_
