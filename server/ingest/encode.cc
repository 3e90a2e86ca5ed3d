#include "server/ingest/encode.h"

#include <variant>

#include "agent/conditions/selection_message.h"
#include "server/ingest/capabilities.h"
#include "server/model/messages.h"

namespace graphdbg::ingest {
namespace {

// The wire numbers these enumerations as server/model does.
static_assert(int{v1::NODE_CATEGORY_OPTIMIZER} ==
              int(model::Category::kOptimizer));
static_assert(int{v1::PAUSE_MODE_NONE} == int(model::PauseMode::kNone));
static_assert(int{v1::TensorRequest::VERSION_STEP} ==
              int(model::TensorQuery::Version::kStep));

void Fill(const model::PassedNodes& passed, v1::Command::NextNode& next) {
  if (passed.within) next.set_within(*passed.within);
  if (passed.outside) next.set_outside(*passed.outside);
  next.set_other_line(passed.other_line);
}

void Fill(const jobs::CommandOrder& order, v1::Command& command) {
  command.set_id(order.id);
  switch (order.verb) {
    case model::ControlVerb::kContinue:
      command.mutable_continue_();
      break;
    case model::ControlVerb::kStep:
      command.mutable_step()->set_steps(order.steps);
      command.mutable_step()->set_past_hits(order.past_hits);
      break;
    case model::ControlVerb::kNextNode:
      Fill(order.passed, *command.mutable_next_node());
      break;
    case model::ControlVerb::kContinueTo:
      command.mutable_continue_to()->set_node(order.node);
      command.mutable_continue_to()->set_pending(order.pending);
      break;
    case model::ControlVerb::kPause:
      command.mutable_pause()->set_at_step_end(order.at_step_end);
      break;
    case model::ControlVerb::kTerminate:
      command.mutable_terminate();
      break;
    case model::ControlVerb::kRecheck:
      *command.mutable_recheck()->mutable_watchpoints() = {
          order.watchpoints.begin(), order.watchpoints.end()};
      break;
  }
}

void Fill(const jobs::SetWatchpointOrder& order,
          v1::SetWatchpoint& watchpoint) {
  const model::WatchpointSpec& spec = order.spec;
  watchpoint.set_id(order.id);
  watchpoint.set_revision(order.revision);
  watchpoint.set_pause(static_cast<v1::PauseMode>(spec.pause));
  watchpoint.set_enabled(spec.enabled);
  watchpoint.set_once(spec.once);
  watchpoint.set_ignore_count(spec.ignore_count);
  watchpoint.set_capture(model::HasAction<model::CaptureAction>(spec.actions));
  *watchpoint.mutable_condition() = model::ToMessage(spec.condition);
  *watchpoint.mutable_selection() = conditions::ToMessage(spec.selection);
}

void Fill(const model::ExperimentQuery& query, v1::ExperimentRequest& request) {
  request.set_step(query.step);
  request.set_hit(query.hit);
  for (const std::string& id : query.experiments) request.add_experiments(id);
}

struct ChangeEncoder {
  v1::ChangeRequest& request;

  void operator()(const model::SetValues& change) const {
    request.mutable_set_values()->mutable_values()->Add(change.values.begin(),
                                                        change.values.end());
  }
  void operator()(const model::SetLearningRate& change) const {
    v1::ChangeRequest::SetLearningRate& out =
        *request.mutable_set_learning_rate();
    out.set_value(change.value);
    if (change.optimizer) out.set_optimizer(*change.optimizer);
    if (change.group) out.set_group(*change.group);
  }
  void operator()(const model::SkipStep&) const { request.mutable_skip_step(); }
  void operator()(const model::RestoreStep&) const {
    request.mutable_restore_step();
  }
};

void Fill(const jobs::TensorOrder& order, v1::TensorRequest& request) {
  const model::TensorQuery& query = order.query;
  request.set_request_id(order.request_id);
  request.set_node(query.node);
  request.set_slot(query.slot);
  request.set_slice_text(query.slice);
  request.set_want_data(query.want_data);
  request.set_want_statistics(query.want_statistics);
  request.set_want_quantiles(query.want_quantiles);
  request.set_max_elements(query.max_elements);
  request.set_max_bytes(query.max_bytes);
  request.set_version(static_cast<v1::TensorRequest::Version>(query.version));
  request.set_step(query.step);
  if (query.bundle) {
    v1::BundleRequest& bundle = *request.mutable_bundle();
    bundle.set_id(query.bundle->id);
    bundle.set_step(query.bundle->step);
    bundle.set_hit(query.bundle->hit);
  }
  if (query.experiment) Fill(*query.experiment, *request.mutable_experiment());
  if (query.change) {
    std::visit(ChangeEncoder{*request.mutable_change()}, *query.change);
    request.mutable_change()->set_by(query.changed_by);
  }
}

class Encoder {
 public:
  explicit Encoder(const ServerInfo& server_info) : server_info_(server_info) {}

  void operator()(const jobs::WelcomeOrder& order) {
    v1::Welcome& welcome = *message_.mutable_welcome();
    for (const std::string& name : OwnCapabilities()) {
      welcome.add_capabilities(name);
    }
    welcome.set_server_version(server_info_.version);
    welcome.set_page_address(server_info_.page_address);
    welcome.set_job(order.job);
    welcome.set_watchpoint_count(order.watchpoint_count);
  }
  void operator()(const jobs::CommandOrder& order) {
    Fill(order, *message_.mutable_command());
  }
  void operator()(const jobs::SetWatchpointOrder& order) {
    Fill(order, *message_.mutable_set_watchpoint());
  }
  void operator()(const jobs::RemoveWatchpointOrder& order) {
    message_.mutable_remove_watchpoint()->set_id(order.id);
  }
  void operator()(const jobs::TensorOrder& order) {
    Fill(order, *message_.mutable_tensor_request());
  }
  void operator()(const jobs::CancelTensorOrder& order) {
    message_.mutable_tensor_cancel()->set_request_id(order.request_id);
  }
  void operator()(const jobs::CatchTensorOrder& order) {
    message_.mutable_catch_tensor()->set_node(order.node);
    message_.mutable_catch_tensor()->set_capture(order.capture);
  }
  void operator()(const jobs::SetRecordingOrder& order) {
    v1::SetRecording& message = *message_.mutable_set_recording();
    message.set_id(order.id);
    message.set_on(order.spec.on);
    message.set_directory(order.spec.directory);
    message.set_settings(order.spec.settings);
    if (!order.spec.boost) return;
    message.mutable_boost()->set_settings(order.spec.boost->settings);
    message.mutable_boost()->set_steps(order.spec.boost->steps);
  }
  void operator()(const jobs::NeededGraphOrder& order) {
    v1::NeededGraph& needed = *message_.mutable_needed_graph();
    *needed.mutable_nodes() = {order.nodes.begin(), order.nodes.end()};
    *needed.mutable_files() = {order.files.begin(), order.files.end()};
  }
  void operator()(const jobs::FindingOrder& order) {
    v1::Finding& message = *message_.mutable_finding();
    message.set_condition(order.condition);
    message.set_step(order.step);
    message.set_node_id(order.node_id);
    message.set_message(order.message);
  }
  void operator()(const jobs::HitsRecordedOrder& order) {
    message_.mutable_hits_recorded()->set_through(order.through);
  }

  v1::ServerMessage message_;

 private:
  const ServerInfo& server_info_;
};

}  // namespace

v1::ServerMessage Encode(const jobs::AgentOrder& order,
                         const ServerInfo& server_info) {
  Encoder encoder(server_info);
  std::visit(encoder, order);
  return std::move(encoder.message_);
}

}  // namespace graphdbg::ingest
