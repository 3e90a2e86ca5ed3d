// The functions of Agent that the program's own threads call at execution
// points.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/agent.h"
#include "agent/core/log.h"
#include "agent/core/non_finite_origin.h"
#include "agent/core/recorder.h"
#include "agent/core/reported_finding.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

// How long a program that starts late still waits for the server.
constexpr auto kLastChance = std::chrono::seconds(1);

// In how many steps non-finite values are traced. In later ones, they mostly
// come from the parameters.
constexpr int kMaxOrigins = 100;

// The type of nodes that stand for values which the program saves.
constexpr char kSaveOpType[] = "graphdbg::save_tensor";

std::string Seconds(std::chrono::milliseconds time) {
  return absl::StrCat(static_cast<double>(time.count()) / 1000, " s");
}

}  // namespace

graphdbg_status Agent::WaitForServer(bool* found) {
  captures_.Start();
  *found = !config_.serverless;
  if (config_.serverless) {
    SetOwnWatchpoints();
    return GRAPHDBG_OK;
  }
  const auto deadline = std::max(opened_at_ + config_.connect_timeout,
                                 std::chrono::steady_clock::now() +
                                     std::min<std::chrono::milliseconds>(
                                         config_.connect_timeout, kLastChance));
  switch (connection_.WaitUntilReady(deadline, host_)) {
    case ServerConnection::Readiness::kInterrupted:
      return GRAPHDBG_INTERRUPTED;
    case ServerConnection::Readiness::kNoServer:
      *found = false;
      if (config_.on_disconnect == OnDisconnect::kDetach) {
        Detach(absl::StrCat("found no server at ", connection_.address(),
                            " within ", Seconds(config_.connect_timeout)));
        break;
      }
      connection_.SearchInBackground();
      LogToStderr(absl::StrCat(
          "found no server at ", connection_.address(), " within ",
          Seconds(config_.connect_timeout),
          "; training continues, and can be debugged once one is started"));
      break;
    case ServerConnection::Readiness::kReady:
      break;
  }
  return live() ? GRAPHDBG_OK : GRAPHDBG_DETACHED;
}

graphdbg_status Agent::Start() {
  if (!live()) return GRAPHDBG_DETACHED;
  if (started_.exchange(true)) return GRAPHDBG_OK;
  Dial();
  bool found = false;
  if (const graphdbg_status searched = WaitForServer(&found);
      searched != GRAPHDBG_OK) {
    return searched;
  }
  bound_checker_.RecordDevices();
  bound_checker_.MarkIntentionalInfinities();
  const bool wait = found && config_.wait && !connection_.start_running();
  graphdbg_status status = GRAPHDBG_OK;
  if (wait) {
    // Without this line, a program that waits looks like one that hangs.
    if (const std::string page = connection_.page_address(); !page.empty()) {
      LogToStderr(
          absl::StrCat("waiting for Continue before the first step: ", page));
    }
    status = gate_.Start(/*wait=*/true, {});
  }
  // After the wait, during which users set most of their watchpoints.
  if (status == GRAPHDBG_OK) status = CheckBeforeFirstStep(/*waited=*/wait);
  running_ = true;
  recordings_.BetweenSteps(counter_.current_step());
  values_.KeepBound(*watch_.snapshot(), 0, Stepping());
  UpdateInterest();
  return live() ? status : GRAPHDBG_DETACHED;
}

graphdbg_status Agent::CheckBeforeFirstStep(bool waited) {
  Findings findings = reporter_.NewFindings();
  bound_checker_.Check(*watch_.snapshot(), 0, &findings);
  reporter_.ReportStatistics(0);
  std::vector<uint32_t> stops = reporter_.Report(std::move(findings));
  for (uint32_t id : reporter_.TakeStepEndStops()) stops.push_back(id);
  if (waited && stops.empty()) return GRAPHDBG_OK;
  return gate_.Start(/*wait=*/false, stops);
}

int Agent::Interest(uint32_t node) {
  const NodeFacts* facts = nodes_.Facts(node);
  if (facts == nullptr || !interest_.any()) return GRAPHDBG_INTEREST_NONE;
  counter_.Count();
  if (facts->is_input) inputs_.fetch_add(1, std::memory_order_relaxed);
  return interest_.In(*facts);
}

void Agent::BeginOp(uint32_t node) {
  Recorder* const recorder = recordings_.recorders().OnThisThread();
  if (recorder != nullptr) recorder->BeginOp(node);
}

void Agent::EndOp() {
  Recorder* const recorder = recordings_.recorders().OnThisThread();
  if (recorder != nullptr) recorder->EndOp();
}

void Agent::AddRepetition(std::chrono::nanoseconds time) {
  if (!interest_.only_recorded()) return;
  const auto recorder = recordings_.recorders().current();
  if (recorder != nullptr) recorder->AddRepetition(time);
}

graphdbg_status Agent::Executed(const graphdbg_execution& raw) {
  if (!live()) return GRAPHDBG_DETACHED;
  const NodeFacts* facts = nodes_.Facts(raw.node);
  if (facts == nullptr || !facts->has(kAnyNode)) {
    return GRAPHDBG_INVALID_ARGUMENT;
  }
  const Execution execution = ExecutionOf(raw);
  if (execution.error != nullptr) {
    // In steps in which ops are not followed, the inputs are not known.
    if (facts->has(kNeverExecuted) || execution.inputs.size() > 0) {
      nodes_.Learn(execution, counter_.NextOrder(), counter_.current_step());
    }
    values_.KeepInputs(execution, counter_.current_step());
    failed_op_.Set(execution.node, execution.error, counter_.current_step());
    return GRAPHDBG_OK;
  }
  ExecutionPoint point{counter_.current_step(), counter_.NextOrder()};
  if (!facts->is_input && inputs_.load(std::memory_order_relaxed) != 0) {
    point.inputs_before = inputs_.exchange(0, std::memory_order_relaxed);
  }
  const bool is_new = facts->has(kNeverExecuted);
  nodes_.Learn(execution, point.order, point.step);
  if (execution.outputs.size() > 0) devices_.Record(execution.outputs[0]);
  const WatchSnapshot& watch = watch_.OnThisThread();
  values_.RecordWrites(execution);
  const bool measured =
      watch.On(execution.node) != nullptr && reporter_.RecordsStatistics();
  std::vector<uint32_t> stops;
  if (!undecided_.any() && !measured &&
      checker_.IsPlainlyFine(watch, execution, point)) {
    values_.Keep(watch, execution, point.step, /*hit=*/false);
    Record(execution, point, is_new);
  } else {
    stops = CheckAndReport(watch, execution, point, is_new);
  }
  captures_.Executed(raw.node, point.step);
  captures_.WriteDue(point.step);
  if (stops.empty() && !interest_.every_node_stops() && !facts->has(kAwaited)) {
    return GRAPHDBG_OK;
  }
  nodes_.LearnInputs(execution, point.order, point.step);
  const graphdbg_status status = gate_.AtNode(raw.node, stops);
  return live() ? status : GRAPHDBG_DETACHED;
}

void Agent::Record(const Execution& execution, const ExecutionPoint& point,
                   bool is_new) {
  Recorder* const recorder = recordings_.recorders().OnThisThread();
  if (recorder != nullptr) recorder->Executed(execution, point, is_new);
}

std::vector<uint32_t> Agent::CheckAndReport(const WatchSnapshot& watch,
                                            const Execution& execution,
                                            const ExecutionPoint& point,
                                            bool is_new) {
  Findings findings = Check(execution, point, watch);
  Record(execution, point, is_new);
  if (findings.empty()) return {};
  nodes_.LearnInputs(execution, point.order, point.step);
  return reporter_.Report(std::move(findings));
}

Findings Agent::Check(const Execution& execution, const ExecutionPoint& point,
                      const WatchSnapshot& watch) {
  Findings findings = reporter_.NewFindings();
  checker_.ReportExecution(watch, execution, point, &findings);
  const bool deferred =
      execution.outputs.size() > 0 &&
      execution.outputs[0].device != GRAPHDBG_CPU &&
      deferred_.Take(watch_.snapshot(), execution, point, findings);
  if (!deferred) {
    checker_.CheckExecution(watch, execution, &values_.previous_outputs(),
                            values_.seen(), point, &findings);
  }
  values_.Keep(watch, execution, point.step, findings.any_hit());
  if (!deferred && (undecided_.any() || !findings.undecided.empty())) {
    FollowInfinities(execution, point, &findings);
  }
  return findings;
}

void Agent::FollowInfinities(const Execution& execution,
                             const ExecutionPoint& point, Findings* findings) {
  const bool followed = undecided_.any();
  undecided_.Executed(execution, point, /*measured=*/nullptr, findings);
  // Ops that nobody watches are readers, too.
  if (undecided_.any() != followed) {
    interest_.FollowAll(undecided_.any());
    UpdateInterest();
  }
}

void Agent::RecordTested(const uint32_t* nodes, size_t count, bool finite) {
  const uint64_t step = counter_.current_step();
  for (size_t i = 0; i < count; ++i) {
    NodeFacts* const facts = nodes_.Facts(nodes[i]);
    if (facts != nullptr) facts->RecordFinite(finite, step);
  }
}

graphdbg_status Agent::StepEnd() {
  if (!live()) return GRAPHDBG_DETACHED;
  const uint64_t step = counter_.current_step();
  // Short steps feel all that is not left out.
  const bool was_calm = interest_.calm();
  std::vector<uint32_t> stops;
  if (was_calm) {
    EndOverviewStep(step);
  } else {
    stops = CheckStepEnd(step);
  }
  counter_.EndStep();
  interest_.EndStep();
  const graphdbg_status status = gate_.AtStepEnd(step, stops);
  const Gate::Needs needs = gate_.needs();
  own_time_.EndStep(needs.pauses);
  if (was_calm && interest_.calm() && !recordings_.changes()) {
    counter_.RestartOrder();
    BeginOverviewStep(step + 1);
    return status;
  }
  values_.EndStep(watch_.snapshot(), step, needs.tensors && live());
  counter_.RestartOrder();
  if (!live()) return GRAPHDBG_DETACHED;
  recordings_.BetweenSteps(step + 1);
  const auto recorder = recordings_.recorders().current();
  if (recorder != nullptr) recorder->BeginStep(step + 1);
  if (recorder != nullptr || !interest_.settled()) UpdateInterest();
  interest_.FinishStep();
  return status;
}

void Agent::EndOverviewStep(uint64_t step) {
  Recorder* const recorder = recordings_.recorders().OnThisThread();
  if (recorder != nullptr) recorder->EndStep(step);
  captures_.WriteDue(step);
}

void Agent::BeginOverviewStep(uint64_t step) {
  Recorder* const recorder = recordings_.recorders().OnThisThread();
  if (recorder == nullptr) return;
  recorder->BeginStep(step);
  if (!interest_.Knows(*recorder)) UpdateInterest();
}

std::vector<uint32_t> Agent::CheckStepEnd(uint64_t step) {
  if (step == 1) bound_checker_.RecordDevices();
  Findings findings = reporter_.NewFindings();
  deferred_.EndStep();
  bound_checker_.Check(*watch_.snapshot(), step, &findings);
  undecided_.EndStep(&findings);
  interest_.FollowAll(false);
  reporter_.ReportStatistics(step);
  std::vector<uint32_t> stops = reporter_.Report(std::move(findings));
  for (uint32_t id : reporter_.TakeStepEndStops()) stops.push_back(id);
  captures_.WriteDue(step);
  if (config_.world_size > 1) ReportOrigin(step);
  if (const auto recorder = recordings_.recorders().current()) {
    recorder->EndStep(step);
  }
  return stops;
}

void Agent::ReportOrigin(uint64_t step) {
  const NonFinite wanted = reporter_.TakeNonFinite(step);
  if (!wanted.any() || origins_ == kMaxOrigins) return;
  ++origins_;
  auto origin = FindOrigin(wanted, step, &values_.kept(), nodes_, &devices_);
  if (origin) outbox_.PutOrigin(*std::move(origin));
}

void Agent::BeginPass(graphdbg_mode mode, bool within_step) {
  ChangePass([&](Recorder& recorder) {
    recorder.BeginPass(static_cast<runs::Mode>(mode), within_step);
  });
}

void Agent::EndPass() {
  ChangePass([](Recorder& recorder) { recorder.EndPass(); });
}

void Agent::SetMode(graphdbg_mode mode) {
  ChangePass([mode](Recorder& recorder) {
    recorder.SetMode(static_cast<runs::Mode>(mode));
  });
}

absl::Status Agent::SaveTensor(const char* name, const char* collection,
                               const graphdbg_tensor& tensor,
                               graphdbg_status* status) {
  uint32_t node = nodes_.Find(name);
  if (node == 0) {
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name;
    info.kind = GRAPHDBG_OP;
    info.category = GRAPHDBG_OTHER;
    info.op_type = kSaveOpType;
    ASSIGN_OR_RETURN(node, DeclareNode(info));
  }
  if (nodes_.InfoOf(node).op_type != kSaveOpType) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot save '", name,
                     "': an op or tensor of the program has this name"));
  }
  if (absl::string_view(collection) == kMetricsCollection) {
    metrics_.Set(name, tensor);
  }
  if (const auto recorder = recordings_.recorders().current()) {
    recorder->AddSaved(node, collection);
  }
  graphdbg_execution execution = {};
  execution.struct_size = sizeof(execution);
  execution.node = node;
  execution.outputs = &tensor;
  execution.output_count = 1;
  *status = Executed(execution);
  return absl::OkStatus();
}

bool Agent::Watches(const char* condition) const {
  if (!live()) return false;
  const WatchSnapshot& watch = watch_.OnThisThread();
  return condition == nullptr ? watch.has_reported()
                              : !watch.OnReported(condition).empty();
}

absl::Status Agent::Report(const graphdbg_finding& finding) {
  if (!live()) return absl::OkStatus();
  return ReportAt(finding, {counter_.current_step(), counter_.NextOrder(),
                            /*in_progress=*/false});
}

absl::Status Agent::ReportAt(const graphdbg_finding& finding,
                             const ExecutionPoint& point) {
  Findings findings = reporter_.NewFindings();
  RETURN_IF_ERROR(
      AddReported(finding, watch_.OnThisThread(), nodes_, point, &findings));
  if (findings.empty()) return absl::OkStatus();
  reporter_.Report(std::move(findings));
  interest_.UnfinishStep();
  return absl::OkStatus();
}

void Agent::ReportServerFinding(const v1::Finding& from) {
  graphdbg_finding finding = {};
  finding.struct_size = sizeof(finding);
  finding.condition = from.condition().c_str();
  finding.node = from.node_id();
  finding.message = from.message().c_str();
  const absl::Status reported =
      ReportAt(finding, {from.step(), /*order=*/0, /*in_progress=*/false});
  if (!reported.ok()) {
    outbox_.PutLog(
        v1::Log::LEVEL_WARNING,
        absl::StrCat("ignored a finding of the server: ", reported.message()));
  }
}

absl::Status Agent::CompareReplicas(const graphdbg_replicas& replicas) {
  if (!live()) return absl::OkStatus();
  v1::ReplicaDigests message;
  message.set_step(counter_.current_step());
  message.set_group(wire::ToValidUtf8(replicas.group, wire::kMaxNameBytes));
  message.set_group_size(replicas.group_size);
  message.set_moment(replicas.moment);
  const auto count =
      static_cast<int>(std::min<size_t>(replicas.count, wire::kMaxReplicas));
  message.mutable_node_ids()->Reserve(count);
  message.mutable_digests()->Reserve(count);
  for (int i = 0; i < count; ++i) {
    const graphdbg_replica& replica = replicas.replicas[i];
    const NodeFacts* const facts = nodes_.Facts(replica.node);
    if (facts == nullptr || !facts->has(kAnyNode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", replica.node, " was not declared"));
    }
    message.add_node_ids(replica.node);
    message.add_digests(replica.digest);
  }
  outbox_.PutReplicas(std::move(message));
  return absl::OkStatus();
}

void Agent::ChangePass(const std::function<void(Recorder&)>& change) {
  const auto recorder = recordings_.recorders().current();
  if (recorder == nullptr || !live()) return;
  const bool was_due = recorder->due();
  const bool was_everything = recorder->everything();
  change(*recorder);
  if (recorder->due() != was_due || recorder->everything() != was_everything) {
    UpdateInterest();
  }
}

}  // namespace graphdbg::agent
