#include "server/api/encode.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "server/api/decode_actions.h"
#include "server/api/encode_run.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

Json NullIfEmpty(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json Numbers(const std::map<std::string, double>& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) object[name] = Number(value);
  return object;
}

// Parameters as clients send them: numbers, strings and booleans in one object.
Json EncodeParams(const model::Condition& instance) {
  Json object = Numbers(instance.params);
  for (const auto& [name, text] : instance.text_params) object[name] = text;
  const conditions::Condition* row = conditions::Find(instance.id);
  if (row == nullptr) return object;
  for (const conditions::Parameter& parameter : row->params) {
    const auto value = instance.params.find(parameter.name);
    if (parameter.type != "bool" || value == instance.params.end()) continue;
    object[parameter.name] = value->second != 0;
  }
  return object;
}

Json OptionalNumber(const std::optional<double>& value) {
  return value ? Number(*value) : Json();
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Encode(*value) : Json();
}

Json TextOrNull(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json();
}

Json EncodeException(const model::Exception& exception) {
  return {{"type", exception.type},
          {"message", exception.message},
          {"traceback", exception.traceback},
          {"node", NullIfEmpty(exception.node)}};
}

// `source` is an optional or a pointer.
template <class Source>
Json EncodeSource(const Source& source) {
  if (!source) return nullptr;
  return {{"file", source->file},
          {"line", source->line},
          {"text", source->text},
          {"function", source->function}};
}

Json EncodeFrame(const model::SourceLine& frame) {
  return {{"file", frame.file},
          {"line", frame.line},
          {"function", frame.function},
          {"text", frame.text},
          {"user", frame.user}};
}

// A node of the results of a search.
Json EncodeFound(const model::Node& node) {
  Json json = Encode(node);
  if (node.match) json["match"] = EncodeFrame(*node.match);
  return json;
}

Json EncodeOutput(const model::Output& output) {
  return {{"slot", output.slot},
          {"dtype", model::DTypeName(output.type)},
          {"shape", output.type.shape}};
}

Json EncodeEndpoint(const model::Endpoint& end) {
  return {{"node", end.node},
          {"slot", end.slot},
          {"dtype", model::DTypeName(end.type)},
          {"shape", end.type.shape}};
}

// Includes the name that requests for tensors use.
Json EncodeTensor(const model::Endpoint& tensor) {
  Json json = {{"name", tensor.node + ":" + std::to_string(tensor.slot)}};
  json.update(EncodeEndpoint(tensor));
  return json;
}

Json EncodeNeighbour(const model::NeighbourNode& at) {
  Json json = Encode(at.node);
  json["distance"] = at.distance;
  return json;
}

Json EncodeNeighbourTensor(const model::NeighbourTensor& at) {
  const bool known = at.statistics.has_value();
  Json json = EncodeTensor(at.tensor);
  json["statistics"] = OrNull(at.statistics);
  json["statistics_step"] = known ? Json(at.statistics_step) : Json();
  json["hit_count"] = at.hit_count;
  json["hits"] = EncodeAll(at.hits);
  return json;
}

Json EncodePoint(const model::StatisticsPoint& point) {
  return {{"step", point.step}, {"statistics", Encode(point.statistics)}};
}

Json EncodeEdge(const model::Edge& edge) {
  return {{"from", edge.from},
          {"to", edge.to},
          {"tensors", edge.tensors},
          {"kind", model::ToString(edge.kind)}};
}

template <class T, class Encoder>
Json List(const std::vector<T>& values, Encoder encode) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(encode(value));
  return list;
}

Json EncodeRankStates(const std::map<model::JobState, uint32_t>& counts) {
  Json object = Json::object();
  for (const auto& [state, count] : counts) {
    object[std::string(model::ToString(state))] = count;
  }
  return object;
}

Json EncodeUnsupported(const model::Job& job) {
  Json object = Json::object();
  for (const auto& [verb, why] : job.unsupported) {
    object[std::string(model::ToString(verb))] = why;
  }
  return object;
}

Json EncodeMetrics(const std::map<std::string, double>& metrics) {
  Json values = Json::object();
  for (const auto& [name, value] : metrics) values[name] = Number(value);
  return values;
}

Json EncodeAllowed(const model::Allowed& allowed) {
  Json names = Json::array();
  if (allowed.view) names.push_back("view");
  if (allowed.control) names.push_back("control");
  if (allowed.terminate) names.push_back("terminate");
  if (allowed.change) names.push_back("change");
  return names;
}

}  // namespace

Json Encode(const model::Storage& storage) {
  return {{"state", storage.failing ? "failing" : "ok"},
          {"reason", NullIfEmpty(storage.reason)},
          {"since",
           storage.failing ? Json(TimeText(storage.since_unix_nano)) : Json()},
          {"set_aside",
           List(storage.set_aside, [](const model::SetAside& each) -> Json {
             return {{"job", each.job}, {"reason", each.reason}};
           })}};
}

Json Encode(const model::Rank& rank) {
  if (rank.brief) {
    return {{"rank", rank.rank},
            {"state", model::ToString(rank.state)},
            {"step", rank.step},
            {"node", rank.node}};
  }
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"pid", rank.pid},
          {"peer", rank.peer},
          {"device", rank.device},
          {"device_id", rank.device_id},
          {"state", model::ToString(rank.state)},
          {"step", rank.step},
          {"node", rank.node}};
}

Json Encode(const model::Job& job) {
  bool has_reason = job.pause_reason != model::PauseReason::kNone;
  Json encoded = {
      {"id", job.id},
      {"name", job.name},
      {"framework", job.framework},
      {"framework_version", job.framework_version},
      {"state", model::ToString(job.state)},
      {"pause_reason",
       has_reason ? Json(model::ToString(job.pause_reason)) : Json()},
      {"step", job.step},
      {"node", job.node},
      {"world_size", job.world_size},
      {"created_at", TimeText(job.created_at_unix_nano)},
      {"ranks", EncodeAll(job.ranks)},
      {"hit_count", job.hit_count},
      {"absorbed_hit_count", job.absorbed_hit_count},
      {"kept_hit_count", job.kept_hit_count},
      {"dropped_hit_count", job.dropped_hit_count},
      {"recommended_offered", job.recommended_offered},
      {"stopped_by", job.stopped_by},
      {"overhead", job.overhead ? Json(*job.overhead) : Json()},
      {"unchecked_watchpoints", job.unchecked},
      {"unsupported_commands", EncodeUnsupported(job)},
      {"controller", OrNull(job.controller)},
      {"exit_code", job.exit_code ? Json(*job.exit_code) : Json()},
      {"exception", job.exception ? EncodeException(*job.exception) : Json()}};
  if (!job.lists_all_ranks) encoded["ranks_complete"] = false;
  if (!job.rank_states.empty()) {
    encoded["rank_states"] = EncodeRankStates(job.rank_states);
  }
  if (!job.metrics.empty()) encoded["metrics"] = EncodeMetrics(job.metrics);
  if (!job.verified) encoded["verified"] = false;
  if (!job.allowed.all()) encoded["allowed"] = EncodeAllowed(job.allowed);
  if (!job.damaged.empty()) encoded["damaged"] = job.damaged;
  return encoded;
}

Json Encode(const model::Controller& controller) {
  return {{"name", controller.name},
          {"since", TimeText(controller.since_unix_nano)}};
}

Json Encode(const model::GraphSummary& graph) {
  return {{"id", graph.id},
          {"node_count", graph.node_count},
          {"edge_count", graph.edge_count}};
}

Json Encode(const model::Node& node) {
  return {{"name", node.name},
          {"label", node.label},
          {"kind", model::ToString(node.kind)},
          {"op_type", node.op_type},
          {"category", model::ToString(node.category)},
          {"child_count", node.child_count},
          {"descendant_count", node.descendant_count},
          {"outputs", List(node.outputs, EncodeOutput)},
          {"hit_count", node.hit_count},
          {"watched", model::ToString(node.watched)},
          {"source", EncodeSource(node.source)},
          {"order", node.order},
          {"first_step", node.first_step},
          {"last_step", node.last_step}};
}

Json Encode(const model::NodeDetail& detail) {
  Json json = Encode(detail.node);
  json["graph"] = detail.graph;
  json["inputs"] = List(detail.inputs, EncodeEndpoint);
  json["consumers"] = List(detail.consumers, EncodeEndpoint);
  json["attributes"] = Json::object();
  for (const auto& [name, value] : detail.attributes) {
    json["attributes"][name] = value;
  }
  json["stack"] = List(detail.stack, EncodeFrame);
  return json;
}

Json Encode(const model::ScopeView& view) {
  return {{"scope", view.scope},
          {"nodes", EncodeAll(view.nodes)},
          {"edges", List(view.edges, EncodeEdge)}};
}

Json Encode(const model::SearchResult& result) {
  return {{"nodes", List(result.nodes, EncodeFound)},
          {"next_cursor", NullIfEmpty(result.next_cursor)}};
}

Json Encode(const model::NeighbourEdge& edge) {
  return {{"from", edge.from},
          {"slot", edge.slot},
          {"to", edge.to},
          {"position", edge.position},
          {"kind", model::ToString(edge.kind)}};
}

Json EncodeExport(const model::ExportNode& exported) {
  const model::Node& node = exported.node;
  return {{"name", node.name},
          {"kind", model::ToString(node.kind)},
          {"op_type", node.op_type},
          {"category", model::ToString(node.category)},
          {"outputs", List(node.outputs, EncodeOutput)},
          {"attributes", exported.attributes},
          {"source", EncodeSource(node.source)},
          {"order", node.order},
          {"first_step", node.first_step},
          {"last_step", node.last_step}};
}

Json EncodeLists(const conditions::NodeLists& lists) {
  return {
      {"nodes", lists.nodes},
      {"scopes", lists.scopes},
      {"patterns", lists.patterns},
      {"regexes", lists.regexes},
      {"categories", List(lists.categories, model::ToString<model::Category>)},
      {"op_types", lists.op_types},
      {"sources", lists.sources},
      {"dtypes", List(lists.dtypes, ToString)},
      {"ranks", lists.ranks}};
}

Json Encode(const model::SelectionPreview& preview) {
  return {{"node_count", preview.node_count},
          {"tensors", preview.tensors},
          {"bytes", preview.bytes},
          {"seconds_per_step", preview.seconds_per_step},
          {"examples", preview.examples}};
}

Json Encode(const model::Watchpoint& watchpoint) {
  const model::WatchpointSpec& spec = watchpoint.spec;
  Json json = {
      {"id", watchpoint.id},
      {"condition",
       {{"id", spec.condition.id}, {"params", EncodeParams(spec.condition)}}}};
  json.update(EncodeLists(spec.selection));
  json["exclude"] = EncodeLists(spec.selection.exclude);
  json.update(Json{{"pause", model::ToString(spec.pause)},
                   {"enabled", spec.enabled},
                   {"once", spec.once},
                   {"ignore_count", spec.ignore_count},
                   {"muted_until_step", spec.muted_until_step},
                   {"group", NullIfEmpty(spec.group)},
                   {"actions", EncodeActions(spec.actions)},
                   {"node_count", watchpoint.node_count},
                   {"hit_count", watchpoint.hit_count},
                   {"error", NullIfEmpty(watchpoint.error)}});
  return json;
}

Json Encode(const model::Sender& sender) {
  return {{"rank", sender.rank},
          {"node", sender.node},
          {"slot", sender.slot},
          {"collective", sender.collective},
          {"source", EncodeSource(sender.source)}};
}

Json Encode(const conditions::Advice& advice) {
  return {{"causes", advice.causes}, {"next", advice.next}};
}

Json EncodeInput(const model::HitInput& input) {
  return {{"position", input.position},
          {"dtype", model::DTypeName(input.type)},
          {"shape", input.type.shape},
          {"statistics", Encode(input.statistics)}};
}

Json Encode(const model::Hit& hit) {
  static const auto* const kNoCondition = new model::Condition();
  const model::Condition& condition =
      hit.condition ? *hit.condition : *kNoCondition;
  return {{"id", hit.id},
          {"watchpoint", hit.watchpoint},
          {"rank", hit.rank},
          {"step", hit.step},
          {"node", hit.node},
          {"slot", hit.slot},
          {"op_type", hit.op_type},
          {"order", hit.order},
          {"condition", condition.id},
          {"params", EncodeParams(condition)},
          {"actual", Numbers(hit.actual)},
          {"statistics",
           hit.statistics.count > 0 ? Encode(hit.statistics) : Json()},
          {"dtype", model::DTypeName(hit.type)},
          {"shape", hit.type.shape},
          {"inputs", List(hit.inputs, EncodeInput)},
          {"origin", model::ToString(hit.origin)},
          {"absorbed", hit.absorbed},
          {"source", EncodeSource(hit.source)},
          {"error", NullIfEmpty(hit.error)},
          {"message", NullIfEmpty(hit.message)},
          {"sent_by", hit.sent_by ? Encode(*hit.sent_by) : Json()},
          {"time", TimeText(hit.time_unix_nano)}};
}

std::string Summary(const model::Hit& hit) {
  std::string text = absl::StrCat(hit.condition ? hit.condition->id : "hit",
                                  " at ", hit.node, ":", hit.slot);
  if (!hit.message.empty()) return absl::StrCat(text, ": ", hit.message);
  for (const auto& [name, value] : hit.actual) {
    absl::StrAppend(&text, ", ", name, " = ", value);
  }
  return text;
}

Json Encode(const model::HitPage& result) {
  return {{"hits", EncodeAll(result.hits)},
          {"next_cursor", NullIfEmpty(result.next_cursor)}};
}

Json Encode(const model::EvidenceLink& link) {
  return {{"label", link.label}, {"view", model::ToString(link.view)},
          {"node", link.node},   {"slot", link.slot},
          {"step", link.step},   {"rank", link.rank}};
}

Json Encode(const model::Diagnosis& diagnosis) {
  return {{"hit", diagnosis.hit},
          {"rule", NullIfEmpty(diagnosis.rule)},
          {"title", NullIfEmpty(diagnosis.title)},
          {"text", NullIfEmpty(diagnosis.text)},
          {"evidence", EncodeAll(diagnosis.evidence)},
          {"causes", diagnosis.causes},
          {"next", diagnosis.next}};
}

Json Encode(const model::Incident& incident) {
  Json steps = Json::array();
  for (const model::StepRange& range : incident.steps) {
    steps.push_back({{"first", range.first}, {"last", range.last}});
  }
  return {{"id", incident.id},
          {"origin", Encode(incident.origin)},
          {"diagnosis", Encode(incident.diagnosis)},
          {"conditions", incident.conditions},
          {"first_rank", incident.first_rank},
          {"ranks", incident.ranks},
          {"hit_count", incident.hit_count},
          {"reached_count", incident.reached_count},
          {"first_reached",
           incident.first_reached ? Encode(*incident.first_reached) : Json()},
          {"steps", std::move(steps)}};
}

Json Encode(const model::IncidentPage& page) {
  return {{"incidents", EncodeAll(page.incidents)}, {"total", page.total}};
}

Json Encode(const model::Statistics& s) {
  return {{"count", s.count},
          {"nan_count", s.nan_count},
          {"pos_inf_count", s.pos_inf_count},
          {"neg_inf_count", s.neg_inf_count},
          {"zero_count", s.zero_count},
          {"negative_count", s.negative_count},
          {"positive_count", s.positive_count},
          {"min", OptionalNumber(s.min)},
          {"max", OptionalNumber(s.max)},
          {"mean", OptionalNumber(s.mean)},
          {"abs_mean", OptionalNumber(s.abs_mean)},
          {"abs_max", OptionalNumber(s.abs_max)},
          {"variance", OptionalNumber(s.variance)},
          {"l1", OptionalNumber(s.l1)},
          {"l2", OptionalNumber(s.l2)}};
}

Json Encode(const Quantiles& quantiles) {
  Json json = Json::object();
  for (size_t i = 0; i < Quantiles::kNames.size(); ++i) {
    json[Quantiles::kNames[i]] = Number(quantiles.values[i]);
  }
  return json;
}

Json Encode(const model::TensorSummary& summary) {
  const model::Endpoint& tensor = summary.tensor;
  bool known = summary.statistics.has_value();
  return {{"role", summary.role},
          {"index", summary.index},
          {"name", tensor.node + ":" + std::to_string(tensor.slot)},
          {"node", tensor.node},
          {"slot", tensor.slot},
          {"dtype", model::DTypeName(tensor.type)},
          {"shape", tensor.type.shape},
          {"statistics", OrNull(summary.statistics)},
          {"statistics_step", known ? Json(summary.statistics_step) : Json()}};
}

Json Encode(const model::Neighbours& neighbours) {
  return {{"tensor", EncodeTensor(neighbours.tensor)},
          {"nodes", List(neighbours.nodes, EncodeNeighbour)},
          {"edges", EncodeAll(neighbours.edges)},
          {"tensors", List(neighbours.tensors, EncodeNeighbourTensor)},
          {"truncated", neighbours.truncated}};
}

Json Encode(const model::TensorHistory& history) {
  Json json = EncodeTensor(history.tensor);
  json["points"] = List(history.points, EncodePoint);
  return json;
}

Json EncodeHead(const model::TensorValue& value) {
  return {{"name", value.node + ":" + std::to_string(value.slot)},
          {"node", value.node},
          {"slot", value.slot},
          {"rank", value.rank},
          {"step", value.step},
          {"dtype", model::DTypeName(value.type)},
          {"shape", value.type.shape}};
}

Json EncodeCommand(const model::ControlRequest& request) {
  return {
      {"command", model::ToString(request.verb)},
      {"steps", request.verb == model::ControlVerb::kStep ? Json(request.steps)
                                                          : Json()},
      {"node", NullIfEmpty(request.node)},
      {"within", TextOrNull(request.passed.within)},
      {"outside", TextOrNull(request.passed.outside)},
      {"other_line", request.passed.other_line},
      {"rank", request.rank ? Json(*request.rank) : Json()},
      {"user", NullIfEmpty(request.user)},
      {"client", request.client},
      {"peer", request.peer}};
}

Json Encode(const model::Event& event, int64_t time_unix_nano) {
  Json json = {{"seq", event.seq},
               {"type", model::ToString(event.type)},
               {"job", event.job},
               {"rank", event.rank},
               {"time", TimeText(time_unix_nano)}};
  switch (event.type) {
    case model::Event::Type::kJob:
      json["info"] = OrNull(event.job_info);
      break;
    case model::Event::Type::kState:
      json["info"] = OrNull(event.job_info);
      json["command_id"] = NullIfEmpty(event.command_id);
      json["error"] = NullIfEmpty(event.message);
      break;
    case model::Event::Type::kGraph:
      json["node_count"] = event.node_count;
      break;
    case model::Event::Type::kHit:
      json["hit"] = OrNull(event.hit);
      break;
    case model::Event::Type::kFinding:
      json["finding"] = OrNull(event.finding);
      break;
    case model::Event::Type::kWatchpoint:
      json["watchpoint"] = OrNull(event.watchpoint);
      json["id"] =
          event.watchpoint ? event.watchpoint->id : event.watchpoint_id;
      break;
    case model::Event::Type::kLog:
      json["level"] = event.level;
      json["message"] = event.message;
      break;
    case model::Event::Type::kCommand:
      json["command_id"] = event.command_id;
      json["command"] = EncodeCommand(*event.command);
      break;
    case model::Event::Type::kServer:
      json["storage"] = OrNull(event.storage);
      break;
    case model::Event::Type::kTensor:
      break;
  }
  return json;
}

}  // namespace graphdbg::api
