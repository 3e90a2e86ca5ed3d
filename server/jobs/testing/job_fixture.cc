#include "server/jobs/testing/job_fixture.h"

#include <utility>

#include "server/model/enum_names.h"

namespace graphdbg::jobs {

JobFixture::JobFixture() : JobFixture(std::make_shared<EventBus>()) {}

JobFixture::JobFixture(std::shared_ptr<EventBus> bus)
    : machine_([this](const JobStateMachine::Change& change) {
        changes_.push_back(absl::StrCat(
            change.rank.hello.rank, " ",
            std::string(model::ToString(change.rank_before)), " -> ",
            std::string(model::ToString(change.rank.run.state))));
      }),
      watch_table_(graph_),
      hits_(graph_),
      events_("job", 0, bus,
              [this](const ListedRanks&) {
                model::Job job;
                job.id = "job";
                job.state = machine_.job().state;
                return job;
              }),
      recorder_(std::make_unique<FakeJobJournal>(records_), tasks_,
                [this](const absl::Status& failure) {
                  events_.PublishLog(0, "error",
                                     std::string(failure.message()));
                }),
      bus_(std::move(bus)),
      subscription_(bus_->Subscribe(
          [this](const auto& event) { events_seen_.push_back(*event); })) {}

Rank& JobFixture::Connect(uint32_t rank, uint32_t world_size) {
  AgentHello hello;
  hello.rank = rank;
  hello.world_size = world_size;
  hello.incarnation = absl::StrCat("process ", rank);
  Rank& connected = machine_.OpenStream(
      std::move(hello), std::make_shared<FakeAgentLink>(), false);
  machine_.OnConnected(connected);
  return connected;
}

std::shared_ptr<FakeAgentLink> JobFixture::LinkOf(uint32_t rank) const {
  return std::static_pointer_cast<FakeAgentLink>(machine_.Find(rank)->link);
}

void JobFixture::AddNodes(Rank& rank, const std::vector<std::string>& names) {
  graph::GraphPatch patch;
  for (const std::string& name : names) {
    graph::NodeRecord record;
    record.id = ++last_node_id_;
    record.name = name;
    record.outputs = {{0, {}}};
    patch.nodes.push_back(std::move(record));
  }
  ASSERT_TRUE(graph_.Apply(patch, rank.ids).ok());
  watch_table_.MatchNewNodes();
}

void JobFixture::Run(Rank& rank, uint64_t step) {
  RunReport report;
  report.step = step;
  machine_.OnRunReport(rank, report, "");
}

void JobFixture::PauseAt(Rank& rank, uint64_t step, model::PauseReason reason,
                         uint32_t node_id) {
  RunReport report;
  report.paused = true;
  report.step = step;
  report.reason = reason;
  report.node_id = node_id;
  machine_.OnRunReport(rank, report, node_id == 0 ? "" : "node");
}

void JobFixture::Settle(const absl::Status& status) {
  while (records_.HasWaiting(status)) {
    records_.Flush(status);
    tasks_.RunPosted();
  }
}

std::vector<model::Event> JobFixture::EventsOf(model::Event::Type type) const {
  std::vector<model::Event> found;
  for (const model::Event& event : events_seen_) {
    if (event.type == type) found.push_back(event);
  }
  return found;
}

}  // namespace graphdbg::jobs
