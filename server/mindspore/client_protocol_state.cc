// Saves and restores the part of the protocol's state that outlives the server.
#include <algorithm>

#include "server/mindspore/client_protocol.h"
#include "server/mindspore/graph_translation.h"
#include "server/mindspore/hits.h"

namespace graphdbg::mindspore {
namespace {

template <class Enum>
Enum Enumerator(uint32_t number, Enum last) {
  return number <= static_cast<uint32_t>(last) ? static_cast<Enum>(number)
                                               : Enum{};
}

SavedWatchpoint Encode(int number, const WireWatchpoint& watchpoint) {
  SavedWatchpoint saved;
  saved.set_number(number);
  saved.set_watchpoint(watchpoint.watchpoint);
  saved.set_revision(watchpoint.revision);
  saved.set_pause(static_cast<uint32_t>(watchpoint.pause));
  for (const auto& [on_wire, shown] : watchpoint.names) {
    SavedWatchpoint::Name& name = *saved.add_names();
    name.set_on_wire(on_wire);
    name.set_shown(shown);
  }
  return saved;
}

WireWatchpoint Decode(const SavedWatchpoint& saved) {
  WireWatchpoint watchpoint;
  watchpoint.watchpoint = saved.watchpoint();
  watchpoint.revision = saved.revision();
  watchpoint.pause = Enumerator(saved.pause(), model::PauseMode::kNone);
  for (const auto& name : saved.names()) {
    watchpoint.names[name.on_wire()] = name.shown();
  }
  return watchpoint;
}

}  // namespace

SavedProtocol ClientProtocol::Save() const {
  SavedProtocol saved;
  saved.set_ms_version(ms_version_);
  saved.set_backend(backend_);
  saved.set_goal(static_cast<uint32_t>(goal_.kind));
  saved.set_goal_step(goal_.step);
  saved.set_goal_node(goal_.node);
  saved.set_stopped_at(stopped_at_);
  saved.set_inside_step(goal_.kind == Goal::Kind::kStop && inside_step_);
  saved.set_reason(static_cast<uint32_t>(reason_));
  for (uint32_t watchpoint : stopped_by_) saved.add_stopped_by(watchpoint);
  saved.set_steps_before(steps_before_);
  saved.set_steps_late(steps_late_);
  saved.set_ever_ran(ever_ran_);
  saved.set_unchecked(unchecked_);
  for (const auto& [number, watchpoint] : watchpoints_.Known()) {
    *saved.add_watchpoints() = Encode(number, watchpoint);
  }
  saved.set_last_number(watchpoints_.last_number());
  for (const ReportedHit& reported : reported_hits_) {
    *saved.add_hits() = reported.hit;
    saved.add_hit_numbers(reported.number);
    saved.add_hit_steps(reported.step);
  }
  for (const auto& hit : hits_) *saved.add_hits() = hit;
  saved.set_hit_count(hit_order_);
  return saved;
}

void ClientProtocol::Restore(const SavedProtocol& saved,
                             const std::vector<debugger::GraphProto>& graphs) {
  debugger::Metadata metadata;
  metadata.set_ms_version(saved.ms_version());
  metadata.set_backend(saved.backend());
  // A client that has not introduced itself yet has no backend.
  if (!saved.backend().empty()) UpdateProfile(metadata);
  for (const debugger::GraphProto& graph : graphs)
    TranslateGraph(graph, nodes_);
  has_graph_ = !graphs.empty();
  goal_.kind = Enumerator(saved.goal(), Goal::Kind::kToNode);
  goal_.step = saved.goal_step();
  goal_.node = saved.goal_node();
  step_ = stopped_at_ = saved.stopped_at();
  inside_step_ = saved.inside_step();
  reason_ = Enumerator(saved.reason(), model::PauseReason::kError);
  stopped_by_.assign(saved.stopped_by().begin(), saved.stopped_by().end());
  steps_before_ = saved.steps_before();
  steps_late_ = saved.steps_late();
  ever_ran_ = saved.ever_ran();
  unchecked_ = saved.unchecked();
  std::map<int, WireWatchpoint> known;
  for (const SavedWatchpoint& each : saved.watchpoints()) {
    known[each.number()] = Decode(each);
  }
  watchpoints_.Restore(known, saved.last_number());
  hit_order_ = saved.hit_count();
  RestoreHits(saved);
}

// The job ignores what it has stored already, because it knows the numbers.
void ClientProtocol::RestoreHits(const SavedProtocol& saved) {
  const int reported = std::min(
      {saved.hits_size(), saved.hit_numbers_size(), saved.hit_steps_size()});
  for (int i = 0; i < reported; ++i) {
    reported_hits_.push_back(
        {saved.hit_numbers(i), saved.hit_steps(i), saved.hits(i)});
    const NodeEntry* node = NodeOfHit(saved.hits(i), nodes_);
    if (node == nullptr || !watchpoints_.Find(saved.hits(i).id())) continue;
    Report(reported_hits_.back(), *node);
  }
  hits_.assign(saved.hits().begin() + reported, saved.hits().end());
}

void ClientProtocol::ReportGraphs(
    const std::vector<debugger::GraphProto>& graphs) {
  for (const debugger::GraphProto& graph : graphs) {
    reports_.push_back(TranslateGraph(graph, nodes_));
  }
}

}  // namespace graphdbg::mindspore
