// Offers of parts of the graph, so that a server is not sent what it knows
// already, from other ranks or from before. See proto/docs/wire-protocol.md.
#ifndef AGENT_CORE_GRAPH_OFFER_H_
#define AGENT_CORE_GRAPH_OFFER_H_

#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
#include "proto/graphdbg/v1/graph.pb.h"

namespace graphdbg::agent {

// Sets the digests of the nodes and files. Nodes that refer to other nodes have
// the same digest on every rank on which those have the same names: `name_of`
// returns the name of a node by its id.
void AddDigests(const std::function<absl::string_view(uint32_t id)>& name_of,
                v1::GraphUpdate* update);

// The offer of an update that has digests.
v1::GraphOffer OfferOf(const v1::GraphUpdate& update);

// Removes the nodes and files of the update that the server does not need. The
// last steps of these nodes remain.
void KeepNeeded(const v1::NeededGraph& needed, v1::GraphUpdate* update);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_GRAPH_OFFER_H_
