#include "server/runs/mindspore/dump_rank.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/utf8.h"
#include "server/runs/mindspore/csv.h"
#include "server/runs/mindspore/dump_message.h"
#include "server/runs/mindspore/npy.h"
#include "server/runs/stored_values.h"
#include "server/tensor/shape.h"

namespace graphdbg::dumps {
namespace {

using recorded::Folder;
using recorded::StoredTensor;

constexpr uint64_t kMaxJsonBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxHistoryBytes = uint64_t{256} << 20;
// The listings of recent steps are kept up to this size.
constexpr uint64_t kMaxKeptBytes = uint64_t{128} << 20;
constexpr size_t kMaxOrphans = 1'000'000;
constexpr size_t kMaxDamage = 1'000;
constexpr size_t kMaxTextBytes = 200;

std::string TextAt(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return "";
  return wire::ToValidUtf8(found->get<std::string>(), kMaxTextBytes);
}

// Type and shape are in the name.
absl::StatusOr<StoredTensor> RawTensor(const recorded::File& file,
                                       const std::string& name) {
  const auto parsed = ParseDumpName(name);
  if (!parsed) return absl::DataLossError("the name has no type and shape");
  const model::TensorType& type = parsed->type;
  StoredTensor tensor{type, 0, file.size()};
  if (type.dtype == DType::kOther) return tensor;
  const auto expected = tensor::DenseBytes(type.dtype, type.shape);
  if (!expected || *expected > tensor.bytes) {
    return absl::DataLossError(
        absl::StrCat("the file has ", tensor.bytes,
                     " bytes, fewer than the type and shape in its name need"));
  }
  tensor.bytes = *expected;
  return tensor;
}

}  // namespace

DumpRank::DumpRank(uint32_t number, Folder dump,
                   std::shared_ptr<MemoryBudget> memory)
    : number_(number), dump_(std::move(dump)), memory_(std::move(memory)) {}

void DumpRank::AddDamage(const std::string& path, const absl::Status& status) {
  if (status.ok() || absl::IsNotFound(status)) return;
  if (damage_.size() < kMaxDamage) {
    damage_[path] = std::string(status.message());
  }
}

void DumpRank::ReadMetadata(const Folder& rank) {
  const auto folder = rank.OpenFolder(".dump_metadata");
  if (!folder.ok()) return;
  const auto text = folder->ReadAll("config.json", kMaxJsonBytes);
  AddDamage(folder->PathOf("config.json"), text.status());
  if (!text.ok()) return;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) {
    return AddDamage(folder->PathOf("config.json"),
                     absl::DataLossError("it is no JSON object"));
  }
  device_ = TextAt(json, "device_target");
  version_ = TextAt(json, "ms_version");
}

// Each line is an iteration in which the graph ran.
void DumpRank::ReadHistory(const Folder& rank) {
  const auto folder = rank.OpenFolder("execution_order");
  if (!folder.ok()) return;
  const auto names = folder->List(kMaxOrphans);
  executions_.clear();
  for (const std::string& name :
       names.ok() ? *names : std::vector<std::string>()) {
    if (!name.starts_with("ms_global_execution_order_graph_")) continue;
    const auto text = folder->ReadAll(name, kMaxHistoryBytes);
    AddDamage(folder->PathOf(name), text.status());
    if (!text.ok()) continue;
    std::string_view rest = *text;
    while (!rest.empty()) {
      const auto iteration = ParseNumber(TakeCsvRow(rest).front());
      if (!iteration) continue;
      const uint64_t step = StepOf(*iteration);
      if (steps_.contains(step)) ++executions_[step];
    }
  }
}

void DumpRank::AddOrphan(const DumpName& name, uint32_t graph,
                         const model::TensorType& type,
                         DumpGraph::Orphans& orphans) const {
  if (graph_.names().Find(name, graph) != 0) return;
  if (orphans.size() >= kMaxOrphans) return;
  auto& orphan = orphans[{graph, NormalName(name.op_name)}];
  if (orphan.name.empty()) {
    orphan = {name.op_name, name.op_type, name.time_us, {}};
  }
  if (name.is_output) orphan.outputs.insert_or_assign(name.slot, type);
}

void DumpRank::AddOrphanMessage(const DumpFile& from,
                                DumpGraph::Orphans& orphans) const {
  const std::pair key(from.graph, NormalName(from.parsed.op_name));
  if (graph_.names().Find(from.parsed, from.graph) != 0 ||
      orphans.contains(key)) {
    return;
  }
  AddOrphan(from.parsed, from.graph, {}, orphans);
  const auto file = from.folder.OpenFile(from.name);
  const auto message = file.ok() ? ReadDumpMessage(*file)
                                 : absl::StatusOr<DumpMessage>(file.status());
  if (!message.ok() || !orphans.contains(key)) return;
  for (const MessageTensor& each : message->tensors) {
    if (each.is_output) orphans[key].outputs[each.slot] = each.tensor.type;
  }
}

void DumpRank::Update(const RankLayout& layout, graph::GraphStore& graph) {
  net_ = layout.net;
  const auto rank = OpenPath(dump_, layout.path);
  if (!has_graphs_ && rank.ok()) {
    ReadMetadata(*rank);
    graph_.Read(*rank, graph, damage_);
    has_graphs_ = true;
  }
  constant_folders_ = layout.constants;
  const uint64_t last = steps_.empty() ? 0 : steps_.rbegin()->first;
  DumpGraph::Orphans orphans;
  bool is_new = false;
  for (const auto& [iteration, folders] : layout.iterations) {
    const uint64_t step = StepOf(iteration);
    StepInfo& info = steps_[step];
    // The last iteration may still be written.
    if (step < last && info.folders.size() == folders.size()) continue;
    info = {folders, 0, 0, 0};
    Forget(step);
    is_new = true;
    const auto see = [&](const DumpFile& file) {
      const DumpName& name = file.parsed;
      if (name.kind == DumpName::Kind::kOverflow) {
        overflow_steps_.insert(step);
        return;
      }
      ++info.files;
      if (name.time_us != 0) {
        info.first_us = info.first_us == 0
                            ? name.time_us
                            : std::min(info.first_us, name.time_us);
        info.last_us = std::max(info.last_us, name.time_us);
      }
      if (name.kind == DumpName::Kind::kMessage) {
        AddOrphanMessage(file, orphans);
      } else {
        AddOrphan(name, file.graph, name.type, orphans);
      }
    };
    uint64_t rows = 0;
    ListFiles(
        dump_, folders, see,
        [&](uint32_t in, const std::vector<StatisticRow>& all) {
          for (const StatisticRow& row : all) {
            AddOrphan(row.name, in, row.type, orphans);
          }
          rows += all.size();
        },
        damage_);
    // A tensor that has values and statistics counts once.
    info.files = std::max(info.files, rows);
  }
  if (rank.ok() && is_new) ReadHistory(*rank);
  graph_.AddOrphans(orphans, graph, damage_);
  // Listings lack the files of nodes that are new.
  if (!orphans.empty()) {
    files_.clear();
    files_bytes_ = 0;
  }
  constants_ = std::make_shared<const StepFiles>(dump_, constant_folders_,
                                                 graph_.names(), damage_);
}

void DumpRank::Forget(uint64_t step) {
  std::erase_if(files_, [&](const auto& each) {
    if (each.first != step) return false;
    files_bytes_ -= each.second->bytes();
    return true;
  });
}

uint32_t DumpRank::ExecutionsIn(uint64_t step) const {
  const auto found = executions_.find(step);
  return found == executions_.end() ? 0 : found->second;
}

std::shared_ptr<const StepFiles> DumpRank::Files(uint64_t step) {
  const auto info = steps_.find(step);
  if (info == steps_.end()) return nullptr;
  const auto kept =
      std::find_if(files_.begin(), files_.end(),
                   [step](const auto& each) { return each.first == step; });
  if (kept != files_.end()) {
    files_.splice(files_.begin(), files_, kept);
    return files_.front().second;
  }
  files_.emplace_front(
      step, std::make_shared<const StepFiles>(dump_, info->second.folders,
                                              graph_.names(), damage_));
  files_bytes_ += files_.front().second->bytes();
  while (files_.size() > 1 && files_bytes_ > kMaxKeptBytes) {
    files_bytes_ -= files_.back().second->bytes();
    files_.pop_back();
  }
  return files_.front().second;
}

absl::StatusOr<std::optional<DumpRank::Found>> DumpRank::Open(
    const StepFiles& files, const KeptFile& from, bool is_output,
    uint32_t slot) {
  const auto open = [&]() -> absl::StatusOr<std::optional<Found>> {
    ASSIGN_OR_RETURN(recorded::File file, files.Open(from));
    if (from.kind == DumpName::Kind::kMessage) {
      ASSIGN_OR_RETURN(const DumpMessage message, ReadDumpMessage(file));
      for (const MessageTensor& each : message.tensors) {
        if (each.is_output != is_output || each.slot != slot) continue;
        return Found{std::move(file), each.tensor};
      }
      return std::nullopt;
    }
    absl::StatusOr<StoredTensor> tensor = from.kind == DumpName::Kind::kRaw
                                              ? RawTensor(file, from.name)
                                              : ReadNpyHeader(file);
    RETURN_IF_ERROR(tensor.status());
    return Found{std::move(file), *std::move(tensor)};
  };
  auto found = open();
  if (found.ok()) return found;
  const std::string path = files.PathOf(from);
  AddDamage(path, found.status());
  return absl::Status(found.status().code(),
                      absl::StrCat(path, ": ", found.status().message()));
}

absl::StatusOr<std::optional<DumpRank::Found>> DumpRank::Find(uint64_t step,
                                                              TensorKey key) {
  const auto files = Files(step);
  if (files == nullptr || key.node == 0) return std::nullopt;
  for (const StepFiles* in : {files.get(), constants_.get()}) {
    const auto output = in->outputs().find(key);
    if (output != in->outputs().end()) {
      return Open(*in, output->second, true, key.slot);
    }
  }
  const auto message = files->messages().find(key.node);
  if (message != files->messages().end()) {
    ASSIGN_OR_RETURN(auto found, Open(*files, message->second, true, key.slot));
    if (found) return found;
  }
  for (const TensorKey& reader : graph_.ReadersOf(key)) {
    const auto input = files->inputs().find(reader);
    if (input != files->inputs().end()) {
      return Open(*files, input->second, false, reader.slot);
    }
    const auto all = files->messages().find(reader.node);
    if (all == files->messages().end()) continue;
    ASSIGN_OR_RETURN(auto found, Open(*files, all->second, false, reader.slot));
    if (found) return found;
  }
  return std::nullopt;
}

std::shared_ptr<const StatisticRow> DumpRank::FindRow(uint64_t step,
                                                      TensorKey key) {
  const auto files = Files(step);
  if (files == nullptr) return nullptr;
  const auto row = files->rows().find(key);
  if (row == files->rows().end()) return nullptr;
  return {files, &row->second};
}

std::vector<TensorKey> DumpRank::Dumped(uint64_t step) {
  const auto files = Files(step);
  if (files == nullptr) return {};
  std::set<std::pair<uint32_t, uint32_t>> keys;
  const auto add = [&](TensorKey key) {
    if (key.node != 0) keys.emplace(key.node, key.slot);
  };
  for (const auto& [key, file] : files->outputs()) add(key);
  for (const auto& [key, row] : files->rows()) add(key);
  for (const auto& [key, file] : files->inputs()) add(graph_.ReadBy(key));
  for (const auto& [node, from] : files->messages()) {
    const auto file = files->Open(from);
    const auto message = file.ok() ? ReadDumpMessage(*file)
                                   : absl::StatusOr<DumpMessage>(file.status());
    if (!message.ok()) {
      AddDamage(files->PathOf(from), message.status());
      continue;
    }
    for (const MessageTensor& each : message->tensors) {
      const TensorKey key{node, each.slot};
      add(each.is_output ? key : graph_.ReadBy(key));
    }
  }
  std::vector<TensorKey> list;
  for (const auto& [node, slot] : keys) list.push_back({node, slot});
  return list;
}

}  // namespace graphdbg::dumps
