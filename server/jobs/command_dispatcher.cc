#include "server/jobs/command_dispatcher.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/jobs/permissions.h"
#include "server/model/enum_names.h"

namespace graphdbg::jobs {
namespace {

absl::Status NeverExecutes(const std::string& node, model::NodeKind kind,
                           std::string_view advice) {
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "not_executable",
            absl::StrCat("cannot continue to \"", node, "\": it is of kind ",
                         std::string(model::ToString(kind)),
                         " and never executes; ", std::string(advice))),
      "node");
}

// A model that is only shown. Its process waits for nothing but its end.
bool IsShownModel(const Rank& rank) { return rank.hello.framework == "onnx"; }

}  // namespace

CommandDispatcher::CommandDispatcher(JobStateMachine& machine,
                                     CommandSender& sender, RankGroup& group,
                                     const graph::GraphStore& graph,
                                     UncheckedWatchpoints& unchecked,
                                     JobEvents& events)
    : machine_(machine),
      sender_(sender),
      group_(group),
      graph_(graph),
      unchecked_(unchecked),
      events_(events) {}

absl::StatusOr<std::string> CommandDispatcher::Dispatch(
    const model::ControlRequest& request) {
  RETURN_IF_ERROR(CheckMayCommand(AllowedByRanks(machine_), request.verb));
  RETURN_IF_ERROR(CheckRuns(request.verb));
  RETURN_IF_ERROR(CheckSupported(request.verb));
  ASSIGN_OR_RETURN(const std::set<uint32_t> targets, SelectRanks(request));
  RETURN_IF_ERROR(CheckArguments(request));
  const uint64_t id = sender_.Open(targets);
  events_.PublishCommand(id, request);
  const bool for_group = group_.IsForGroup(request);
  const uint64_t last_step = group_.StepAfter(request.steps);
  group_.RecordIntent(request);
  if (for_group && request.verb == model::ControlVerb::kTerminate &&
      group_.TerminateTogether(id)) {
    return absl::StrCat(id);
  }
  CommandOrder order;
  order.id = id;
  order.verb = request.verb;
  order.steps = request.steps;
  order.node = request.node;
  order.pending = request.pending;
  order.passed = request.passed;
  order.at_step_end = for_group;
  if (request.verb == model::ControlVerb::kRecheck) {
    order.watchpoints = unchecked_.Take();
    if (!order.watchpoints.empty()) events_.PublishState(machine_.first_rank());
  }
  for (uint32_t number : targets) {
    Rank& rank = *machine_.Find(number);
    if (for_group) order.steps = last_step - rank.steps_ended;
    sender_.Send(rank, order);
  }
  return absl::StrCat(id);
}

absl::Status CommandDispatcher::CheckRuns(model::ControlVerb verb) const {
  if (!Resumes(verb)) return absl::OkStatus();
  for (const auto& [number, rank] : machine_.ranks()) {
    if (!IsShownModel(rank) || IsEnded(rank.run.state)) continue;
    return Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
                 absl::StrCat("cannot ", std::string(model::ToString(verb)),
                              ": the model is shown and not run; terminate "
                              "closes it"));
  }
  return absl::OkStatus();
}

// A command goes to all ranks, so the job supports it only if every rank does.
absl::Status CommandDispatcher::CheckSupported(model::ControlVerb verb) const {
  for (const auto& [number, rank] : machine_.ranks()) {
    const auto it = rank.hello.unsupported.find(verb);
    if (it == rank.hello.unsupported.end()) continue;
    return Error(absl::StatusCode::kUnimplemented, "unsupported_command",
                 it->second);
  }
  return absl::OkStatus();
}

absl::Status CommandDispatcher::CheckArguments(
    const model::ControlRequest& request) const {
  if (request.verb == model::ControlVerb::kStep && request.steps == 0) {
    return WithField(Error(absl::StatusCode::kInvalidArgument, "invalid_steps",
                           "steps must be at least 1"),
                     "steps");
  }
  if (group_.IsForGroup(request)) return group_.Check(request);
  if (request.passed.any()) return CheckPassed(request.passed);
  if (request.verb != model::ControlVerb::kContinueTo) return absl::OkStatus();
  return CheckNode(request);
}

absl::Status CommandDispatcher::CheckPassed(
    const model::PassedNodes& passed) const {
  const bool is_within = passed.within.has_value();
  const char* const field = is_within        ? "within"
                            : passed.outside ? "outside"
                                             : "other_line";
  for (const auto& [number, rank] : machine_.ranks()) {
    if (rank.link == nullptr || rank.hello.passes_over) continue;
    return WithField(
        Error(absl::StatusCode::kUnimplemented, "unsupported_command",
              absl::StrCat("the agent of rank ", number, " (",
                           rank.hello.framework, ") passes over no nodes")),
        field);
  }
  const std::string scope =
      is_within ? *passed.within : passed.outside.value_or("");
  if (scope.empty()) return absl::OkStatus();
  for (const graph::Graph& graph : graph_.graphs()) {
    if (graph.scopes.contains(scope)) return absl::OkStatus();
  }
  return WithField(Error(absl::StatusCode::kNotFound, "unknown_scope",
                         absl::StrCat("unknown scope \"", scope, "\"")),
                   field);
}

absl::Status CommandDispatcher::CheckNode(
    const model::ControlRequest& request) const {
  const graph::NodeIndex node = graph_.FindNode(request.node);
  if (node != graph::kNoNode) {
    const model::NodeKind kind = graph_.node(node).kind;
    if (kind == model::NodeKind::kOp) return absl::OkStatus();
    return NeverExecutes(request.node, kind, "choose an op that reads it");
  }
  for (const graph::Graph& graph : graph_.graphs()) {
    if (!request.node.empty() && graph.scopes.contains(request.node)) {
      return NeverExecutes(request.node, model::NodeKind::kScope,
                           "choose an op inside it");
    }
  }
  if (request.pending) return absl::OkStatus();
  return WithField(
      Error(absl::StatusCode::kNotFound, "unknown_node",
            absl::StrCat("unknown node \"", request.node,
                         "\"; set \"pending\" to continue until a node of this "
                         "name appears")),
      "node");
}

absl::StatusOr<std::set<uint32_t>> CommandDispatcher::SelectRanks(
    const model::ControlRequest& request) const {
  if (request.rank) RETURN_IF_ERROR(machine_.CheckRank(*request.rank));
  std::set<uint32_t> targets;
  bool resuming = false;
  for (const auto& [number, rank] : machine_.ranks()) {
    if (request.rank && number != *request.rank) continue;
    // Continuing the group withdraws pauses that have not taken effect yet.
    const bool withdraws_pause =
        request.verb == model::ControlVerb::kContinue &&
        group_.IsForGroup(request) &&
        rank.run.state == model::JobState::kPausing;
    if (!rank.link ||
        (!withdraws_pause && !CheckControl(request.verb, rank.run).ok())) {
      continue;
    }
    if (Resumes(request.verb) && rank.resuming_command != 0) {
      resuming = true;
      continue;
    }
    targets.insert(number);
  }
  if (targets.empty()) return NoRankAccepts(request, resuming);
  return targets;
}

absl::Status CommandDispatcher::NoRankAccepts(
    const model::ControlRequest& request, bool resuming) const {
  if (resuming) {
    return Error(
        absl::StatusCode::kFailedPrecondition, "invalid_state",
        absl::StrCat("cannot ", std::string(model::ToString(request.verb)),
                     ": the previous command has not taken effect "
                     "yet"));
  }
  RETURN_IF_ERROR(CheckControl(
      request.verb,
      request.rank ? machine_.Find(*request.rank)->run : machine_.job()));
  return Error(absl::StatusCode::kUnavailable, "job_gone",
               "no agent of the job is connected");
}

}  // namespace graphdbg::jobs
