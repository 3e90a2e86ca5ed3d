// The messages that report the graph to the server.
#ifndef AGENT_CORE_GRAPH_SENDER_H_
#define AGENT_CORE_GRAPH_SENDER_H_

#include <optional>

#include "agent/base/mutex.h"
#include "agent/core/node_table.h"
#include "agent/core/source_text.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// A server that takes offers is asked what it needs of each larger update, and
// then sent only that:
//
//   Next: offer ---> server
//                    server ---> Answer
//   Next: the rest of the update ---> server
class GraphSender {
 public:
  // `nodes` must outlive this. Without `source_files`, only lines are sent.
  GraphSender(NodeTable* nodes, bool source_files)
      : nodes_(nodes), source_text_(source_files) {}

  // --- On the sending thread.

  // A new stream, to a server that knows nothing yet.
  void OpenStream();
  // Returns false if nothing is to be sent now. Waits for the answer to an
  // offer, because what follows may refer to the nodes that were offered.
  bool Next(v1::AgentMessage* message) GRAPHDBG_EXCLUDES(mu_);
  // Adds the text of the line.
  void Fill(v1::SourceFrame* frame) { source_text_.Fill(frame); }

  // --- On the receiving thread.

  // The server has accepted the stream.
  void BeginStream(bool takes_offers) GRAPHDBG_EXCLUDES(mu_);
  void Answer(const v1::NeededGraph& needed) GRAPHDBG_EXCLUDES(mu_);
  void EndStream() GRAPHDBG_EXCLUDES(mu_);

 private:
  // Removes from update_ what the server does not need. False if the stream has
  // ended.
  bool Reduce() GRAPHDBG_EXCLUDES(mu_);
  bool TakesOffers() GRAPHDBG_EXCLUDES(mu_);

  NodeTable* const nodes_;
  // Used by the sending thread only, like the next two.
  SourceText source_text_;
  v1::GraphUpdate update_;
  // update_ was offered.
  bool offered_ = false;

  Mutex mu_;
  CondVar changed_;
  bool live_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool takes_offers_ GRAPHDBG_GUARDED_BY(mu_) = false;
  std::optional<v1::NeededGraph> answer_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_GRAPH_SENDER_H_
