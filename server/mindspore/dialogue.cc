#include "server/mindspore/dialogue.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/mindspore/graph_translation.h"

namespace graphdbg::mindspore {
namespace {

constexpr char kStepLevel[] = "step";
constexpr char kNodeLevel[] = "node";
constexpr char kRecheckLevel[] = "recheck";

uint64_t ClientsNumber(const debugger::Metadata& metadata) {
  return static_cast<uint64_t>(std::max(metadata.cur_step(), 0));
}

absl::Status Unsupported(const std::string& what) {
  return Error(absl::StatusCode::kUnimplemented, "unsupported_command", what);
}

}  // namespace

Dialogue::Dialogue(std::function<int64_t()> now_unix_nano)
    : now_unix_nano_(std::move(now_unix_nano)) {}

void Dialogue::Learn(const debugger::Metadata& metadata) {
  ms_version_ = metadata.ms_version();
  // MindInsight takes no backend for Ascend, too.
  backend_ = metadata.backend().empty() ? "Ascend" : metadata.backend();
  profile_ = ProfileOf(ms_version_);
  watch_.Configure(profile_, !gpu());
  views_.Configure(profile_, gpu());
}

void Dialogue::Met(const debugger::Metadata& metadata) {
  Learn(metadata);
  // A client that begins anew, as for another graph, has forgotten everything
  // and counts its steps from the start.
  ever_asked_ = false;
  ever_ran_ = false;
  steps_before_ = step_ - std::min(step_, ClientsNumber(metadata));
  steps_late_ = 0;
  wire_step_ = metadata.cur_step();
  wire_step_grows_ = false;
  inside_step_ = false;
  stop_at_step_end_.clear();
  goal_ = Goal{};
  sent_ = Sent::kNothing;
  reason_ = model::PauseReason::kStart;
  stopped_by_.clear();
  watch_.ClientIsNew();
  unchecked_ = watch_.has_unsent();
}

void Dialogue::Graphs(const std::vector<debugger::GraphProto>& graphs) {
  for (const debugger::GraphProto& graph : graphs) {
    reports_.push_back(TranslateGraph(graph, book_));
  }
  watch_.MatchAgain();
  last_kernel_.clear();
  if (!std::exchange(has_graph_, true)) return;
  // Another network was compiled in mid-session: people want to see it before
  // it runs.
  goal_ = Goal{};
  reason_ = model::PauseReason::kStart;
  stopped_by_.clear();
  ever_asked_ = false;
}

void Dialogue::Hit(debugger::WatchpointHit hit) {
  if (hits_.size() < kMaxHits) {
    hits_.push_back(std::move(hit));
  } else if (!std::exchange(told_of_dropped_hits_, true)) {
    reports_.push_back(jobs::LogReport{
        "warning", absl::StrCat("a step had more than ", kMaxHits,
                                " hits; those beyond are not kept")});
  }
}

void Dialogue::Order(const jobs::AgentOrder& order) {
  std::visit([this](const auto& of_a_kind) { On(of_a_kind); }, order);
}

void Dialogue::On(const jobs::WelcomeOrder& order) {
  graphs_wanted_ = !order.resumed;
  watch_.SessionBegins(order.watchpoint_count);
}

void Dialogue::On(const jobs::SetWatchpointOrder& order) {
  jobs::WatchpointReport report{order.id, order.revision, watch_.Set(order)};
  unchecked_ |= report.error.ok() && order.spec.enabled;
  reports_.push_back(std::move(report));
}

void Dialogue::On(const jobs::RemoveWatchpointOrder& order) {
  watch_.Remove(order.id);
}

void Dialogue::On(const jobs::CancelTensorOrder& order) {
  views_.Cancel(order.request_id);
}

void Dialogue::On(const jobs::CatchTensorOrder& order) {
  if (const BookNode* node = book_.ByName(order.node)) watch_.Keep(*node);
}

void Dialogue::On(const jobs::CommandOrder& order) {
  // The session knows, unless the client said late who it is.
  const auto cannot = unsupported();
  if (auto why = cannot.find(order.verb); why != cannot.end()) {
    return Answer(order.id, Unsupported(why->second));
  }
  switch (order.verb) {
    case model::ControlVerb::kPause:
      if (goal_.kind == Goal::Kind::kStop) return Answer(order.id);
      pause_wanted_ = true;
      pause_command_ = order.id;
      // It stands, and was about to be told to run.
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

absl::Status Dialogue::Start(const jobs::CommandOrder& order) {
  if (goal_.kind != Goal::Kind::kStop) {
    return Error(absl::StatusCode::kFailedPrecondition, "invalid_state",
                 "the job is running");
  }
  Goal goal;
  switch (order.verb) {
    case model::ControlVerb::kStep:
      goal.kind = Goal::Kind::kSteps;
      // The step that it stands in counts.
      goal.step = step_ + order.steps - (inside_step_ ? 1 : 0);
      break;
    case model::ControlVerb::kNextNode:
    case model::ControlVerb::kContinueTo: {
      goal.kind = Goal::Kind::kNextNode;
      if (order.verb == model::ControlVerb::kNextNode) break;
      auto node = WireNodeOf(order.node);
      if (!node.ok()) return node.status();
      goal.kind = Goal::Kind::kToNode;
      goal.node = *std::move(node);
      break;
    }
    default:
      goal.kind = Goal::Kind::kEndless;
  }
  goal_ = std::move(goal);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Dialogue::WireNodeOf(
    const std::string& name) const {
  const BookNode* node = book_.ByName(name);
  if (node == nullptr) {
    return Error(absl::StatusCode::kNotFound, "unknown_node",
                 absl::StrCat("the job's graph has no node \"", name, "\""));
  }
  uint32_t slot = 0;
  const BookNode& owner = book_.OwnerOf(*node, slot);
  // It would never be reached.
  if (owner.kind != model::NodeKind::kOp) {
    return Unsupported(absl::StrCat("\"", name, "\" does not execute"));
  }
  if (!owner.sayable) {
    return Unsupported(absl::StrCat("the name of \"", name,
                                    "\" is no UTF-8, which commands have to "
                                    "be"));
  }
  return owner.wire_name;
}

void Dialogue::Answer(uint64_t command_id, absl::Status status) {
  reports_.push_back(jobs::CommandOutcome{command_id, std::move(status)});
}

void Dialogue::Release() {
  released_ = true;
  reports_.clear();
}

std::optional<debugger::EventReply> Dialogue::Next() {
  debugger::EventReply reply;
  if (terminating_ || terminated_) {
    reply.set_exit(true);
    if (!std::exchange(terminated_, true)) {
      jobs::ExitReport farewell;
      farewell.steps = step_;
      farewell.terminated = true;
      reports_.push_back(std::move(farewell));
    }
    return reply;
  }
  sent_ = Sent::kOther;
  if (released_) {
    reply.mutable_run_cmd()->set_run_level(kStepLevel);
    reply.mutable_run_cmd()->set_run_steps(1);
    return reply;
  }
  if (watch_.has_unsent()) {
    *reply.mutable_set_cmd() = watch_.Next();
    return reply;
  }
  if (auto view = views_.Next()) {
    *reply.mutable_view_cmd() = *std::move(view);
    return reply;
  }
  const bool runs = attached_ && goal_.kind != Goal::Kind::kStop;
  // Initial values are only checked while the client has never been told to
  // run, and only when it is told to check.
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

debugger::EventReply Dialogue::RunReply() {
  debugger::EventReply reply;
  debugger::RunCMD& run = *reply.mutable_run_cmd();
  const bool by_node =
      goal_.kind == Goal::Kind::kNextNode || goal_.kind == Goal::Kind::kToNode;
  run.set_run_level(by_node ? kNodeLevel : kStepLevel);
  if (by_node) {
    run.set_node_name(goal_.node);
  } else {
    // One command is one step, whatever it says; MindInsight's mock client
    // adds it up.
    run.set_run_steps(1);
  }
  sent_ = Sent::kRun;
  ever_ran_ = true;
  return reply;
}

std::vector<jobs::AgentReport> Dialogue::TakeReports() {
  for (jobs::TensorChunk& piece : views_.TakeAnswers()) {
    reports_.push_back(std::move(piece));
  }
  return std::exchange(reports_, {});
}

}  // namespace graphdbg::mindspore
