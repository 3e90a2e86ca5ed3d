#include "server/runs/mindspore/dump_graph.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/mindspore/graph.pb.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/utf8.h"
#include "server/mindspore/categories.h"
#include "server/mindspore/graph_translation.h"
#include "server/runs/mindspore/csv.h"

namespace graphdbg::dumps {
namespace {

using recorded::Folder;

constexpr size_t kMaxGraphFiles = 100'000;
constexpr uint64_t kMaxGraphBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxOrderBytes = uint64_t{256} << 20;
constexpr size_t kMaxTypeBytes = 1'000;
constexpr std::string_view kGraphFile = "ms_output_trace_code_graph_";
constexpr std::string_view kGraphSuffix = ".pb";
// The name of all parameters and constants in MindSpore's names of files.
constexpr char kParameter[] = "Parameter";

// Absent for other files.
std::optional<uint32_t> NumberOf(std::string_view name) {
  if (!name.starts_with(kGraphFile) || !name.ends_with(kGraphSuffix)) {
    return std::nullopt;
  }
  name.remove_prefix(kGraphFile.size());
  name.remove_suffix(kGraphSuffix.size());
  const auto number = ParseNumber(name);
  if (!number || *number > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

absl::StatusOr<debugger::GraphProto> ParseGraph(const std::string& bytes) {
  debugger::ModelProto model;
  if (model.ParseFromString(bytes) && model.has_graph()) {
    return std::move(*model.mutable_graph());
  }
  return absl::DataLossError("the graph cannot be decoded");
}

// Positions in the order of execution, from 1, by full name. The file has a
// line for each op; its first line may be a title.
absl::flat_hash_map<std::string, uint64_t> ReadOrder(const Folder& rank,
                                                     uint32_t number) {
  absl::flat_hash_map<std::string, uint64_t> order;
  const auto folder = rank.OpenFolder("execution_order");
  if (!folder.ok()) return order;
  const auto text =
      folder->ReadAll(absl::StrCat("ms_execution_order_graph_", number, ".csv"),
                      kMaxOrderBytes);
  if (!text.ok()) return order;
  std::string_view rest = *text;
  for (uint64_t line = 1; !rest.empty(); ++line) {
    for (const std::string& cell : TakeCsvRow(rest)) {
      if (absl::StrContains(cell, '/')) order.try_emplace(cell, line);
    }
  }
  return order;
}

// Scopes are separated by slashes again, if the name of the file shows them.
std::string ShownName(const std::string& name) {
  return absl::StrReplaceAll(wire::ToValidUtf8(name, kMaxTypeBytes),
                             {{"--", "/"}});
}

}  // namespace

void DumpGraph::Read(const Folder& rank, graph::GraphStore& graph,
                     Damage& damage) {
  const auto graphs = rank.OpenFolder("graphs");
  if (absl::IsNotFound(graphs.status())) return;
  const auto names =
      graphs.ok() ? graphs->List(kMaxGraphFiles)
                  : absl::StatusOr<std::vector<std::string>>(graphs.status());
  if (!names.ok()) {
    damage[rank.PathOf("graphs")] = std::string(names.status().message());
    return;
  }
  std::map<uint32_t, std::string> files;
  for (const std::string& name : *names) {
    if (const auto number = NumberOf(name)) files[*number] = name;
  }
  for (const auto& [number, name] : files) {
    ReadOne(rank, *graphs, name, number, graph, damage);
  }
}

void DumpGraph::ReadOne(const Folder& rank, const Folder& graphs,
                        const std::string& file, uint32_t number,
                        graph::GraphStore& graph, Damage& damage) {
  const std::string path = graphs.PathOf(file);
  const auto bytes = graphs.ReadAll(file, kMaxGraphBytes);
  auto proto = bytes.ok()
                   ? ParseGraph(*bytes)
                   : absl::StatusOr<debugger::GraphProto>(bytes.status());
  if (!proto.ok()) {
    damage[path] = std::string(proto.status().message());
    return;
  }
  // Each graph needs a name of its own.
  const bool used = std::find(graph_names_.begin(), graph_names_.end(),
                              proto->name()) != graph_names_.end();
  if (used || proto->name().empty()) {
    proto->set_name(absl::StrCat("graph_", number));
  }
  graph_names_.push_back(proto->name());
  graph::GraphPatch patch = mindspore::TranslateGraph(*proto, table_);
  const auto order = ReadOrder(rank, number);
  for (graph::NodeRecord& record : patch.nodes) {
    const auto place = order.find(record.name);
    if (record.order != 0 && place != order.end()) record.order = place->second;
  }
  Apply(patch, number, path, graph, damage);
}

void DumpGraph::Apply(const graph::GraphPatch& patch, uint32_t number,
                      const std::string& path, graph::GraphStore& graph,
                      Damage& damage) {
  const absl::Status status = graph.Apply(patch, ids_);
  if (!status.ok()) damage[path] = std::string(status.message());
  for (const graph::NodeRecord& record : patch.nodes) {
    names_.Add(record.id, number, record.name, record.op_type);
    for (uint32_t at = 0; at < record.inputs.size(); ++at) {
      const graph::InputRecord& input = record.inputs[at];
      if (input.control) continue;
      TensorKey from{input.node_id, input.slot};
      if (const auto* node = table_.ById(from.node)) {
        from.node = table_.OwnerOf(*node, from.slot).id;
      }
      readers_[from].push_back({record.id, at});
      read_by_[{record.id, at}] = from;
    }
  }
  numbers_.clear();
  ids_.nodes.ForEach(
      [this](uint32_t id, graph::NodeIndex index) { numbers_[index] = id; });
}

void DumpGraph::AddOrphans(const Orphans& orphans, graph::GraphStore& graph,
                           Damage& damage) {
  if (orphans.empty()) return;
  std::vector<std::pair<uint32_t, const Orphan*>> ordered;
  for (const auto& [key, orphan] : orphans) {
    ordered.emplace_back(key.first, &orphan);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) {
                     return a.second->time_us < b.second->time_us;
                   });
  graph::GraphPatch patch;
  uint64_t order = table_.nodes().size();
  for (const auto& [number, orphan] : ordered) {
    const std::string name = ShownName(orphan->name);
    mindspore::NodeEntry& node =
        table_.Ensure(absl::StrCat("files_", number), orphan->name, name);
    graph::NodeRecord record;
    record.id = node.id;
    record.name = node.name;
    record.op_type = wire::ToValidUtf8(orphan->op_type, kMaxTypeBytes);
    if (record.op_type == kParameter) {
      record.kind = model::NodeKind::kParameter;
      record.category = mindspore::CategoryOfParameter(record.name);
    } else {
      record.category = mindspore::CategoryOfOp(record.name, record.op_type);
      record.order = ++order;
    }
    for (const auto& [slot, type] : orphan->outputs) {
      record.outputs.push_back({slot, type});
    }
    names_.Add(node.id, number, orphan->name, orphan->op_type);
    patch.nodes.push_back(std::move(record));
  }
  const absl::Status status = graph.Apply(patch, ids_);
  if (!status.ok()) {
    damage["nodes without a graph"] = std::string(status.message());
  }
  ids_.nodes.ForEach(
      [this](uint32_t id, graph::NodeIndex index) { numbers_[index] = id; });
}

TensorKey DumpGraph::KeyOf(graph::NodeIndex node, uint32_t slot) const {
  const auto found = numbers_.find(node);
  if (found == numbers_.end()) return {};
  const mindspore::NodeEntry* entry = table_.ById(found->second);
  if (entry == nullptr) return {};
  const uint32_t owner = table_.OwnerOf(*entry, slot).id;
  return {owner, slot};
}

std::vector<TensorKey> DumpGraph::ReadersOf(TensorKey tensor) const {
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? std::vector<TensorKey>() : found->second;
}

TensorKey DumpGraph::ReadBy(TensorKey reader) const {
  const auto found = read_by_.find(reader);
  return found == read_by_.end() ? TensorKey() : found->second;
}

}  // namespace graphdbg::dumps
