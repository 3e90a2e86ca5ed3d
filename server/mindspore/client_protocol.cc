#include "server/mindspore/client_protocol.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/mindspore/graph_translation.h"

namespace graphdbg::mindspore {
namespace {

constexpr char kStepLevel[] = "step";
constexpr char kNodeLevel[] = "node";
constexpr char kRecheckLevel[] = "recheck";

uint64_t ClientStep(const debugger::Metadata& metadata) {
  return static_cast<uint64_t>(std::max(metadata.cur_step(), 0));
}

absl::Status Unsupported(const std::string& what) {
  return Error(absl::StatusCode::kUnimplemented, "unsupported_command", what);
}

}  // namespace

ClientProtocol::ClientProtocol(std::function<int64_t()> now_unix_nano)
    : now_unix_nano_(std::move(now_unix_nano)) {}

void ClientProtocol::UpdateProfile(const debugger::Metadata& metadata) {
  ms_version_ = metadata.ms_version();
  // MindInsight also treats a missing backend as Ascend.
  backend_ = metadata.backend().empty() ? "Ascend" : metadata.backend();
  profile_ = ProfileOf(ms_version_);
  watchpoints_.Configure(profile_, !gpu());
  tensors_.Configure(profile_, gpu());
}

void ClientProtocol::OnMetadata(const debugger::Metadata& metadata) {
  UpdateProfile(metadata);
  // A client starts a new session, for example, for another graph. It has lost
  // all watchpoints and counts its steps from 0 again.
  ever_waited_ = false;
  ever_ran_ = false;
  steps_before_ = step_ - std::min(step_, ClientStep(metadata));
  steps_late_ = 0;
  wire_step_ = metadata.cur_step();
  wire_step_grows_ = false;
  inside_step_ = false;
  stop_at_step_end_.clear();
  goal_ = Goal{};
  sent_ = Sent::kNothing;
  reason_ = model::PauseReason::kStart;
  stopped_by_.clear();
  watchpoints_.OnClientReset();
  unchecked_ = watchpoints_.has_unsent();
}

void ClientProtocol::OnGraphs(const std::vector<debugger::GraphProto>& graphs) {
  for (const debugger::GraphProto& graph : graphs) {
    const size_t count = static_cast<size_t>(graph.node_size()) +
                         static_cast<size_t>(graph.parameters_size()) +
                         static_cast<size_t>(graph.const_vals_size());
    if (nodes_.nodes().size() + count > kMaxNodes) {
      reports_.push_back(jobs::LogReport{
          "error", absl::StrCat("a graph of ", count,
                                " nodes was dropped: the limit is ", kMaxNodes,
                                " nodes in all graphs of a job")});
      continue;
    }
    reports_.push_back(TranslateGraph(graph, nodes_));
  }
  watchpoints_.UpdateSelections();
  last_kernel_.clear();
  if (!std::exchange(has_graph_, true)) return;
  // The process has compiled another network. Stop, so that users can inspect
  // it before it runs.
  goal_ = Goal{};
  reason_ = model::PauseReason::kStart;
  stopped_by_.clear();
  ever_waited_ = false;
}

void ClientProtocol::OnHit(debugger::WatchpointHit hit) {
  if (hits_.size() < kMaxHits) {
    hits_.push_back(std::move(hit));
  } else if (!std::exchange(reported_dropped_hits_, true)) {
    reports_.push_back(jobs::LogReport{
        "warning", absl::StrCat("a step had more than ", kMaxHits,
                                " hits; further hits were dropped")});
  }
}

void ClientProtocol::HandleOrder(const jobs::AgentOrder& order) {
  std::visit([this](const auto& alternative) { On(alternative); }, order);
}

void ClientProtocol::On(const jobs::WelcomeOrder& order) {
  graphs_wanted_ = !order.resumed;
  watchpoints_.BeginSync(order.watchpoint_count);
}

void ClientProtocol::On(const jobs::SetWatchpointOrder& order) {
  jobs::WatchpointReport report{order.id, order.revision,
                                watchpoints_.Set(order)};
  unchecked_ |= report.error.ok() && order.spec.enabled;
  reports_.push_back(std::move(report));
}

void ClientProtocol::On(const jobs::RemoveWatchpointOrder& order) {
  watchpoints_.Remove(order.id);
}

void ClientProtocol::On(const jobs::CancelTensorOrder& order) {
  tensors_.Cancel(order.request_id);
}

void ClientProtocol::On(const jobs::CatchTensorOrder& order) {
  if (const NodeEntry* node = nodes_.ByName(order.node))
    watchpoints_.Keep(*node);
}

void ClientProtocol::On(const jobs::CommandOrder& order) {
  // The job rejects unsupported commands itself, unless the client sent its
  // metadata only after it was attached.
  const auto reasons = unsupported();
  if (auto reason = reasons.find(order.verb); reason != reasons.end()) {
    return Answer(order.id, Unsupported(reason->second));
  }
  switch (order.verb) {
    case model::ControlVerb::kPause:
      if (goal_.kind == Goal::Kind::kStop) return Answer(order.id);
      pause_wanted_ = true;
      pause_command_ = order.id;
      // The client has not received the run command yet.
      if (sent_ != Sent::kRun) Stop(model::PauseReason::kUser);
      return;
    case model::ControlVerb::kTerminate:
      terminating_ = true;
      return Answer(order.id);
    case model::ControlVerb::kRecheck:
      recheck_wanted_ = true;
      recheck_command_ = order.id;
      return;
    default:
      break;
  }
  absl::Status started = Start(order);
  if (started.ok()) ReportRunning();
  Answer(order.id, started);
}

absl::Status ClientProtocol::Start(const jobs::CommandOrder& order) {
  if (goal_.kind != Goal::Kind::kStop) {
    return Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
                 "the job is running");
  }
  Goal goal;
  switch (order.verb) {
    case model::ControlVerb::kStep:
      goal.kind = Goal::Kind::kSteps;
      // An unfinished step counts as one of the steps.
      goal.step = step_ + order.steps - (inside_step_ ? 1 : 0);
      break;
    case model::ControlVerb::kNextNode:
    case model::ControlVerb::kContinueTo: {
      goal.kind = Goal::Kind::kNextNode;
      if (order.verb == model::ControlVerb::kNextNode) break;
      goal.kind = Goal::Kind::kToNode;
      ASSIGN_OR_RETURN(goal.node, WireNodeOf(order.node));
      break;
    }
    default:
      goal.kind = Goal::Kind::kEndless;
  }
  goal_ = std::move(goal);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ClientProtocol::WireNodeOf(
    const std::string& name) const {
  const NodeEntry* node = nodes_.ByName(name);
  if (node == nullptr) {
    return Error(absl::StatusCode::kNotFound, "unknown_node",
                 absl::StrCat("the job has no node \"", name, "\""));
  }
  uint32_t slot = 0;
  const NodeEntry& owner = nodes_.OwnerOf(*node, slot);
  // The client would never stop there.
  if (owner.kind != model::NodeKind::kOp) {
    return Unsupported(
        absl::StrCat("cannot run to \"", name, "\", because it is not an op"));
  }
  if (!owner.has_utf8_name) {
    return Unsupported(
        absl::StrCat("cannot run to \"", name,
                     "\", because its original name is not valid UTF-8"));
  }
  return owner.wire_name;
}

void ClientProtocol::Answer(uint64_t command_id, absl::Status status) {
  reports_.push_back(jobs::CommandOutcome{command_id, std::move(status)});
}

void ClientProtocol::Release() {
  released_ = true;
  reports_.clear();
}

std::optional<debugger::EventReply> ClientProtocol::Next() {
  debugger::EventReply reply;
  if (terminating_ || terminated_) {
    reply.set_exit(true);
    if (!std::exchange(terminated_, true)) {
      jobs::ExitReport report;
      report.steps = step_;
      report.terminated = true;
      reports_.push_back(std::move(report));
    }
    return reply;
  }
  sent_ = Sent::kOther;
  if (released_) {
    reply.mutable_run_cmd()->set_run_level(kStepLevel);
    reply.mutable_run_cmd()->set_run_steps(1);
    return reply;
  }
  if (watchpoints_.has_unsent()) {
    *reply.mutable_set_cmd() = watchpoints_.Next();
    return reply;
  }
  if (auto view = tensors_.Next()) {
    *reply.mutable_view_cmd() = *std::move(view);
    return reply;
  }
  const bool runs = attached_ && goal_.kind != Goal::Kind::kStop;
  // The client checks initial values only upon a recheck command that precedes
  // its first run command.
  const bool initial_check =
      runs && !ever_ran_ && unchecked_ && !profile_.simple_conditions;
  if (recheck_wanted_ || initial_check) {
    recheck_wanted_ = false;
    unchecked_ = false;
    sent_ = Sent::kRecheck;
    reply.mutable_run_cmd()->set_run_level(kRecheckLevel);
    return reply;
  }
  if (runs) return RunReply();
  sent_ = Sent::kNothing;
  return std::nullopt;
}

debugger::EventReply ClientProtocol::RunReply() {
  debugger::EventReply reply;
  debugger::RunCMD& run = *reply.mutable_run_cmd();
  const bool by_node =
      goal_.kind == Goal::Kind::kNextNode || goal_.kind == Goal::Kind::kToNode;
  run.set_run_level(by_node ? kNodeLevel : kStepLevel);
  if (by_node) {
    run.set_node_name(goal_.node);
  } else {
    // Clients run one step per command, whatever the number is. MindInsight's
    // mock client adds the numbers up.
    run.set_run_steps(1);
  }
  sent_ = Sent::kRun;
  ever_ran_ = true;
  return reply;
}

std::vector<jobs::AgentReport> ClientProtocol::TakeReports() {
  for (jobs::TensorChunk& piece : tensors_.TakeAnswers()) {
    reports_.push_back(std::move(piece));
  }
  return std::exchange(reports_, {});
}

}  // namespace graphdbg::mindspore
