// A session with one scripted answer per question, for tests of handlers.
#ifndef SERVER_API_TESTING_FAKE_SESSION_H_
#define SERVER_API_TESTING_FAKE_SESSION_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "server/session/interfaces.h"

namespace graphdbg::api::testing {

// Answers what is set in it and remembers what it was asked. Set the answers
// before requests come.
class FakeJob : public session::Job {
 public:
  explicit FakeJob(std::string id);

  const std::string& id() const override { return info.id; }
  session::Task<session::JobInfo> Describe() override;
  session::Task<std::string> Control(session::ControlRequest request) override;
  session::Task<std::vector<session::GraphInfo>> Graphs() override;
  session::Task<std::shared_ptr<const session::GraphFile>> Index(
      std::string graph) override;
  session::Task<session::GraphPage> Export(std::string graph,
                                           uint64_t from) override;
  session::Task<session::ScopeView> Scope(
      std::string graph, std::string name,
      std::optional<uint32_t> aggregate_above) override;
  session::Task<session::NodeDetail> Node(std::string name) override;
  session::Task<session::SearchResult> Search(
      session::SearchQuery query) override;
  session::Task<session::Neighbours> Around(
      session::NeighbourQuery query) override;
  session::Task<std::vector<session::WatchpointInfo>> Watchpoints() override;
  session::Task<session::WatchpointInfo> GetWatchpoint(uint32_t id) override;
  session::Task<session::WatchpointInfo> AddWatchpoint(
      session::WatchpointSpec spec) override;
  session::Task<uint64_t> CountNodes(session::WatchpointSpec spec) override;
  session::Task<session::WatchpointInfo> ChangeWatchpoint(
      uint32_t id, session::WatchpointChange change) override;
  session::StatusTask RemoveWatchpoint(uint32_t id) override;
  session::Task<session::RecommendedInfo> AddRecommended() override;
  session::Task<session::HitResult> Hits(session::HitQuery query) override;
  session::Task<std::vector<session::HitInfo>> NewestHits(
      uint32_t limit) override;
  session::Task<std::vector<session::TensorSummary>> Tensors(
      std::string node, uint32_t rank) override;
  session::Task<session::TensorValue> Tensor(
      session::TensorQuery query) override;
  session::Task<session::TensorHistory> History(std::string node, uint32_t slot,
                                                uint32_t rank) override;
  session::StatusTask CatchTensors(std::string node, uint32_t rank) override;

  session::JobInfo info;
  // If not OK, the answer to everything but Describe.
  absl::Status error;
  session::GraphFile index;
  // By where they begin.
  std::map<uint64_t, session::GraphPage> pages;
  session::ScopeView scope;
  session::NodeDetail node;
  session::SearchResult found;
  session::Neighbours neighbours;
  session::TensorHistory history;
  // By id.
  std::map<uint32_t, session::WatchpointInfo> watchpoints;
  session::RecommendedInfo recommended;
  session::HitResult hits;
  std::vector<session::TensorSummary> tensors;
  session::TensorValue tensor;
  // The answer from the second request on, if there is one.
  std::optional<session::TensorValue> second_tensor;

  std::optional<session::ControlRequest> asked_control;
  std::optional<session::SearchQuery> asked_search;
  std::optional<session::HitQuery> asked_hits;
  std::optional<session::NeighbourQuery> asked_neighbours;
  // Node, slot and rank.
  std::tuple<std::string, uint32_t, uint32_t> asked_history;
  // The last one, and all.
  std::optional<session::TensorQuery> asked_tensor;
  std::vector<session::TensorQuery> tensor_queries;
  std::string asked_index;
  std::optional<uint32_t> asked_aggregates;
  // Graph and name, node and rank.
  std::pair<std::string, std::string> asked_scope;
  std::string asked_node;
  std::pair<std::string, uint32_t> asked_tensors;
  std::pair<std::string, uint32_t> asked_catch;
};

class FakeDirectory : public session::Directory {
 public:
  std::shared_ptr<FakeJob> Add(const std::string& id);

  // Gives the event its seq and tells the subscribers.
  void Emit(session::Event event);

  std::vector<std::shared_ptr<session::Job>> Jobs() const override;
  std::shared_ptr<session::Job> Find(const std::string& id) const override;
  session::StatusTask Forget(std::string id) override;
  std::shared_ptr<void> Subscribe(session::EventSink sink) override;

 private:
  mutable std::mutex mu_;
  std::map<std::string, std::shared_ptr<FakeJob>> jobs_;
  std::map<std::string, uint64_t> seqs_;
  std::vector<std::weak_ptr<session::EventSink>> sinks_;
};

}  // namespace graphdbg::api::testing

#endif  // SERVER_API_TESTING_FAKE_SESSION_H_
