// Answers offers of parts of the graph, so that of ranks that run the same
// program only some send it.
#ifndef SERVER_JOBS_GRAPH_OFFERS_H_
#define SERVER_JOBS_GRAPH_OFFERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "server/base/task_runner.h"
#include "server/graph/graph_store.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/rank.h"

namespace graphdbg::jobs {

// A rank whose parts are all known is answered at once. Of the others, only a
// few send at a time. Those that wait mostly need nothing any more when their
// turn comes: what they have has been sent by then.
//
// On the job's strand only.
class GraphOffers {
 public:
  static constexpr size_t kMaxSending = 8;

  // Is called when an answer has completed other nodes of the graph.
  using Changed =
      std::function<void(Rank& rank, const graph::GraphChanges& changes)>;

  // `graph` and `tasks` must outlive this.
  GraphOffers(graph::GraphStore& graph, TaskRunner& tasks, Changed changed)
      : graph_(graph), tasks_(tasks), changed_(std::move(changed)) {}

  // Answers the offer, now or later. The rank must stay where it is until it is
  // answered or removed. INVALID_ARGUMENT if it has not been answered yet.
  absl::Status Add(Rank& rank, GraphOffer offer);
  // The rank has sent a part of the graph, which may be what it was asked for.
  void OnSent(const Rank& rank);
  // The rank's stream has ended.
  void Remove(const Rank& rank);

  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    Rank* rank;
    GraphOffer offer;
  };

  // Returns false if the rank would have to send something, but has to wait.
  bool Answer(Rank& rank, const GraphOffer& offer);
  void AnswerWaiting();
  // Ends the rank's turn, if it has one.
  void EndTurn(uint32_t rank);

  graph::GraphStore& graph_;
  TaskRunner& tasks_;
  const Changed changed_;
  std::deque<Waiting> waiting_;
  // The timers of the ranks that have been asked to send something.
  std::map<uint32_t, std::shared_ptr<void>> sending_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_GRAPH_OFFERS_H_
