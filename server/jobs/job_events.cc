#include "server/jobs/job_events.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {
namespace {

model::Event EventOf(model::Event::Type type, uint32_t rank = 0) {
  model::Event event;
  event.type = type;
  event.rank = rank;
  return event;
}

ListedRanks Changed(std::vector<uint32_t> ranks, bool brief) {
  return {ListedRanks::Which::kChanged, std::move(ranks), brief};
}

}  // namespace

JobEvents::JobEvents(std::string job, uint64_t last_number,
                     std::shared_ptr<EventBus> bus, DescribeFunction describe)
    : job_(std::move(job)),
      bus_(std::move(bus)),
      describe_(std::move(describe)),
      last_number_(last_number) {}

void JobEvents::PublishJob(uint32_t rank) {
  model::Event event = EventOf(model::Event::Type::kJob, rank);
  event.job_info = describe_(Changed({rank}, /*brief=*/false));
  Publish(std::move(event));
}

void JobEvents::PublishRemoval() { Publish(EventOf(model::Event::Type::kJob)); }

void JobEvents::PublishState(uint32_t rank) { PublishStates({rank}); }

void JobEvents::PublishStates(std::vector<uint32_t> ranks) {
  model::Event event = EventOf(model::Event::Type::kState, ranks.front());
  event.job_info = describe_(Changed(std::move(ranks), /*brief=*/true));
  Publish(std::move(event));
}

void JobEvents::PublishCommand(uint64_t id,
                               const model::ControlRequest& request) {
  model::Event event =
      EventOf(model::Event::Type::kCommand, request.rank.value_or(0));
  event.command_id = absl::StrCat(id);
  event.command = request;
  Publish(std::move(event));
}

void JobEvents::PublishCommandResult(uint32_t rank,
                                     const CommandResult& result) {
  model::Event event = EventOf(model::Event::Type::kState, rank);
  event.job_info = describe_(Changed({rank}, /*brief=*/true));
  event.command_id = absl::StrCat(result.id);
  if (!result.error.empty()) {
    event.level = "error";
    event.message = result.error;
  }
  Publish(std::move(event));
}

void JobEvents::PublishGraph(uint32_t rank, uint64_t node_count) {
  model::Event event = EventOf(model::Event::Type::kGraph, rank);
  event.node_count = node_count;
  Publish(std::move(event));
}

void JobEvents::PublishHit(uint32_t rank, model::Hit hit) {
  model::Event event = EventOf(model::Event::Type::kHit, rank);
  event.hit = std::move(hit);
  Publish(std::move(event));
}

void JobEvents::PublishFinding(model::Finding finding) {
  model::Event event =
      EventOf(model::Event::Type::kFinding, finding.rank.value_or(0));
  event.finding = std::move(finding);
  Publish(std::move(event));
}

void JobEvents::PublishWatchpoint(uint32_t id,
                                  std::optional<model::Watchpoint> watchpoint) {
  model::Event event = EventOf(model::Event::Type::kWatchpoint);
  event.watchpoint_id = id;
  event.watchpoint = std::move(watchpoint);
  Publish(std::move(event));
}

void JobEvents::PublishLog(uint32_t rank, std::string level,
                           std::string message) {
  model::Event event = EventOf(model::Event::Type::kLog, rank);
  event.level = std::move(level);
  event.message = std::move(message);
  Publish(std::move(event));
}

void JobEvents::Publish(model::Event event) {
  event.seq = ++last_number_;
  event.job = job_;
  bus_->Publish(std::make_shared<const model::Event>(std::move(event)));
}

}  // namespace graphdbg::jobs
