#include "server/jobs/job_impl.h"

#include <chrono>
#include <utility>

#include "server/graph/graph_view.h"
#include "server/graph/search.h"
#include "server/jobs/strand_call.h"

namespace graphdbg::jobs {
namespace {

// Where numbers of events and commands begin: above all that an earlier server
// gave. They stay below 2^53, which JSON's readers count up to.
uint64_t FirstNumber(const JobOptions& options) {
  return options.journal == nullptr ? 0 : options.journal->life() << 32;
}

}  // namespace

JobImpl::JobImpl(std::string id, int64_t created_at_unix_nano,
                 std::unique_ptr<JobJournal> journal,
                 boost::asio::any_io_executor executor,
                 std::shared_ptr<const JobOptions> options,
                 std::shared_ptr<EventHub> hub)
    : id_(std::move(id)),
      options_(std::move(options)),
      hub_(std::move(hub)),
      created_at_unix_nano_(created_at_unix_nano),
      journal_(std::move(journal)),
      strand_(std::move(executor)),
      return_timer_(strand_),
      end_timer_(strand_),
      last_seq_(FirstNumber(*options_)),
      watch_(graph_),
      hits_(graph_),
      commands_(FirstNumber(*options_)),
      tensors_(options_->max_tensor_bytes, options_->max_pending_tensor_bytes) {
}

template <class R, class Work>
boost::asio::awaitable<R> JobImpl::OnStrand(Work work) {
  return CallOn<R>(strand_,
                   [self = shared_from_this(),
                    work = std::move(work)]() mutable -> R { return work(); });
}

Task<model::Job> JobImpl::Describe() {
  return OnStrand<absl::StatusOr<model::Job>>([this] { return Info(); });
}

Task<std::string> JobImpl::Control(model::ControlRequest request) {
  return OnStrand<absl::StatusOr<std::string>>(
      [this, request = std::move(request)] { return DoControl(request); });
}

Task<std::vector<model::GraphSummary>> JobImpl::Graphs() {
  return OnStrand<absl::StatusOr<std::vector<model::GraphSummary>>>(
      [this] { return graph::GraphView(graph_, *this).Graphs(); });
}

Task<model::GraphPage> JobImpl::Export(std::string graph, uint64_t from) {
  return OnStrand<absl::StatusOr<model::GraphPage>>(
      [this, graph = std::move(graph), from] {
        return graph::GraphView(graph_, *this).Page(graph, from);
      });
}

Task<model::ScopeView> JobImpl::Scope(std::string graph, std::string name,
                                      std::optional<uint32_t> aggregate_above) {
  const size_t above =
      aggregate_above ? *aggregate_above : graph::GraphView::kNoAggregates;
  return OnStrand<absl::StatusOr<model::ScopeView>>(
      [this, graph = std::move(graph), name = std::move(name), above] {
        return graph::GraphView(graph_, *this).ScopeNamed(graph, name, above);
      });
}

Task<model::NodeDetail> JobImpl::Node(std::string name) {
  return OnStrand<absl::StatusOr<model::NodeDetail>>(
      [this, name = std::move(name)] {
        return graph::GraphView(graph_, *this).Detail(name);
      });
}

Task<model::SearchResult> JobImpl::Search(model::SearchQuery query) {
  return OnStrand<absl::StatusOr<model::SearchResult>>(
      [this, query = std::move(query)] {
        return graph::Search(graph_, *this, query);
      });
}

Task<std::vector<model::Watchpoint>> JobImpl::Watchpoints() {
  return OnStrand<absl::StatusOr<std::vector<model::Watchpoint>>>([this] {
    std::vector<model::Watchpoint> infos;
    for (uint32_t id : watch_.Ids()) {
      infos.push_back(*WatchpointNamed(id));
    }
    return infos;
  });
}

Task<model::Watchpoint> JobImpl::GetWatchpoint(uint32_t id) {
  return OnStrand<absl::StatusOr<model::Watchpoint>>(
      [this, id] { return WatchpointNamed(id); });
}

Task<model::Watchpoint> JobImpl::AddWatchpoint(model::WatchpointSpec spec) {
  using Result = absl::StatusOr<model::Watchpoint>;
  return StartOn<Result>(
      strand_, [self = shared_from_this(),
                spec = std::move(spec)](std::function<void(Result)> complete) {
        auto id = self->watch_.Add(spec);
        if (!id.ok()) return complete(id.status());
        self->SpreadWatchpoint(*id, std::move(complete));
      });
}

Task<uint64_t> JobImpl::CountNodes(model::WatchpointSpec spec) {
  return OnStrand<absl::StatusOr<uint64_t>>(
      [this, spec = std::move(spec)] { return watch_.CountOf(spec); });
}

Task<model::Watchpoint> JobImpl::ChangeWatchpoint(
    uint32_t id, model::WatchpointChange change) {
  using Result = absl::StatusOr<model::Watchpoint>;
  return StartOn<Result>(
      strand_, [self = shared_from_this(), id, change = std::move(change)](
                   std::function<void(Result)> complete) {
        auto changed = self->watch_.Change(id, change);
        if (!changed.ok()) return complete(changed);
        self->SpreadWatchpoint(id, std::move(complete));
      });
}

// Agents hear of it once it is kept: none ever checks a revision that a
// restarted server does not know.
void JobImpl::SpreadWatchpoint(
    uint32_t id,
    std::function<void(absl::StatusOr<model::Watchpoint>)> complete) {
  if (noting()) {
    journal_->NoteWatchpoint(id, watch_.RevisionOf(id), &watch_.SpecOf(id));
  }
  WhenKept([this, id, complete = std::move(complete)] {
    // It may be removed by now.
    if (watch_.Check(id).ok()) {
      PushWatchpointToAll(id);
      NoteChanged(id);
      TellWatchpoint(id);
    }
    complete(WatchpointNamed(id));
  });
}

StatusTask JobImpl::RemoveWatchpoint(uint32_t id) {
  return StartOn<absl::Status>(
      strand_, [self = shared_from_this(),
                id](std::function<void(absl::Status)> complete) {
        self->DoRemoveWatchpoint(id, std::move(complete));
      });
}

void JobImpl::DoRemoveWatchpoint(uint32_t id,
                                 std::function<void(absl::Status)> complete) {
  if (auto known = watch_.Check(id); !known.ok()) return complete(known);
  const uint32_t revision = watch_.RevisionOf(id) + 1;
  if (auto removed = watch_.Remove(id); !removed.ok()) return complete(removed);
  if (noting()) journal_->NoteWatchpoint(id, revision, nullptr);
  WhenKept([this, id, complete = std::move(complete)] {
    for (auto& [number, rank] : ranks_) {
      if (rank.link) rank.link->Send(RemoveWatchpointOrder{id});
    }
    NoteChanged(id);
    TellWatchpoint(id);
    complete(absl::OkStatus());
  });
}

Task<model::HitPage> JobImpl::Hits(model::HitQuery query) {
  return OnStrand<absl::StatusOr<model::HitPage>>(
      [this, query = std::move(query)] { return hits_.Query(query); });
}

Task<std::vector<model::Hit>> JobImpl::NewestHits(uint32_t limit) {
  return OnStrand<absl::StatusOr<std::vector<model::Hit>>>(
      [this, limit] { return hits_.Newest(limit); });
}

Task<std::vector<model::TensorSummary>> JobImpl::Tensors(std::string node,
                                                         uint32_t rank) {
  return OnStrand<absl::StatusOr<std::vector<model::TensorSummary>>>(
      [this, node = std::move(node), rank] { return DoTensors(node, rank); });
}

Task<model::TensorValue> JobImpl::Tensor(model::TensorQuery query) {
  return StartOn<absl::StatusOr<model::TensorValue>>(
      strand_, [self = shared_from_this(), query = std::move(query)](
                   TensorDesk::Completion complete) mutable {
        self->StartTensor(std::move(query), std::move(complete));
      });
}

StatusTask JobImpl::CatchTensors(std::string node, uint32_t rank) {
  return OnStrand<absl::Status>([this, node = std::move(node), rank] {
    return DoCatchTensors(node, rank);
  });
}

absl::StatusOr<model::Watchpoint> JobImpl::WatchpointNamed(uint32_t id) const {
  if (auto known = watch_.Check(id); !known.ok()) return known;
  model::Watchpoint info;
  info.id = id;
  info.spec = watch_.SpecOf(id);
  info.node_count = watch_.NodeCountOf(id);
  info.hit_count = hits_.CountOfWatchpoint(id);
  info.error = watch_.ErrorOf(id);
  return info;
}

void JobImpl::PushWatchpoint(AgentLink& link, uint32_t id) const {
  SetWatchpointOrder order{id, watch_.RevisionOf(id), watch_.SpecOf(id)};
  // One of several ranks waits at the node until the others are asked to stop
  // after this step, and goes on to the step's end then.
  if (has_several_ranks() && order.spec.pause == model::PauseMode::kStep) {
    order.spec.pause = model::PauseMode::kNode;
  }
  link.Send(std::move(order));
}

void JobImpl::PushWatchpointToAll(uint32_t id) const {
  for (const auto& [number, rank] : ranks_) {
    if (rank.link) PushWatchpoint(*rank.link, id);
  }
}

uint64_t JobImpl::HitsOf(graph::Child child) const {
  return hits_.CountOf(child);
}

model::Watched JobImpl::WatchedOf(graph::Child child) const {
  return watch_.WatchedOf(child);
}

bool JobImpl::Covers(uint32_t watchpoint, graph::NodeIndex node) const {
  return watch_.Covers(watchpoint, node);
}

}  // namespace graphdbg::jobs
