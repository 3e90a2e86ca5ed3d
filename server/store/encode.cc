#include "server/store/encode.h"

#include <utility>

namespace graphdbg::store {
namespace {

using model::Category;
using model::ControlVerb;
using model::JobState;
using model::NodeKind;
using model::Origin;
using model::PauseMode;
using model::PauseReason;

// Files hold these numbers: enumerators may be added at the end only.
static_assert(static_cast<int>(JobState::kLost) == 6);
static_assert(static_cast<int>(PauseReason::kError) == 6);
static_assert(static_cast<int>(NodeKind::kAggregate) == 6);
static_assert(static_cast<int>(Category::kOptimizer) == 4);
static_assert(static_cast<int>(ControlVerb::kRecheck) == 6);
static_assert(static_cast<int>(PauseMode::kNone) == 2);
static_assert(static_cast<int>(Origin::kPropagated) == 2);

template <class E>
uint32_t Number(E value) {
  return static_cast<uint32_t>(value);
}

// The first enumerator for a number that is none.
template <class E>
E Enumerator(uint32_t number, E last) {
  return number <= Number(last) ? static_cast<E>(number) : E{};
}

void Fill(const model::TensorType& type, TensorType& out) {
  out.set_dtype(model::DTypeName(type));
  for (int64_t size : type.shape) out.add_shape(size);
}

model::TensorType TypeOf(const TensorType& type) {
  return model::ParseTensorType(type.dtype(),
                                {type.shape().begin(), type.shape().end()});
}

void Fill(const model::Condition& condition, Condition& out) {
  out.set_id(condition.id);
  out.mutable_params()->insert(condition.params.begin(),
                               condition.params.end());
  out.mutable_text_params()->insert(condition.text_params.begin(),
                                    condition.text_params.end());
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
  return out;
}

RankState Encode(const jobs::RunState& run, const jobs::Farewell* farewell) {
  RankState out;
  out.set_state(Number(run.state));
  out.set_reason(Number(run.reason));
  out.set_step(run.step);
  out.set_node(run.node);
  for (uint32_t id : run.stopped_by) out.add_stopped_by(id);
  if (farewell == nullptr) return out;
  Farewell& end = *out.mutable_farewell();
  end.set_exit_code(farewell->exit_code);
  end.set_steps(farewell->steps);
  end.set_terminated(farewell->terminated);
  if (!farewell->exception) return out;
  Exception& exception = *end.mutable_exception();
  exception.set_type(farewell->exception->type);
  exception.set_message(farewell->exception->message);
  exception.set_traceback(farewell->exception->traceback);
  exception.set_node(farewell->exception->node);
  return out;
}

jobs::RunState DecodeRun(const RankState& state) {
  jobs::RunState run;
  run.state = Enumerator(state.state(), JobState::kLost);
  run.reason = Enumerator(state.reason(), PauseReason::kError);
  run.step = state.step();
  run.node = state.node();
  run.stopped_by.assign(state.stopped_by().begin(), state.stopped_by().end());
  return run;
}

std::optional<jobs::Farewell> DecodeFarewell(const RankState& state) {
  if (!state.has_farewell()) return std::nullopt;
  const Farewell& from = state.farewell();
  jobs::Farewell farewell;
  farewell.exit_code = from.exit_code();
  farewell.steps = from.steps();
  farewell.terminated = from.terminated();
  if (from.has_exception()) {
    const Exception& e = from.exception();
    farewell.exception = {e.type(), e.message(), e.traceback(), e.node()};
  }
  return farewell;
}

Frame Encode(const model::SourceLine& line) {
  Frame out;
  out.set_file(line.file);
  out.set_line(line.line);
  out.set_function(line.function);
  out.set_text(line.text);
  out.set_user(line.user);
  return out;
}

model::SourceLine Decode(const Frame& frame) {
  return {frame.file(), frame.line(), frame.function(), frame.text(),
          frame.user()};
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
  return out;
}

graph::NodeRecord Decode(const Node& node, graph::NodeIndex index) {
  graph::NodeRecord out;
  out.id = index + 1;
  out.name = node.name();
  out.kind = Enumerator(node.kind(), NodeKind::kAggregate);
  out.op_type = node.op_type();
  out.category = Enumerator(node.category(), Category::kOptimizer);
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
  return out;
}

Watchpoint Encode(const model::WatchpointSpec& spec) {
  Watchpoint out;
  Fill(spec.condition, *out.mutable_condition());
  for (const auto& node : spec.selection.nodes) out.add_nodes(node);
  for (const auto& scope : spec.selection.scopes) out.add_scopes(scope);
  for (const auto& each : spec.selection.patterns) out.add_patterns(each);
  for (Category each : spec.selection.categories) {
    out.add_categories(Number(each));
  }
  out.set_pause(Number(spec.pause));
  out.set_enabled(spec.enabled);
  return out;
}

model::WatchpointSpec Decode(const Watchpoint& watchpoint) {
  model::WatchpointSpec spec;
  const Condition& condition = watchpoint.condition();
  spec.condition.id = condition.id();
  spec.condition.params.insert(condition.params().begin(),
                               condition.params().end());
  spec.condition.text_params.insert(condition.text_params().begin(),
                                    condition.text_params().end());
  model::Selection& selection = spec.selection;
  selection.nodes.assign(watchpoint.nodes().begin(), watchpoint.nodes().end());
  selection.scopes.assign(watchpoint.scopes().begin(),
                          watchpoint.scopes().end());
  selection.patterns.assign(watchpoint.patterns().begin(),
                            watchpoint.patterns().end());
  for (uint32_t each : watchpoint.categories()) {
    selection.categories.push_back(Enumerator(each, Category::kOptimizer));
  }
  spec.pause = Enumerator(watchpoint.pause(), PauseMode::kNone);
  spec.enabled = watchpoint.enabled();
  return spec;
}

Statistics Encode(const model::Statistics& s) {
  Statistics out;
  out.set_count(s.count);
  out.set_nan_count(s.nan_count);
  out.set_pos_inf_count(s.pos_inf_count);
  out.set_neg_inf_count(s.neg_inf_count);
  out.set_zero_count(s.zero_count);
  out.set_negative_count(s.negative_count);
  out.set_positive_count(s.positive_count);
  if (s.min) out.set_min(*s.min);
  if (s.max) out.set_max(*s.max);
  if (s.mean) out.set_mean(*s.mean);
  if (s.abs_mean) out.set_abs_mean(*s.abs_mean);
  if (s.abs_max) out.set_abs_max(*s.abs_max);
  if (s.variance) out.set_variance(*s.variance);
  if (s.l1) out.set_l1(*s.l1);
  if (s.l2) out.set_l2(*s.l2);
  return out;
}

model::Statistics Decode(const Statistics& s) {
  model::Statistics out;
  out.count = s.count();
  out.nan_count = s.nan_count();
  out.pos_inf_count = s.pos_inf_count();
  out.neg_inf_count = s.neg_inf_count();
  out.zero_count = s.zero_count();
  out.negative_count = s.negative_count();
  out.positive_count = s.positive_count();
  if (s.has_min()) out.min = s.min();
  if (s.has_max()) out.max = s.max();
  if (s.has_mean()) out.mean = s.mean();
  if (s.has_abs_mean()) out.abs_mean = s.abs_mean();
  if (s.has_abs_max()) out.abs_max = s.abs_max();
  if (s.has_variance()) out.variance = s.variance();
  if (s.has_l1()) out.l1 = s.l1();
  if (s.has_l2()) out.l2 = s.l2();
  return out;
}

Hit Encode(const watch::HitRecord& hit) {
  Hit out;
  out.set_watchpoint(hit.watchpoint);
  out.set_revision(hit.revision);
  out.set_rank(hit.rank);
  out.set_step(hit.step);
  out.set_node(hit.node);
  out.set_slot(hit.slot);
  out.set_order(hit.order);
  out.mutable_actual()->insert(hit.actual.begin(), hit.actual.end());
  *out.mutable_statistics() = Encode(hit.statistics);
  Fill(hit.type, *out.mutable_type());
  out.set_origin(Number(hit.origin));
  if (hit.source) *out.mutable_source() = Encode(*hit.source);
  out.set_error(hit.error);
  out.set_time_unix_nano(hit.time_unix_nano);
  return out;
}

watch::HitRecord Decode(const Hit& hit) {
  watch::HitRecord out;
  out.watchpoint = hit.watchpoint();
  out.revision = hit.revision();
  out.rank = hit.rank();
  out.step = hit.step();
  out.node = hit.node();
  out.slot = hit.slot();
  out.order = hit.order();
  out.actual.insert(hit.actual().begin(), hit.actual().end());
  out.statistics = Decode(hit.statistics());
  out.type = TypeOf(hit.type());
  out.origin = Enumerator(hit.origin(), Origin::kPropagated);
  if (hit.has_source()) out.source = Decode(hit.source());
  out.error = hit.error();
  out.time_unix_nano = hit.time_unix_nano();
  return out;
}

}  // namespace graphdbg::store
