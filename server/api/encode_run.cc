#include "server/api/encode_run.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/api/decode_actions.h"
#include "server/api/encode.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

Json NullIfEmpty(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json EncodeStep(const model::RecordedStep& step) {
  const bool complete = step.reason == model::StepReason::kNone;
  return {{"step", step.step},
          {"mode", model::ToString(step.mode)},
          {"mode_step", step.mode_step},
          {"passes", step.passes},
          {"begin", step.begin_unix_nano ? Json(TimeText(*step.begin_unix_nano))
                                         : Json()},
          {"seconds", step.seconds ? Number(*step.seconds) : Json()},
          {"records", step.records},
          {"dropped", step.dropped},
          {"reason", complete ? Json() : Json(model::ToString(step.reason))},
          {"ranks", step.ranks}};
}

Json EncodeLine(const model::SourceLine& line) {
  return {{"file", line.file},
          {"line", line.line},
          {"text", line.text},
          {"function", line.function}};
}

Json EncodeLastOp(const model::LastOp& op) {
  return {{"rank", op.rank},
          {"thread", op.thread},
          {"node", NullIfEmpty(op.node)},
          {"step", op.step},
          {"exec_order", op.exec_order},
          {"began_at", TimeText(op.begin_unix_nano)},
          {"unfinished", op.unfinished},
          {"source", op.source ? EncodeLine(*op.source) : Json()}};
}

Json EncodeUserChange(const model::UserChange& change) {
  return {{"rank", change.rank},
          {"step", change.step},
          {"time", TimeText(change.time_unix_nano)},
          {"by", NullIfEmpty(change.by)},
          {"text", change.text},
          {"node", NullIfEmpty(change.node)}};
}

Json EncodePoint(const model::StatisticsPoint& point) {
  return {{"step", point.step}, {"statistics", Encode(point.statistics)}};
}

Json EncodeBucket(const model::HistoryBucket& bucket) {
  return {{"points", bucket.points},
          {"first", EncodePoint(bucket.first)},
          {"last", EncodePoint(bucket.last)},
          {"least", EncodePoint(bucket.least)},
          {"greatest", EncodePoint(bucket.greatest)}};
}

// Readers of JSON have no integers of 64 bits, which digests are.
Json EncodeValue(const std::string& measure,
                 const model::ComparedValue& value) {
  if (measure.empty()) return Json();
  if (const auto* number = std::get_if<double>(&value)) return Number(*number);
  const uint64_t count = std::get<uint64_t>(value);
  if (measure != "digest") return count;
  return absl::StrCat(absl::Hex(count, absl::kZeroPad16));
}

Json EncodeInput(const model::ComparedInput& input) {
  return {{"node", input.node},
          {"there_node", NullIfEmpty(input.there_node)},
          {"slot", input.slot},
          {"state", model::ToString(input.state)},
          {"measure", NullIfEmpty(input.measure)},
          {"here", EncodeValue(input.measure, input.here)},
          {"there", EncodeValue(input.measure, input.there)}};
}

Json EncodeCall(const model::CallDifference& call) {
  return {{"what", model::ToString(call.what)},
          {"subject", call.subject},
          {"here", NullIfEmpty(call.here)},
          {"there", NullIfEmpty(call.there)}};
}

Json EncodeReport(const model::RuleReport& report) {
  return {{"rule", report.rule},
          {"observations", report.observations},
          {"unknown", report.unknown},
          {"finding_count", report.findings}};
}

template <class T, class Encoder>
Json List(const std::vector<T>& values, Encoder encode) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(encode(value));
  return list;
}

Json EncodeRenaming(const model::InferredRenaming& renaming) {
  return {
      {"from", renaming.from}, {"to", renaming.to}, {"nodes", renaming.nodes}};
}

Json EncodeDifference(const model::Difference& difference) {
  const std::string& measure = difference.measure;
  return {{"step", difference.step},
          {"mode", model::ToString(difference.mode)},
          {"pass", difference.pass},
          {"node", difference.node},
          {"there_node", difference.there_node},
          {"slot", difference.slot},
          {"exec_order", difference.exec_order},
          {"measure", measure},
          {"here", EncodeValue(measure, difference.here)},
          {"there", EncodeValue(measure, difference.there)},
          {"inputs", List(difference.inputs, EncodeInput)},
          {"calls", List(difference.calls, EncodeCall)}};
}

Json EncodeSelection(const model::RuleSelection& selection) {
  const std::pair<const char*, const std::vector<std::string>&> lists[] = {
      {"collections", selection.collections},
      {"include", selection.include},
      {"exclude", selection.exclude},
      {"op_types", selection.op_types},
      {"nodes", selection.nodes},
      {"scopes", selection.scopes},
      {"patterns", selection.patterns}};
  Json json = Json::object();
  for (const auto& [name, list] : lists) {
    if (!list.empty()) json[name] = list;
  }
  if (!selection.categories.empty()) {
    json["categories"] = List(selection.categories,
                              [](auto each) { return model::ToString(each); });
  }
  return json;
}

Json EncodeRule(const model::LiveRule& rule) {
  const model::RuleSpec& spec = rule.spec;
  Json reduce = Json::object();
  for (const auto& [name, text] : spec.reduce) reduce[name] = text;
  return {{"name", spec.name},
          {"when", spec.when},
          {"base", NullIfEmpty(spec.base)},
          {"select", EncodeSelection(spec.selection)},
          {"series",
           List(spec.series, [](auto each) { return model::ToString(each); })},
          {"reduce", std::move(reduce)},
          {"for", spec.hold},
          {"cool_down", spec.cool_down},
          {"actions", EncodeActions(rule.actions)},
          {"act_from", rule.act_from ? Json(*rule.act_from) : Json()}};
}

Json EncodeListed(const rules::ListedRule& listed) {
  const model::LiveRuleState& state = listed.state;
  Json json = EncodeRule(state.rule);
  json["class"] = NullIfEmpty(listed.python_class);
  json["when"] = NullIfEmpty(state.rule.spec.when);
  json["state"] = model::ToString(state.state);
  json["observations"] = state.report.observations;
  json["unknown"] = state.report.unknown;
  json["finding_count"] = state.report.findings;
  json["error"] = NullIfEmpty(state.error);
  return json;
}

}  // namespace

Json Encode(const model::Run& run) {
  Json json = Encode(run.job);
  Json damage = Json::array();
  for (const auto& [file, reason] : run.damage) {
    damage.push_back({{"file", file}, {"reason", reason}});
  }
  json["first_step"] = run.first_step;
  json["last_step"] = run.last_step;
  json["ended"] = NullIfEmpty(run.ended);
  json["program"] = run.program;
  json["resumes"] = NullIfEmpty(run.resumes);
  json["log_bytes"] = run.log_bytes;
  json["damage"] = std::move(damage);
  json["last_ops"] = List(run.last_ops, EncodeLastOp);
  json["user_changes"] = List(run.user_changes, EncodeUserChange);
  return json;
}

Json Encode(const model::StepPage& page) {
  return {{"steps", List(page.steps, EncodeStep)},
          {"next_cursor", NullIfEmpty(page.next_cursor)}};
}

Json Encode(const model::Collection& collection) {
  return {{"name", collection.name},
          {"level", NullIfEmpty(collection.level)},
          {"tensors", collection.tensors}};
}

Json Encode(const model::RunHistory& history) {
  Json json = Encode(model::TensorHistory{history.tensor, history.points});
  json["buckets"] = List(history.buckets, EncodeBucket);
  json["saved_steps"] = history.saved_steps;
  return json;
}

Json Encode(const model::CheckReport& report) {
  return {{"state", model::ToString(report.state)},
          {"done", report.done},
          {"total", report.total},
          {"hits", List(report.hits,
                        [](const model::CheckHit& each) {
                          Json hit = Encode(each.hit);
                          hit["evidence"] = model::ToString(each.evidence);
                          return hit;
                        })},
          {"hit_count", report.hit_count},
          {"not_recorded", report.not_recorded},
          {"findings", List(report.findings,
                            [](const auto& each) { return Encode(each); })},
          {"rules", List(report.rules, EncodeReport)},
          {"error", NullIfEmpty(report.error)}};
}

Json Encode(const model::Divergence& divergence) {
  const auto& first = divergence.first;
  return {{"steps", divergence.steps},
          {"matched", divergence.matched},
          {"only_here", divergence.only_here},
          {"only_there", divergence.only_there},
          {"only_here_count", divergence.only_here_count},
          {"only_there_count", divergence.only_there_count},
          {"first", first ? EncodeDifference(*first) : Json()},
          {"next", List(divergence.next, EncodeDifference)},
          {"renamings", List(divergence.renamings, EncodeRenaming)}};
}

Json Encode(const model::Finding& finding) {
  Json values = Json::object();
  for (const auto& [name, value] : finding.values) values[name] = Number(value);
  return {
      {"rule", finding.rule},
      {"rank", finding.rank ? Json(*finding.rank) : Json()},
      {"tensor", NullIfEmpty(finding.tensor)},
      {"mode", finding.mode ? Json(model::ToString(*finding.mode)) : Json()},
      {"step", finding.step},
      {"values", std::move(values)},
      {"message", finding.message},
      {"advice", finding.advice == nullptr ? Json() : Encode(*finding.advice)}};
}

Json Encode(const std::vector<rules::ListedRule>& rules) {
  Json list = List(rules, EncodeListed);
  return {{"rules", std::move(list)}};
}

std::string EncodeRules(const std::vector<model::LiveRule>& rules) {
  return Dump({{"rules", List(rules, EncodeRule)}});
}

Json Encode(const model::JobRecording& recording) {
  return {{"ranks", List(recording.ranks, [](const model::RankRecording& each) {
             return Json{{"rank", each.rank},
                         {"supported", each.supported},
                         {"state", model::ToString(each.state)},
                         {"host", each.host},
                         {"directory", NullIfEmpty(each.directory)},
                         {"keep", each.keeps_all ? "all" : "ring"},
                         {"steps", each.steps},
                         {"records", each.records},
                         {"dropped", each.dropped},
                         {"bytes", each.bytes},
                         {"time_share", Number(each.time_share)}};
           })}};
}

}  // namespace graphdbg::api
