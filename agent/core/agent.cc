#include "agent/core/agent.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/core/heap.h"
#include "agent/core/log.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

// How often a running program's step is told, and policies are looked at.
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kCloseLimit = std::chrono::seconds(5);

std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(),
                         random());
}

std::string Text(const char* text) {
  return text == nullptr ? std::string()
                         : wire::ToValidUtf8(text, wire::kMaxTextBytes);
}

}  // namespace

Agent::Agent(Config config, Identity identity, const Host& host,
             std::unique_ptr<Transport> transport)
    : config_(std::move(config)),
      identity_(std::move(identity)),
      incarnation_(RandomName()),
      host_(host),
      devices_(&host_,
               [this](const std::string& line) {
                 outbox_.PutLog(v1::Log::LEVEL_WARNING, line);
               }),
      watch_(&nodes_),
      kept_(&host_, config_.tensor_budget_bytes),
      previous_bound_(/*generations=*/1, config_.tensor_budget_bytes / 2,
                      &devices_),
      previous_outputs_(/*generations=*/2, config_.tensor_budget_bytes / 4,
                        &devices_),
      requested_(&nodes_),
      gate_(&host_,
            {[this](const v1::StateUpdate& state) { ReportState(state); },
             [this](uint64_t id, const absl::Status& status) {
               outbox_.PutCommandResult(id, status);
             },
             [this] { UpdateNeeds(); }},
            config_.on_disconnect == OnDisconnect::kHold),
      checker_(&nodes_, &host_, &devices_),
      deferred_(&checker_, &devices_,
                [this](Findings findings) {
                  std::vector<uint32_t> stops;
                  Report(std::move(findings), &stops);
                }),
      tensor_requests_({&host_, &devices_, &nodes_, &bindings_, &kept_,
                        &previous_bound_, &previous_outputs_, &requested_,
                        &gate_, &outbox_}),
      rechecker_({&host_, &nodes_, &bindings_, &kept_, &previous_bound_,
                  &previous_outputs_, &watch_, &checker_, &gate_, &outbox_,
                  [this](Findings findings) {
                    std::vector<uint32_t> stops;
                    findings.stop_at_step_end.clear();
                    Report(std::move(findings), &stops);
                  }}),
      transport_(std::move(transport)) {
  nodes_.set_on_change([this] { outbox_.Wake(); });
}

Agent::~Agent() {
  if (worker_.joinable()) Close(graphdbg_ending{});
}

void Agent::Notify(const std::string& line) {
  LogToStderr(line);
  outbox_.PutLog(v1::Log::LEVEL_INFO, line);
}

void Agent::ReportState(v1::StateUpdate state) {
  if (state.state() == v1::RUN_STATE_PAUSED) nodes_.ReportLastSteps();
  if (const auto device = devices_.first()) {
    state.set_device(device->first);
    state.set_device_id(device->second);
  }
  outbox_.PutState(std::move(state));
}

void Agent::Open() {
  for (const std::string& problem : config_.problems) LogToStderr(problem);
  opened_at_ = std::chrono::steady_clock::now();
  UpdateNeeds();
  worker_ = std::thread([this] { Work(); });
  transport_->Start(this);
}

graphdbg_status Agent::Close(const graphdbg_ending& ending) {
  const bool was_live = live_.exchange(false);
  interest_flags_ = 0;
  const bool terminated = gate_.terminating();
  if (const std::string node = gate_.awaited(); !node.empty()) {
    outbox_.PutLog(v1::Log::LEVEL_WARNING,
                   absl::StrCat("the program ended before it came to ", node));
  }
  gate_.Open(/*terminate=*/false);
  v1::Goodbye goodbye;
  goodbye.set_exit_code(ending.exit_code);
  goodbye.set_steps(steps_ended_);
  goodbye.set_terminated(terminated);
  if (ending.exception_type != nullptr) {
    v1::ExceptionInfo* exception = goodbye.mutable_exception();
    exception->set_type(
        wire::ToValidUtf8(ending.exception_type, wire::kMaxNameBytes));
    exception->set_message(Text(ending.exception_message));
    exception->set_traceback(Text(ending.exception_traceback));
  }
  nodes_.ReportLastSteps();
  outbox_.PutGoodbye(std::move(goodbye));
  bool connected;
  {
    std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
    connected = connection_ == Connection::kUp;
  }
  changed_.notify_all();
  transport_->Finish(connected && was_live ? kCloseLimit
                                           : std::chrono::seconds(0));
  worker_.join();
  deferred_.Drop();
  kept_.Clear();
  previous_bound_.Clear();
  previous_outputs_.Clear();
  DeliverLevel();
  return was_live ? GRAPHDBG_OK : GRAPHDBG_DETACHED;
}

void Agent::Detach(const std::string& line) {
  if (!live() || detaching_.exchange(true)) return;
  LogToStderr(line);
  live_ = false;
  interest_flags_ = 0;
  gate_.Open(/*terminate=*/false);
  transport_->Cancel();
  kept_.Clear();
  previous_bound_.Clear();
  previous_outputs_.Clear();
  changed_.notify_all();
  UpdateNeeds();
}

void Agent::GoInert() {
  live_ = false;
  interest_flags_ = 0;
}

void Agent::Work() {
  std::unique_lock<std::mutex> lock(mu_);
  while (!closing_) {
    changed_.wait_for(lock, kTick, [&] { return closing_ || work_to_do_; });
    work_to_do_ = false;
    lock.unlock();
    try {
      while (tensor_requests_.ServeOne() || rechecker_.ServeOne()) {
      }
      if (live()) deferred_.ProcessCompleted();
      gate_.ReportState(/*always=*/false);
      ApplyDisconnectPolicy();
    } catch (const std::exception& e) {
      Detach(absl::StrFormat("internal error (%s); training goes on undebugged",
                             e.what()));
    }
    lock.lock();
  }
}

void Agent::ApplyDisconnectPolicy() {
  const auto closed_since = gate_.closed_since();
  if (!closed_since || !live()) return;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (connection_ != Connection::kLost) return;
    const auto now = std::chrono::steady_clock::now();
    const bool patient = config_.on_disconnect == OnDisconnect::kHold ||
                         now - lost_since_ < config_.grace;
    if (patient) return;
  }
  if (config_.on_disconnect == OnDisconnect::kStop) {
    LogToStderr(
        "the server is gone while the program was paused; it is ended "
        "(GRAPHDBG_ON_DISCONNECT=stop)");
    gate_.Open(/*terminate=*/true);
    return;
  }
  LogToStderr("the server is gone while the program was paused; it goes on");
  gate_.Resume();
}

// Needs are computed under a lock, the host is told without it: a callback may
// want a lock of the host's that a thread holds which is about to come here.
void Agent::UpdateNeeds() {
  level_ = ComputeNeeds();
  DeliverLevel();
}

int Agent::ComputeNeeds() {
  std::lock_guard<std::mutex> lock(needs_mu_);
  const Gate::Needs needs = gate_.needs();
  const std::shared_ptr<const WatchSnapshot> watch = watch_.snapshot();
  if (needs.awaited_node != awaited_node_) {
    if (NodeFacts* old = nodes_.Facts(awaited_node_)) {
      old->Set(kAwaited, false);
    }
    if (NodeFacts* next = nodes_.Facts(needs.awaited_node)) {
      next->Set(kAwaited, true);
    }
    awaited_node_ = needs.awaited_node;
  }
  if (!needs.paused && needs.pauses != resumed_pause_) {
    resumed_pause_ = needs.pauses;
    requested_.Resume(needs.pauses,
                      [this](uint32_t node) { return kept_.HasAnyOf(node); });
  }
  const bool catching = !requested_.to_catch().empty();
  const bool keeps = needs.tensors || watch->pauses();
  const Keep keep = !keeps                   ? Keep::kNothing
                    : config_.partial_memory ? Keep::kWatched
                                             : Keep::kEverything;
  uint8_t wanted = kNeverExecuted | kWatched | kAwaited | kRequested;
  if (needs.every_node || keep == Keep::kEverything) wanted |= kAnyNode;
  if (keep == Keep::kWatched || catching) wanted |= kWrites;
  if (watch->matches_infinities()) wanted |= kExplicitNonFinite;
  uint8_t looks = kWatched | kAwaited | kRequested;
  const bool stepped = needs.tensors && keep == Keep::kEverything;
  if (needs.every_node || stepped) looks |= kAnyNode;
  required_flags_ = looks;
  keep_ = keep;
  if (keep != Keep::kNothing || watch->needs_previous()) {
    KeepFreedMemory(config_.tensor_budget_bytes);
  }
  const bool sees_writes =
      (wanted & (kAnyNode | kWrites)) != 0 || watch->covers_all();
  // Writes may have gone unseen since.
  if (sees_writes && !sees_writes_.exchange(sees_writes)) seen_.Clear();
  sees_writes_ = sees_writes;
  catching_ = catching;
  gate_wants_every_node_ = needs.every_node;
  interest_flags_ = live() ? wanted : 0;
  const bool ops = !first_step_ended_ || !watch->empty() || needs.every_node ||
                   needs.tensors || needs.awaited_node != 0 ||
                   needs.new_nodes || catching;
  return ops ? GRAPHDBG_LEVEL_OPS : GRAPHDBG_LEVEL_STEPS;
}

void Agent::DeliverLevel() {
  // Another thread that is telling looks again after it has told.
  constexpr auto kPatience = std::chrono::milliseconds(2);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto wanted = [this] {
    return live() ? level_.load() : int{GRAPHDBG_LEVEL_OFF};
  };
  do {
    std::unique_lock<std::mutex> telling(level_mu_, std::try_to_lock);
    while (!telling.owns_lock()) {
      if (std::chrono::steady_clock::now() > deadline) return;
      std::this_thread::yield();
      telling.try_lock();
    }
    const int level = wanted();
    if (level == delivered_level_) return;
    delivered_level_ = level;
    host_.SetLevel(level);
    telling.unlock();
  } while (true);
}

absl::StatusOr<uint32_t> Agent::DeclareNode(const graphdbg_node_info& info) {
  absl::StatusOr<uint32_t> id = nodes_.Declare(info);
  if (!id.ok()) return id;
  watch_.AddNode(*id);
  if (info.kind == GRAPHDBG_OP) gate_.NodeDeclared(info.name, *id);
  return id;
}

absl::Status Agent::DeclareScope(absl::string_view graph,
                                 absl::string_view name,
                                 absl::string_view type) {
  return nodes_.DeclareScope(graph, name, type);
}

absl::Status Agent::BindTensor(uint32_t node, void* bound) {
  if (nodes_.Facts(node) == nullptr || node > nodes_.size()) {
    return absl::InvalidArgumentError("no such node");
  }
  bindings_.Bind(node, bound);
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
