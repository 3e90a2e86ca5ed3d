#include "server/store/encode.h"

#include <memory>
#include <utility>
#include <variant>

#include "agent/conditions/selection_message.h"
#include "server/model/enum_names.h"
#include "server/model/messages.h"

namespace graphdbg::store {
namespace {

using model::Category;
using model::ControlVerb;
using model::FromNumber;
using model::JobState;
using model::NodeKind;
using model::Origin;
using model::PauseMode;
using model::PauseReason;

// Databases contain these numbers: values may only be added at the end.
static_assert(static_cast<int>(JobState::kLost) == 6);
static_assert(static_cast<int>(PauseReason::kError) == 6);
static_assert(static_cast<int>(NodeKind::kAggregate) == 6);
static_assert(static_cast<int>(Category::kOptimizer) == 4);
static_assert(static_cast<int>(ControlVerb::kRecheck) == 6);
static_assert(static_cast<int>(PauseMode::kNone) == 2);
static_assert(static_cast<int>(Origin::kPropagated) == 2);
static_assert(static_cast<int>(model::RecordLevel::kTensors) == 2);

template <class E>
uint32_t Number(E value) {
  return static_cast<uint32_t>(value);
}

void Fill(const model::TensorType& type, TensorType& out) {
  out.set_dtype(model::DTypeName(type));
  for (int64_t size : type.shape) out.add_shape(size);
}

model::TensorType TypeOf(const TensorType& type) {
  return model::ParseTensorType(type.dtype(),
                                {type.shape().begin(), type.shape().end()});
}

Action Encode(const model::Action& action) {
  struct Kind {
    Action::Kind operator()(const model::PauseAction&) { return Action::PAUSE; }
    Action::Kind operator()(const model::StopAction&) { return Action::STOP; }
    Action::Kind operator()(const model::LogAction&) { return Action::LOG; }
    Action::Kind operator()(const model::RecordAction&) {
      return Action::RECORD;
    }
    Action::Kind operator()(const model::CaptureAction&) {
      return Action::CAPTURE;
    }
  };
  Action out;
  out.set_kind(std::visit(Kind(), action));
  if (const auto* record = std::get_if<model::RecordAction>(&action)) {
    RecordAction& to = *out.mutable_record();
    to.set_level(Number(record->level));
    *to.mutable_collections() = {record->collections.begin(),
                                 record->collections.end()};
    to.set_steps(record->steps);
  }
  return out;
}

model::Action Decode(const Action& action) {
  if (action.kind() == Action::PAUSE) return model::PauseAction();
  if (action.kind() == Action::STOP) return model::StopAction();
  if (action.kind() == Action::CAPTURE) return model::CaptureAction();
  if (action.kind() != Action::RECORD) return model::LogAction();
  const RecordAction& record = action.record();
  return model::RecordAction{
      FromNumber(record.level(), model::RecordLevel::kTensors),
      {record.collections().begin(), record.collections().end()},
      record.steps()};
}

}  // namespace

Hello Encode(const jobs::AgentHello& hello) {
  Hello out;
  out.set_job_name(hello.job_name);
  out.set_world_size(hello.world_size);
  out.set_framework(hello.framework);
  out.set_framework_version(hello.framework_version);
  out.set_host(hello.host);
  out.set_pid(hello.pid);
  out.set_peer(hello.peer);
  out.set_device(hello.device);
  out.set_device_id(hello.device_id);
  out.set_incarnation(hello.incarnation);
  for (const auto& [verb, why] : hello.unsupported) {
    (*out.mutable_unsupported())[Number(verb)] = why;
  }
  if (!hello.allowed.all()) {
    Allowed& allowed = *out.mutable_allowed();
    allowed.set_view(hello.allowed.view);
    allowed.set_control(hello.allowed.control);
    allowed.set_terminate(hello.allowed.terminate);
    allowed.set_change(hello.allowed.change);
  }
  return out;
}

jobs::AgentHello Decode(const Hello& hello) {
  jobs::AgentHello out;
  out.job_name = hello.job_name();
  out.world_size = hello.world_size();
  out.framework = hello.framework();
  out.framework_version = hello.framework_version();
  out.host = hello.host();
  out.pid = hello.pid();
  out.peer = hello.peer();
  out.device = hello.device();
  out.device_id = hello.device_id();
  out.incarnation = hello.incarnation();
  for (const auto& [verb, why] : hello.unsupported()) {
    if (verb > Number(ControlVerb::kRecheck)) continue;
    out.unsupported[static_cast<ControlVerb>(verb)] = why;
  }
  if (hello.has_allowed()) {
    out.allowed = {hello.allowed().view(), hello.allowed().control(),
                   hello.allowed().terminate(), hello.allowed().change()};
  }
  return out;
}

RankState Encode(const jobs::RunState& run,
                 const jobs::ExitReport* exit_report) {
  RankState out;
  out.set_state(Number(run.state));
  out.set_reason(Number(run.reason));
  out.set_step(run.step);
  out.set_node(run.node);
  for (uint32_t id : run.stopped_by) out.add_stopped_by(id);
  if (exit_report == nullptr) return out;
  ExitReport& end = *out.mutable_exit_report();
  end.set_exit_code(exit_report->exit_code);
  end.set_steps(exit_report->steps);
  end.set_terminated(exit_report->terminated);
  end.mutable_metrics()->insert(exit_report->metrics.begin(),
                                exit_report->metrics.end());
  if (!exit_report->exception) return out;
  Exception& exception = *end.mutable_exception();
  exception.set_type(exit_report->exception->type);
  exception.set_message(exit_report->exception->message);
  exception.set_traceback(exit_report->exception->traceback);
  exception.set_node(exit_report->exception->node);
  exception.set_order(exit_report->exception->order);
  return out;
}

jobs::RunState DecodeRun(const RankState& state) {
  jobs::RunState run;
  run.state = FromNumber(state.state(), JobState::kConnecting);
  run.reason = FromNumber(state.reason(), PauseReason::kNone);
  run.step = state.step();
  run.node = state.node();
  run.stopped_by.assign(state.stopped_by().begin(), state.stopped_by().end());
  return run;
}

std::optional<jobs::ExitReport> DecodeExitReport(const RankState& state) {
  if (!state.has_exit_report()) return std::nullopt;
  const ExitReport& from = state.exit_report();
  jobs::ExitReport out;
  out.exit_code = from.exit_code();
  out.steps = from.steps();
  out.terminated = from.terminated();
  out.metrics.insert(from.metrics().begin(), from.metrics().end());
  if (from.has_exception()) {
    const Exception& e = from.exception();
    out.exception = {e.type(), e.message(), e.traceback(), e.node(), e.order()};
  }
  return out;
}

Node Encode(const graph::GraphStore& graph, graph::NodeIndex index) {
  const graph::Node& node = graph.node(index);
  // kNoNode, the largest number, becomes 0.
  static_assert(graph::NodeIndex(graph::kNoNode + 1) == 0);
  Node out;
  out.set_graph(graph.graphs()[node.graph].id);
  out.set_name(node.name);
  out.set_kind(Number(node.kind));
  out.set_op_type(node.op_type);
  out.set_category(Number(node.category));
  out.set_forward(node.forward + 1);
  out.set_order(node.order);
  out.set_first_step(node.first_step);
  out.set_last_step(node.last_step);
  for (const graph::Input& input : node.inputs) {
    Input& to = *out.add_inputs();
    to.set_node(input.node + 1);
    to.set_slot(input.slot);
    to.set_control(input.control);
  }
  for (const model::Output& output : node.outputs) {
    Output& to = *out.add_outputs();
    to.set_slot(output.slot);
    Fill(output.type, *to.mutable_type());
  }
  for (graph::FrameIndex frame : node.stack) out.add_stack(frame);
  out.mutable_attributes()->insert(node.attributes.begin(),
                                   node.attributes.end());
  if (node.digest != 0) out.set_digest(graph::BytesOf(node.digest));
  return out;
}

graph::NodeRecord Decode(const Node& node, graph::NodeIndex index) {
  graph::NodeRecord out;
  out.id = index + 1;
  out.name = node.name();
  out.kind = FromNumber(node.kind(), NodeKind::kScope);
  out.op_type = node.op_type();
  out.category = FromNumber(node.category(), Category::kOther);
  out.forward_node_id = node.forward();
  out.order = node.order();
  out.first_step = node.first_step();
  out.last_step = node.last_step();
  for (const Input& input : node.inputs()) {
    out.inputs.push_back({input.node(), input.slot(), input.control()});
  }
  for (const Output& output : node.outputs()) {
    out.outputs.push_back({output.slot(), TypeOf(output.type())});
  }
  out.attributes.insert(node.attributes().begin(), node.attributes().end());
  out.digest = graph::DigestOf(node.digest());
  return out;
}

Watchpoint Encode(const model::WatchpointSpec& spec) {
  Watchpoint out;
  *out.mutable_condition() = model::ToMessage(spec.condition);
  *out.mutable_selection() = conditions::ToMessage(spec.selection);
  out.set_pause(Number(spec.pause));
  out.set_enabled(spec.enabled);
  out.set_once(spec.once);
  out.set_ignore_count(spec.ignore_count);
  out.set_muted_until_step(spec.muted_until_step);
  out.set_group(spec.group);
  for (const model::Action& each : spec.actions) {
    *out.add_actions() = Encode(each);
  }
  return out;
}

// Earlier files have these lists in the watchpoint itself.
model::Selection DecodeOldSelection(const Watchpoint& watchpoint) {
  model::Selection selection;
  selection.nodes = {watchpoint.nodes().begin(), watchpoint.nodes().end()};
  selection.scopes = {watchpoint.scopes().begin(), watchpoint.scopes().end()};
  selection.patterns = {watchpoint.patterns().begin(),
                        watchpoint.patterns().end()};
  for (uint32_t each : watchpoint.categories()) {
    selection.categories.push_back(FromNumber(each, Category::kOther));
  }
  return selection;
}

model::WatchpointSpec Decode(const Watchpoint& watchpoint) {
  model::WatchpointSpec spec;
  spec.condition = model::FromMessage(watchpoint.condition());
  spec.selection = watchpoint.has_selection()
                       ? conditions::FromMessage(watchpoint.selection())
                       : DecodeOldSelection(watchpoint);
  spec.pause = FromNumber(watchpoint.pause(), PauseMode::kNode);
  spec.enabled = watchpoint.enabled();
  spec.once = watchpoint.once();
  spec.ignore_count = watchpoint.ignore_count();
  spec.muted_until_step = watchpoint.muted_until_step();
  spec.group = watchpoint.group();
  for (const Action& each : watchpoint.actions()) {
    spec.actions.push_back(Decode(each));
  }
  return spec;
}

Hit Encode(const watch::HitRecord& record) {
  const model::Hit& hit = record.hit;
  Hit out;
  out.set_watchpoint(hit.watchpoint);
  out.set_revision(hit.revision);
  out.set_rank(hit.rank);
  out.set_step(hit.step);
  out.set_node(record.node);
  out.set_slot(hit.slot);
  out.set_order(hit.order);
  out.mutable_actual()->insert(hit.actual.begin(), hit.actual.end());
  *out.mutable_statistics() = model::ToMessage(hit.statistics);
  Fill(hit.type, *out.mutable_type());
  for (const model::HitInput& input : hit.inputs) {
    HitInput& to = *out.add_inputs();
    to.set_position(input.position);
    Fill(input.type, *to.mutable_type());
    *to.mutable_statistics() = model::ToMessage(input.statistics);
  }
  out.set_origin(Number(hit.origin));
  if (hit.source) *out.mutable_source() = model::ToMessage(*hit.source);
  out.set_error(hit.error);
  out.set_time_unix_nano(hit.time_unix_nano);
  out.set_absorbed(hit.absorbed);
  out.set_message(hit.message);
  return out;
}

watch::HitRecord Decode(const Hit& record) {
  watch::HitRecord out;
  out.node = record.node();
  model::Hit& hit = out.hit;
  hit.watchpoint = record.watchpoint();
  hit.revision = record.revision();
  hit.rank = record.rank();
  hit.step = record.step();
  hit.slot = record.slot();
  hit.order = record.order();
  hit.actual.insert(record.actual().begin(), record.actual().end());
  hit.statistics = model::FromMessage(record.statistics());
  hit.type = TypeOf(record.type());
  for (const HitInput& input : record.inputs()) {
    hit.inputs.push_back({input.position(), TypeOf(input.type()),
                          model::FromMessage(input.statistics())});
  }
  hit.origin = FromNumber(record.origin(), Origin::kUnknown);
  if (record.has_source()) {
    hit.source = std::make_shared<const model::SourceLine>(
        model::FromMessage(record.source()));
  }
  hit.error = record.error();
  hit.time_unix_nano = record.time_unix_nano();
  hit.absorbed = record.absorbed();
  hit.message = record.message();
  return out;
}

}  // namespace graphdbg::store
