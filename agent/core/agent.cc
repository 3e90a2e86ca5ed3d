#include "agent/core/agent.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/selection_message.h"
#include "agent/core/log.h"
#include "agent/core/recorder.h"
#include "agent/core/refusal.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

// How often the step of a running program is reported, and timeouts are
// checked.
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kCloseLimit = std::chrono::seconds(5);

std::string Text(const char* text) {
  return text == nullptr ? std::string()
                         : wire::ToValidUtf8(text, wire::kMaxTextBytes);
}

v1::ExceptionInfo ExceptionOf(const graphdbg_ending& ending) {
  v1::ExceptionInfo exception;
  exception.set_type(
      wire::ToValidUtf8(ending.exception_type, wire::kMaxNameBytes));
  exception.set_message(Text(ending.exception_message));
  exception.set_traceback(Text(ending.exception_traceback));
  return exception;
}

StatisticsRecorder::Limits LimitsOf(const Config& config) {
  StatisticsRecorder::Limits limits;
  limits.time_share = WithinLimit(limits.time_share, config.overhead);
  return limits;
}

}  // namespace

Agent::Agent(Config config, Identity identity, const Host& host,
             std::unique_ptr<Transport> transport, ReadPlaceFunction read_place,
             OpenRecordingFunction open_recording)
    : config_(std::move(config)),
      identity_(std::move(identity)),
      read_place_(std::move(read_place)),
      host_(host),
      devices_(&host_,
               [this](const std::string& line) {
                 outbox_.PutLog(v1::Log::LEVEL_WARNING, line);
               }),
      watch_(&nodes_, identity_.reports),
      requested_(&nodes_),
      statistics_(LimitsOf(config_)),
      recordings_(
          {{&host_, &devices_, &nodes_, &bindings_, &counter_,
            config_.tensor_budget_bytes, &overview_, config_.source_files,
            [this](const std::string& line) {
              LogToStderr(line);
              outbox_.PutLog(v1::Log::LEVEL_WARNING, line);
            }},
           &outbox_,
           config_.record,
           std::move(open_recording),
           [this] {
             return MakeHello(config_, identity_, incarnation_,
                              devices_.first(),
                              /*waits_at_start=*/false);
           },
           [this] { return config_.program; },
           [this] {
             // Ranks have to agree on a name; a single process gets one
             // of its own.
             return config_.world_size > 1 ? config_.job : "";
           },
           [this] { UpdateInterest(); },
           [this] { worker_.Wake(); },
           config_.overhead}),
      bundle_writer_({&host_, &devices_, &nodes_}),
      captures_({&config_, &host_, &nodes_, &bundle_writer_,
                 [this](const std::string& line) { Notify(line); }}),
      connection_(ServerAddress(config_)),
      values_({&host_, &nodes_, &bindings_, &requested_, &devices_},
              config_.tensor_budget_bytes, config_.partial_memory),
      level_(&host_),
      gate_(&host_, &nodes_,
            {[this](const v1::StateUpdate& state) { ReportState(state); },
             [this](uint64_t id, const absl::Status& status) {
               outbox_.PutCommandResult(id, status);
             },
             [this] { UpdateInterest(); }},
            config_.on_disconnect == OnDisconnect::kHold, config_.step_limit),
      interest_({&nodes_, &gate_, &watch_, &requested_, &values_,
                 &recordings_.recorders()},
                config_.partial_memory),
      reporter_(
          &outbox_, &statistics_, &watch_.limits(),
          [this](const v1::Hit& hit) {
            captures_.OnHit(hit);
            if (const auto recorder = recordings_.recorders().current()) {
              recorder->Hit(hit);
            }
          },
          /*attended=*/!config_.serverless),
      checker_(&nodes_, &host_, &devices_),
      undecided_(&nodes_, &devices_),
      bound_checker_({&host_, &devices_, &nodes_, &bindings_,
                      &values_.previous_bound(), &checker_, &counter_}),
      deferred_(
          &nodes_, &checker_, &devices_,
          [this](Findings findings) { reporter_.Report(std::move(findings)); }),
      bundle_requests_(
          {&config_, &nodes_, &captures_, &bundle_writer_, &host_, &gate_}),
      tensor_requests_({&host_, &devices_, &nodes_, &bindings_, &values_.kept(),
                        &values_.previous_bound(), &values_.previous_outputs(),
                        &requested_, &gate_, &outbox_, &bundle_requests_,
                        [this](const std::string& line) { Notify(line); },
                        [this](const v1::UserChange& change) {
                          const auto recorder =
                              recordings_.recorders().current();
                          if (recorder != nullptr)
                            recorder->UserChanged(change);
                        },
                        &config_.allowed}),
      rechecker_({&host_, &nodes_, &bindings_, &values_.kept(),
                  &values_.previous_bound(), &values_.previous_outputs(),
                  &watch_, &checker_, &gate_, &outbox_,
                  [this](Findings findings) {
                    // The program is paused already.
                    findings.stop_at_step_end.clear();
                    reporter_.Report(std::move(findings));
                  }}),
      link_(
          {&config_, &nodes_, &watch_, &requested_, &outbox_, &gate_,
           &tensor_requests_, &captures_, &rechecker_, &recordings_,
           &connection_},
          {[this] { return live(); },
           [this] {
             return MakeHello(config_, identity_, incarnation_,
                              devices_.first(), config_.wait && !running_);
           },
           [this] { UpdateInterest(); }, [this] { worker_.Wake(); },
           [this](const v1::Finding& finding) { ReportServerFinding(finding); },
           [this](const std::string& line) { Detach(line); }}),
      transport_(std::move(transport)),
      worker_(kTick, [this] { Work(); }) {
  nodes_.set_intentional(config_.intentional);
  nodes_.set_on_change([this] {
    outbox_.Wake();
    if (const auto recorder = recordings_.recorders().current()) {
      recorder->GraphChanged();
    }
  });
}

Agent::~Agent() {
  if (worker_.started()) Close(graphdbg_ending{});
}

void Agent::Notify(const std::string& line) { reporter_.Notify(line); }

void Agent::ReportState(v1::StateUpdate state) {
  if (state.state() == v1::RUN_STATE_PAUSED) nodes_.ReportLastSteps();
  if (const auto device = devices_.first()) {
    state.set_device(device->first);
    state.set_device_id(device->second);
  }
  if (const auto share = own_time_.share()) state.set_overhead(*share);
  outbox_.PutState(std::move(state));
}

void Agent::Open() {
  opened_at_ = std::chrono::steady_clock::now();
  UpdateInterest();
}

void Agent::Dial() {
  if (dialed_.exchange(true)) return;
  if (read_place_ != nullptr) {
    Place place;
    const bool known = host_.Place(&place.rank, &place.world_size) &&
                       place.rank < place.world_size;
    read_place_(known ? std::optional(place) : std::nullopt, &config_);
  }
  // Processes that were forked before have others.
  incarnation_ = NewIncarnation();
  for (const std::string& problem : config_.problems) LogToStderr(problem);
  for (const std::string& problem : config_.place_problems) {
    LogToStderr(problem);
  }
  recordings_.Start();
  UpdateInterest();
  worker_.Start();
  transport_->Start(&link_);
}

void Agent::SetOwnWatchpoints() {
  for (const v1::SetWatchpoint& watchpoint : config_.record.watchpoints) {
    if (!conditions::IncludesRank(
            conditions::FromMessage(watchpoint.selection()), config_.rank)) {
      continue;
    }
    const absl::StatusOr<uint32_t> count = watch_.Set(watchpoint);
    captures_.Set(watchpoint);
    if (!count.ok()) {
      LogToStderr(absl::StrCat("watchpoint ", watchpoint.id(),
                               " of the configuration cannot be checked: ",
                               count.status().message()));
    }
  }
}

v1::Goodbye Agent::MakeGoodbye(const graphdbg_ending& ending,
                               bool terminated) const {
  v1::Goodbye goodbye;
  goodbye.set_exit_code(ending.exit_code);
  goodbye.set_steps(counter_.steps_ended());
  goodbye.set_terminated(terminated);
  metrics_.AddTo(&goodbye);
  if (ending.exception_type != nullptr) {
    v1::ExceptionInfo& exception = *goodbye.mutable_exception();
    exception = ExceptionOf(ending);
    exception.set_node(
        NameOf(failed_op_.Find(exception.message(), counter_.current_step())));
  }
  return goodbye;
}

std::string Agent::NameOf(uint32_t node) const {
  return node == 0 ? std::string() : nodes_.InfoOf(node).name;
}

std::vector<uint32_t> Agent::DecideInfinities() {
  deferred_.EndStep();
  Findings findings = reporter_.NewFindings();
  undecided_.EndStep(&findings);
  return reporter_.Report(std::move(findings));
}

graphdbg_status Agent::Failed(const graphdbg_ending& ending) {
  if (!live()) return GRAPHDBG_DETACHED;
  DecideInfinities();
  // Nobody can let the program end if the server does not.
  const bool if_attended = config_.on_error == OnError::kPauseIfAttended;
  if (!running_ || ending.exception_type == nullptr ||
      config_.on_error == OnError::kContinue ||
      (if_attended && !connection_.releases_unattended_errors())) {
    return GRAPHDBG_OK;
  }
  Gate::Failure failure;
  failure.step = counter_.current_step();
  failure.exception = ExceptionOf(ending);
  failure.node = failed_op_.Find(failure.exception.message(), failure.step);
  failure.exception.set_node(NameOf(failure.node));
  failure.resume_if_unattended = if_attended;
  return gate_.AtFailure(failure);
}

graphdbg_status Agent::Close(const graphdbg_ending& ending) {
  const bool was_live = live_.exchange(false);
  interest_.TurnOff();
  level_.TurnOff();
  const bool terminated = gate_.terminating();
  if (const std::string node = gate_.awaited(); !node.empty()) {
    outbox_.PutLog(v1::Log::LEVEL_WARNING,
                   absl::StrCat("the program ended before it reached ", node));
  }
  gate_.Open(/*terminate=*/false);
  DecideInfinities();
  nodes_.ReportLastSteps();
  // The last report may be a tenth of a second old, which is all that a short
  // program takes.
  gate_.ReportState(/*always=*/false);
  ReportLeftOut();
  const v1::Goodbye goodbye = MakeGoodbye(ending, terminated);
  recordings_.Close(goodbye, terminated                ? "terminated"
                             : goodbye.has_exception() ? "exception"
                                                       : "exit");
  outbox_.PutGoodbye(goodbye);
  const bool connected = connection_.Close();
  worker_.RequestStop();
  transport_->Finish(connected && was_live ? kCloseLimit
                                           : std::chrono::seconds(0));
  worker_.Stop();
  deferred_.Drop();
  values_.Clear();
  level_.Deliver();
  return was_live ? GRAPHDBG_OK : GRAPHDBG_DETACHED;
}

void Agent::ReportLeftOut() {
  const uint64_t steps = counter_.steps_ended();
  if (!config_.overhead || steps == 0) return;
  const auto recorder = recordings_.recorders().current();
  const uint64_t records = recorder != nullptr ? recorder->steps_left_out() : 0;
  Notify(absl::StrCat(
      "GRAPHDBG_OVERHEAD=", *config_.overhead, " left out, of ", steps,
      " steps, the statistics of watched tensors in ",
      statistics_.steps_left_out(), " and the ",
      recorder != nullptr && recorder->has_files() ? "recording" : "overview",
      " of ", records, "; watchpoints were checked in all of them"));
}

void Agent::Detach(const std::string& line) {
  if (!live() || detaching_.exchange(true)) return;
  LogToStderr(line);
  live_ = false;
  interest_.TurnOff();
  level_.TurnOff();
  gate_.Open(/*terminate=*/false);
  transport_->Cancel();
  values_.Clear();
  connection_.Abandon();
  UpdateInterest();
}

void Agent::GoInert() {
  live_ = false;
  recordings_.GoInert();
  interest_.TurnOff();
  level_.TurnOff();
}

void Agent::Work() {
  try {
    while (tensor_requests_.ServeOne() || rechecker_.ServeOne()) {
    }
    if (live()) deferred_.ProcessCompleted();
    recordings_.Work();
    gate_.ReportState(/*always=*/false);
    ApplyDisconnectPolicy();
  } catch (const std::exception& e) {
    Detach(absl::StrCat("internal error (", e.what(),
                        "); training continues without debugging"));
  }
}

void Agent::ApplyDisconnectPolicy() {
  const bool detaches = config_.on_disconnect == OnDisconnect::kDetach;
  if (!live() || (!gate_.closed_since() && !detaches)) return;
  const auto lost_since = connection_.lost_since();
  if (!lost_since || config_.on_disconnect == OnDisconnect::kHold ||
      std::chrono::steady_clock::now() - *lost_since < config_.grace) {
    return;
  }
  if (detaches)
    return Detach("lost the server; training continues without debugging");
  if (config_.on_disconnect == OnDisconnect::kStop) {
    LogToStderr(
        "lost the server while the program was paused; terminating the program "
        "(GRAPHDBG_ON_DISCONNECT=stop)");
    gate_.Open(/*terminate=*/true);
    return;
  }
  LogToStderr(
      "lost the server while the program was paused; the program continues");
  gate_.Resume();
}

// The interest is computed under a lock, but the host is called without it: the
// callback may wait for a lock of the host that is held by a thread which is
// about to update the interest.
void Agent::UpdateInterest() { level_.Set(interest_.Update()); }

absl::StatusOr<uint32_t> Agent::DeclareNode(const graphdbg_node_info& info) {
  ASSIGN_OR_RETURN(const uint32_t id, nodes_.Declare(info));
  watch_.AddNode(id);
  if (const auto recorder = recordings_.recorders().current()) {
    recorder->AddNode(id);
  }
  if (info.kind == GRAPHDBG_OP) gate_.NodeDeclared(info.name, id);
  return id;
}

absl::Status Agent::DeclareScope(absl::string_view graph,
                                 absl::string_view name,
                                 absl::string_view type) {
  return nodes_.DeclareScope(graph, name, type);
}

absl::Status Agent::BindTensor(uint32_t node, void* bound) {
  if (nodes_.Facts(node) == nullptr || node > nodes_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node, " was not declared"));
  }
  bindings_.Bind(node, bound);
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
