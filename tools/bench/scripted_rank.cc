#include "tools/bench/scripted_rank.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "agent/core/graph_offer.h"

namespace graphdbg::bench {
namespace {

constexpr uint32_t kNodesPerUpdate = 1000;
constexpr uint32_t kNodesPerLayer = 50;
constexpr std::chrono::milliseconds kTick(10);
// An agent's first delay.
constexpr std::chrono::milliseconds kRetry(200);
// All ranks of a job report the same step.
constexpr uint64_t kStep = 1;

// A chain of ops, grouped in layers: each op reads the previous one.
v1::Node NodeAt(uint32_t id) {
  v1::Node node;
  node.set_id(id);
  node.set_name("forward/layer_" + std::to_string((id - 1) / kNodesPerLayer) +
                "/op_" + std::to_string((id - 1) % kNodesPerLayer));
  node.set_kind(v1::NODE_KIND_OP);
  node.set_op_type("aten::add");
  node.set_category(v1::NODE_CATEGORY_OTHER);
  node.set_order(id);
  node.set_first_step(1);
  if (id > 1) node.add_inputs()->set_node_id(id - 1);
  v1::TensorType& type = *node.add_outputs()->mutable_type();
  type.set_dtype(v1::DTYPE_FLOAT32);
  type.add_shape(64);
  type.add_shape(64);
  v1::SourceFrame& frame = *node.add_stack();
  frame.set_file("/home/user/train.py");
  frame.set_function("forward");
  frame.set_line(10 + static_cast<int>(id % 500));
  frame.set_user(true);
  return node;
}

std::vector<v1::GraphUpdate> MakeGraph(uint32_t nodes) {
  std::vector<v1::GraphUpdate> graph;
  std::vector<std::string> names = {""};
  for (uint32_t next = 1; next <= nodes;) {
    v1::GraphUpdate& update = graph.emplace_back();
    const uint32_t end = std::min(next + kNodesPerUpdate, nodes + 1);
    for (; next < end; ++next) {
      *update.add_nodes() = NodeAt(next);
      names.push_back(NodeAt(next).name());
    }
    agent::AddDigests([&names](uint32_t id) { return names[id]; }, &update);
  }
  return graph;
}

// Made once for all ranks, which are on machines of their own in reality.
const std::vector<v1::GraphUpdate>& GraphOf(uint32_t nodes) {
  static absl::Mutex mu(absl::kConstInit);
  static auto* graphs = new std::map<uint32_t, std::vector<v1::GraphUpdate>>();
  absl::MutexLock lock(&mu);
  const auto found = graphs->find(nodes);
  if (found != graphs->end()) return found->second;
  return graphs->emplace(nodes, MakeGraph(nodes)).first->second;
}

void Fill(v1::Statistics* statistics) {
  statistics->set_count(4096);
  statistics->set_negative_count(2000);
  statistics->set_positive_count(2096);
  statistics->set_min(-3.5);
  statistics->set_max(3.5);
  statistics->set_mean(0.01);
  statistics->set_abs_mean(0.8);
  statistics->set_abs_max(3.5);
  statistics->set_variance(1);
  statistics->set_l1(3276.8);
  statistics->set_l2(64);
}

}  // namespace

ScriptedRank::ScriptedRank(Options options) : options_(std::move(options)) {
  Connect();
  reader_ = std::thread([this] { HandleCommands(); });
}

void ScriptedRank::Connect() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  {
    absl::MutexLock lock(&write_mu_);
    stub_ = v1::AgentService::NewStub(grpc::CreateCustomChannel(
        options_.server, grpc::InsecureChannelCredentials(), arguments));
    stream_.reset();
    context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->Session(context_.get());
  }
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  for (const char* name :
       {"wire/1", "hits/recorded", "statistics/report", "graph/offer"}) {
    hello.add_capabilities(name);
  }
  hello.set_job(options_.job);
  hello.set_job_name(options_.job);
  hello.set_rank(options_.rank);
  hello.set_world_size(options_.world_size);
  hello.set_framework("bench");
  hello.set_device("cpu");
  hello.set_incarnation(options_.job + "/" + std::to_string(options_.rank));
  Send(message);
  if (!options_.steps_itself) {
    SendState(/*paused=*/false);
    SendGraph();
    return;
  }
  // Its steps wait until it has told where it is.
  absl::MutexLock lock(&position_mu_);
  SendGraph();
  SendPosition();
}

void ScriptedRank::StartReporting() {
  reporter_ = std::thread([this] { Report(); });
}

ScriptedRank::~ScriptedRank() {
  const bool ended = ended_;
  stopping_ = true;
  if (reporter_.joinable()) reporter_.join();
  {
    absl::MutexLock lock(&write_mu_);
    context_->TryCancel();
  }
  reader_.join();
  const grpc::Status status = stream_->Finish();
  if (ended) PrintEnd(status);
}

void ScriptedRank::Send(const v1::AgentMessage& message, bool more_follow) {
  grpc::WriteOptions options;
  if (more_follow) options.set_buffer_hint();
  absl::MutexLock lock(&write_mu_);
  if (stream_->Write(message, options) || stopping_) return;
  ended_ = true;
  if (options_.may_be_ended || options_.returns) return;
  PrintEnd(stream_->Finish());
  std::exit(1);
}

void ScriptedRank::PrintEnd(const grpc::Status& status) const {
  std::fprintf(stderr, "%s rank %u: the stream has ended: %s\n",
               options_.job.c_str(), options_.rank,
               status.error_message().c_str());
}

void ScriptedRank::SendGraph() {
  for (const v1::GraphUpdate& update : GraphOf(options_.nodes)) {
    v1::AgentMessage offer;
    *offer.mutable_graph_offer() = agent::OfferOf(update);
    Send(offer);
    const v1::NeededGraph needed = AwaitNeeded();
    if (needed.nodes().empty()) continue;
    v1::AgentMessage message;
    *message.mutable_graph() = update;
    agent::KeepNeeded(needed, message.mutable_graph());
    Send(message);
  }
}

v1::NeededGraph ScriptedRank::AwaitNeeded() {
  v1::ServerMessage message;
  while (stream_->Read(&message)) {
    ended_ = false;
    if (message.has_needed_graph()) return message.needed_graph();
    if (message.has_command()) early_.push_back(message.command());
  }
  return {};
}

void ScriptedRank::SendState(bool paused) {
  v1::AgentMessage message;
  v1::StateUpdate& state = *message.mutable_state();
  state.set_state(paused ? v1::RUN_STATE_PAUSED : v1::RUN_STATE_RUNNING);
  if (paused) state.set_reason(v1::PAUSE_REASON_USER);
  state.set_step(kStep);
  state.set_step_ended(paused);
  Send(message);
}

void ScriptedRank::SendStatistics(uint32_t count) {
  v1::AgentMessage message;
  v1::StatisticsReport& report = *message.mutable_statistics();
  auto* const tensor = report.add_tensors();
  Fill(tensor->mutable_statistics());
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t number = sent_++;
    tensor->set_node_id(1 + static_cast<uint32_t>(number % options_.nodes));
    const uint64_t pass = number / options_.nodes;
    report.set_step(1 + (options_.steps == 0 ? pass : pass % options_.steps));
    Send(message, /*more_follow=*/i + 1 < count);
  }
}

void ScriptedRank::Report() {
  auto next = std::chrono::steady_clock::now();
  const auto per_tick = static_cast<uint32_t>(options_.statistics_per_second *
                                              kTick.count() / 1000);
  while (!stopping_) {
    if (running_) SendStatistics(per_tick);
    next += kTick;
    // Skip messages that could not be sent in time.
    next = std::max(next, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

void ScriptedRank::HandleEarlyCommands() {
  for (const v1::Command& command : std::exchange(early_, {})) Handle(command);
}

void ScriptedRank::HandleCommands() {
  v1::ServerMessage message;
  HandleEarlyCommands();
  while (stream_->Read(&message)) {
    if (message.has_command()) Handle(message.command());
  }
  ended_ = true;
  while (options_.returns && !stopping_) {
    std::this_thread::sleep_for(kRetry);
    stream_->Finish();
    Connect();
    HandleEarlyCommands();
    while (stream_->Read(&message)) {
      ended_ = false;
      if (message.has_command()) Handle(message.command());
    }
    ended_ = true;
  }
}

void ScriptedRank::Handle(const v1::Command& command) {
  if (options_.steps_itself) return HandleBetweenSteps(command);
  SendResult(command.id());
  running_ = !command.has_pause();
  SendState(!running_);
}

void ScriptedRank::SendResult(uint64_t command) {
  v1::AgentMessage result;
  result.mutable_command_result()->set_command_id(command);
  Send(result);
}

void ScriptedRank::HandleBetweenSteps(const v1::Command& command) {
  absl::MutexLock lock(&position_mu_);
  if (command.has_pause()) {
    if (!paused_) {
      stops_after_ = steps_ended_ + 1;
      reason_ = v1::PAUSE_REASON_USER;
      pauses_.push_back(command.id());
      return SendPosition();
    }
  } else {
    reason_ = v1::PAUSE_REASON_STEP;
    stops_after_ =
        command.has_step() ? steps_ended_ + command.step().steps() : 0;
    for (uint64_t id : std::exchange(pauses_, {})) SendResult(id);
    paused_ = false;
    SendPosition();
  }
  SendResult(command.id());
}

void ScriptedRank::SendPosition() {
  v1::AgentMessage message;
  v1::StateUpdate& state = *message.mutable_state();
  state.set_state(paused_ ? v1::RUN_STATE_PAUSED : v1::RUN_STATE_RUNNING);
  state.set_step(steps_ended_ + (paused_ ? 0 : 1));
  state.set_step_ended(paused_);
  if (paused_) {
    state.set_reason(reason_);
    if (reason_ == v1::PAUSE_REASON_WATCHPOINT) state.add_watchpoints(1);
  } else {
    state.set_pauses_after(stops_after_);
  }
  Send(message);
}

void ScriptedRank::Step() {
  absl::MutexLock lock(&position_mu_);
  if (paused_) return;
  ++steps_ended_;
  if (hit_.exchange(false)) {
    stops_after_ = steps_ended_;
    reason_ = v1::PAUSE_REASON_WATCHPOINT;
  }
  paused_ = stops_after_ != 0 && steps_ended_ >= stops_after_;
  SendPosition();
  if (!paused_) return;
  stops_after_ = 0;
  for (uint64_t id : std::exchange(pauses_, {})) SendResult(id);
}

void ScriptedRank::Hit(uint32_t node, uint64_t order) {
  v1::AgentMessage message;
  v1::Hit& hit = *message.mutable_hit();
  hit.set_number(++hits_);
  hit.set_watchpoint(1);
  hit.set_revision(1);
  hit.set_step(kStep);
  hit.set_node_id(node);
  hit.set_order(order);
  hit.set_origin(v1::HIT_ORIGIN_ORIGIN);
  (*hit.mutable_actual())["nan_count"] = 3;
  Fill(hit.mutable_statistics());
  Send(message);
}

void ScriptedRank::StopAtHit() { hit_ = true; }

}  // namespace graphdbg::bench
