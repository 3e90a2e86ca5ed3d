// Commands and tensor requests: what people ask of a job's agents.
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/graph/graph_view.h"
#include "server/jobs/job_impl.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

constexpr size_t kMaxSliceBytes = 1'024;

// Lets a paused rank go.
bool Resumes(model::ControlVerb verb) {
  return verb == model::ControlVerb::kContinue ||
         verb == model::ControlVerb::kStep ||
         verb == model::ControlVerb::kNextNode ||
         verb == model::ControlVerb::kContinueTo;
}

absl::Status JobGone(const std::string& what) {
  return Error(absl::StatusCode::kUnavailable, "job_gone", what);
}

// An adapter gives this attribute to nodes that it can show but not look into.
constexpr char kNotCaptured[] = "not captured";

absl::Status CheckCaptured(const graph::Node& node) {
  const auto why = node.attributes.find(kNotCaptured);
  if (why == node.attributes.end()) return absl::OkStatus();
  return Error(absl::StatusCode::kFailedPrecondition, "not_captured",
               absl::StrCat("values of \"", node.name,
                            "\" are not captured: ", why->second));
}

}  // namespace

// A command goes to all ranks: what one cannot do, the job cannot.
absl::Status JobImpl::CheckSupported(model::ControlVerb verb) const {
  for (const auto& [number, rank] : ranks_) {
    auto it = rank.hello.unsupported.find(verb);
    if (it == rank.hello.unsupported.end()) continue;
    return Error(absl::StatusCode::kUnimplemented, "unsupported_command",
                 it->second);
  }
  return absl::OkStatus();
}

absl::Status UnknownRank(uint32_t rank) {
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_rank",
                         absl::StrCat("the job has no rank ", rank)),
                   "rank");
}

absl::StatusOr<std::string> JobImpl::DoControl(
    const model::ControlRequest& request) {
  if (auto can = CheckSupported(request.verb); !can.ok()) return can;
  auto targets = TargetsOf(request);
  if (!targets.ok()) return targets.status();
  if (auto fits = CheckRequest(request); !fits.ok()) return fits;
  const uint64_t id = commands_.Open(*targets);
  TellCommand(id, request);
  const bool for_all = IsForAll(request);
  const uint64_t until = StepAfter(request.steps);
  if (has_several_ranks()) NoteIntent(request);
  if (for_all && request.verb == model::ControlVerb::kTerminate &&
      EndTogether(id)) {
    return absl::StrCat(id);
  }
  CommandOrder order;
  order.id = id;
  order.verb = request.verb;
  order.steps = request.steps;
  order.node = request.node;
  order.pending = request.pending;
  order.at_step_end = for_all;
  if (request.verb == model::ControlVerb::kRecheck) {
    order.watchpoints.assign(unchecked_.begin(), unchecked_.end());
    SetUnchecked({});
  }
  for (uint32_t number : *targets) {
    Rank& rank = ranks_.at(number);
    if (for_all) order.steps = until - rank.steps_ended;
    Send(rank, order);
  }
  return absl::StrCat(id);
}

absl::Status JobImpl::CheckRequest(const model::ControlRequest& request) const {
  if (request.verb == model::ControlVerb::kStep && request.steps == 0) {
    return WithField(Error(absl::StatusCode::kInvalidArgument, "invalid_steps",
                           "steps has to be at least 1"),
                     "steps");
  }
  if (IsForAll(request)) return CheckForAll(request);
  if (request.verb == model::ControlVerb::kContinueTo && !request.pending &&
      graph_.FindNode(request.node) == graph::kNoNode) {
    return WithField(
        Error(absl::StatusCode::kNotFound, "unknown_node",
              absl::StrCat("no node \"", request.node,
                           "\" is known; with \"pending\" the job runs until "
                           "one appears")),
        "node");
  }
  return absl::OkStatus();
}

void JobImpl::Send(Rank& rank, const CommandOrder& order) {
  rank.link->Send(order);
  RunState next = rank.run;
  if (Resumes(order.verb)) {
    rank.resuming = order.id;
    rank.stops_after.reset();
    if (order.verb == model::ControlVerb::kStep) {
      rank.stops_after = rank.steps_ended + order.steps;
    }
    // It may have stopped by now, and goes on then.
    if (next.state == model::JobState::kPausing)
      next.state = model::JobState::kRunning;
  }
  if (order.verb == model::ControlVerb::kPause) {
    rank.stops_after.reset();
    next.state = model::JobState::kPausing;
  }
  if (order.verb == model::ControlVerb::kTerminate)
    rank.ending_stream = rank.stream;
  Transition(rank, std::move(next));
}

absl::StatusOr<std::set<uint32_t>> JobImpl::TargetsOf(
    const model::ControlRequest& request) {
  if (request.rank && ranks_.count(*request.rank) == 0) {
    return UnknownRank(*request.rank);
  }
  // Ranks need not agree: where some are paused and some run, a command goes
  // to those whom it fits, and is refused if that is none.
  std::set<uint32_t> targets;
  bool under_way = false;
  for (const auto& [number, rank] : ranks_) {
    if (request.rank && number != *request.rank) continue;
    // All of several ranks go on, also those that were only asked to stop.
    const bool called_back = request.verb == model::ControlVerb::kContinue &&
                             IsForAll(request) &&
                             rank.run.state == model::JobState::kPausing;
    if (!rank.link ||
        (!called_back && !CheckControl(request.verb, rank.run.state).ok())) {
      continue;
    }
    if (Resumes(request.verb) && rank.resuming != 0) {
      under_way = true;
      continue;
    }
    targets.insert(number);
  }
  if (!targets.empty()) return targets;
  if (under_way) {
    return Error(
        absl::StatusCode::kFailedPrecondition, "invalid_state",
        absl::StrCat("cannot ", std::string(model::ToString(request.verb)),
                     ": the command before it is on its way to the "
                     "job and has not taken effect yet"));
  }
  const model::JobState state =
      request.rank ? ranks_.at(*request.rank).run.state : run_.state;
  if (auto fits = CheckControl(request.verb, state); !fits.ok()) return fits;
  return JobGone("no agent of the job is connected");
}

absl::StatusOr<std::vector<model::TensorSummary>> JobImpl::DoTensors(
    const std::string& node, uint32_t rank) const {
  if (ranks_.count(rank) == 0) return UnknownRank(rank);
  const graph::NodeIndex index = graph_.FindNode(node);
  if (index == graph::kNoNode) return graph::UnknownNode(node);
  const graph::GraphView view(graph_, *this);
  std::vector<model::TensorSummary> summaries;
  auto add = [&](const char* role, uint32_t position, graph::NodeIndex of,
                 uint32_t slot) {
    model::TensorSummary summary;
    summary.role = role;
    summary.index = position;
    summary.tensor = view.EndpointOf(of, slot);
    if (const auto* known = known_.Find(rank, of, slot)) {
      summary.statistics = known->statistics;
      summary.statistics_step = known->step;
    }
    summaries.push_back(std::move(summary));
  };
  const graph::Node& at = graph_.node(index);
  for (uint32_t i = 0; i < at.inputs.size(); ++i) {
    const graph::Input& input = at.inputs[i];
    if (input.node == graph::kNoNode || input.control) continue;
    add("input", i, input.node, input.slot);
  }
  for (const model::Output& output : at.outputs) {
    add("output", output.slot, index, output.slot);
  }
  return summaries;
}

void JobImpl::StartTensor(model::TensorQuery query,
                          TensorDesk::Completion complete) {
  auto rank = RankForTensor(query);
  if (!rank.ok()) return complete(rank.status());
  auto timer = std::make_shared<boost::asio::steady_timer>(strand_);
  auto id = tensors_.Open(query, [this, query, timer, complete](
                                     absl::StatusOr<model::TensorValue> value) {
    timer->cancel();
    if (value.ok()) value->stops_left = ranks_.at(query.rank).stops_left;
    TensorCame(query, value);
    complete(std::move(value));
  });
  if (!id.ok()) return complete(id.status());
  timer->expires_after(options_->tensor_deadline);
  timer->async_wait(
      [self = shared_from_this(), id = *id, rank = query.rank](auto error) {
        if (!error) self->TensorDeadline(id, rank);
      });
  if (query.max_bytes == 0 || query.max_bytes > options_->max_tensor_bytes) {
    query.max_bytes = options_->max_tensor_bytes;
  }
  (*rank)->link->Send(TensorOrder{*id, std::move(query)});
}

absl::StatusOr<graph::NodeIndex> JobImpl::NodeOfTensor(const std::string& node,
                                                       uint32_t slot) const {
  const graph::NodeIndex index = graph_.FindNode(node);
  if (index == graph::kNoNode) {
    return WithField(graph::UnknownNode(node), "name");
  }
  const auto& outputs = graph_.node(index).outputs;
  bool has_slot = outputs.empty();
  for (const model::Output& output : outputs) has_slot |= output.slot == slot;
  if (has_slot) return index;
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_slot",
                         absl::StrCat("node \"", node, "\" has no output ",
                                      slot, "; it has ", outputs.size())),
                   "name");
}

absl::StatusOr<Rank*> JobImpl::RankForTensor(const model::TensorQuery& query) {
  auto index = NodeOfTensor(query.node, query.slot);
  if (!index.ok()) return index.status();
  if (auto captured = CheckCaptured(graph_.node(*index)); !captured.ok()) {
    return captured;
  }
  if (query.slice.size() > kMaxSliceBytes) {
    return WithField(Error(absl::StatusCode::kInvalidArgument, "bad_slice",
                           absl::StrCat("the slice is longer than ",
                                        kMaxSliceBytes, " bytes")),
                     "slice");
  }
  auto it = ranks_.find(query.rank);
  if (it == ranks_.end()) return UnknownRank(query.rank);
  if (it->second.link) return &it->second;
  return JobGone(
      absl::StrCat("rank ", query.rank, " is ",
                   std::string(model::ToString(it->second.run.state)),
                   ": its tensors are gone"));
}

absl::Status JobImpl::DoCatchTensors(const std::string& node, uint32_t number) {
  const graph::NodeIndex index = graph_.FindNode(node);
  if (index == graph::kNoNode) {
    return WithField(graph::UnknownNode(node), "node");
  }
  if (auto captured = CheckCaptured(graph_.node(index)); !captured.ok()) {
    return captured;
  }
  auto it = ranks_.find(number);
  if (it == ranks_.end()) return UnknownRank(number);
  if (!it->second.link) {
    return JobGone(
        absl::StrCat("rank ", number, " is ",
                     std::string(model::ToString(it->second.run.state))));
  }
  it->second.link->Send(CatchTensorOrder{node});
  return absl::OkStatus();
}

void JobImpl::TensorCame(const model::TensorQuery& query,
                         const absl::StatusOr<model::TensorValue>& value) {
  // Of memory that was overwritten it would be another tensor's.
  if (!value.ok() || !value->statistics || value->overwritten) return;
  const graph::NodeIndex node = graph_.FindNode(query.node);
  NoteStatistics(query.rank, node, query.slot, value->step, *value->statistics,
                 KnownStatistics::Source::kAnswer);
}

void JobImpl::TensorDeadline(uint64_t request_id, uint32_t rank) {
  const bool was_open = tensors_.Fail(
      request_id,
      Error(absl::StatusCode::kDeadlineExceeded, "deadline_exceeded",
            absl::StrCat("the agent did not send the tensor within ",
                         options_->tensor_deadline.count(), " ms")));
  auto it = ranks_.find(rank);
  if (was_open && it != ranks_.end() && it->second.link) {
    it->second.link->Send(CancelTensorOrder{request_id});
  }
}

}  // namespace graphdbg::jobs
