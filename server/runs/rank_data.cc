#include "server/runs/rank_data.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/runs/last_ops.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/validate.h"
#include "server/base/string_views.h"
#include "server/ingest/decode.h"
#include "server/runs/series.h"

namespace graphdbg::recorded {
namespace {

using runs::Kind;
using runs::Record;

constexpr uint64_t kMaxCollectionsBytes = uint64_t{64} << 20;
constexpr char kCollectionsFile[] = "collections.jsonl";
// The records of recent steps are kept within these limits.
constexpr size_t kMaxKeptSteps = 48;
constexpr uint64_t kMaxKeptBytes = uint64_t{64} << 20;
// Records that are looked at for the first and the last step.
constexpr uint64_t kLook = 256;

// The conditions of hits are not part of the recording.
std::shared_ptr<const model::Condition> UnknownCondition() {
  static const auto* const kCondition =
      new std::shared_ptr<const model::Condition>(
          std::make_shared<const model::Condition>());
  return *kCondition;
}

// All zeros if the file is too short.
runs::Incarnation IncarnationOfLastOps(absl::string_view file) {
  runs::LastOpsHeader header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  return header.incarnation;
}

}  // namespace

RankData::RankData(uint32_t number, Folder folder,
                   std::shared_ptr<MemoryBudget> memory)
    : number_(number),
      folder_(folder),
      log_(folder),
      tensors_(folder, std::move(memory)),
      graph_file_(runs::kGraphFile, runs::MessageKind::kGraphUpdate),
      hits_file_(runs::kHitsFile, runs::MessageKind::kHit) {}

void RankData::AddDamage(const std::string& name, const absl::Status& status) {
  if (status.ok() || absl::IsNotFound(status)) return;
  damage_[folder_.PathOf(name)] = std::string(status.message());
}

void RankData::ReadInfo() {
  const auto text = folder_.ReadAll(runs::kRankFile, kMaxJsonBytes);
  if (!text.ok()) return AddDamage(runs::kRankFile, text.status());
  auto info = ParseRankInfo(*text);
  if (!info.ok()) return AddDamage(runs::kRankFile, info.status());
  const bool moved = !has_info_ || info->ring_path != info_.ring_path;
  info_ = *std::move(info);
  has_info_ = true;
  if (moved && !info_.ring_path.empty()) {
    log_ = RankLog(folder_, info_.ring_path, info_.incarnation);
  }
}

void RankData::Refresh() {
  // The rank ends while this looks, or before: so this comes first.
  if (!info_.ended) ReadInfo();
  const bool was_alive = HoldsRing();
  log_.Refresh();
  alive_ = !info_.ended && (was_alive || HoldsRing());
}

bool RankData::HoldsRing() const {
  return log_.ring_file() && log_.ring_file()->IsLocked();
}

void RankData::RefreshIndex() { index_.Update(log_); }

model::JobState RankData::state() const {
  if (alive_) return model::JobState::kRunning;
  if (!info_.ended) return model::JobState::kLost;
  return info_.ended->reason == "terminated" ? model::JobState::kTerminated
                                             : model::JobState::kFinished;
}

std::string RankData::ended() const {
  if (alive_) return "";
  return info_.ended ? info_.ended->reason : "lost";
}

void RankData::ReadGraph(graph::GraphStore& graph) {
  absl::Status problem;
  const auto use = [&](absl::string_view bytes) {
    v1::AgentMessage message;
    absl::Status status;
    if (!message.mutable_graph()->ParseFromArray(
            bytes.data(), static_cast<int>(bytes.size()))) {
      status = absl::DataLossError("a message cannot be decoded");
    }
    if (status.ok()) status = wire::Validate(message);
    if (status.ok()) {
      const jobs::AgentReport report = ingest::DecodeReport(message);
      status = graph.Apply(std::get<graph::GraphPatch>(report), ids_);
    }
    if (problem.ok()) problem = status;
  };
  const absl::Status read = graph_file_.Poll(folder_, use);
  AddDamage(runs::kGraphFile, problem.ok() ? read : problem);
}

std::vector<runs::LastOp> RankData::LastOps() {
  const std::string own = absl::StrCat(runs::kRingFile, runs::kLastOpsSuffix);
  const auto read = [&]() -> absl::StatusOr<std::vector<runs::LastOp>> {
    std::string content(runs::kLastOpsFileBytes, '\0');
    const bool elsewhere = !info_.ring_path.empty();
    auto file = elsewhere ? File::Open(info_.ring_path + runs::kLastOpsSuffix)
                          : folder_.OpenFile(own);
    // Once the ring is gone, its place is in the rank's directory.
    const bool may_be_of_another = elsewhere && file.ok();
    if (elsewhere && !file.ok()) file = folder_.OpenFile(own);
    RETURN_IF_ERROR(file.status());
    ASSIGN_OR_RETURN(const size_t count, file->ReadAt(0, content));
    content.resize(count);
    if (may_be_of_another &&
        IncarnationOfLastOps(content) != info_.incarnation) {
      return absl::DataLossError("the file is that of another process");
    }
    return runs::ReadLastOps(content);
  };
  auto ops = read();
  if (ops.ok()) return *std::move(ops);
  AddDamage(own, ops.status());
  return {};
}

void RankData::ReadHits(watch::HitLog& hits) {
  absl::Status problem;
  const auto use = [&](absl::string_view bytes) {
    v1::AgentMessage message;
    absl::Status status;
    if (!message.mutable_hit()->ParseFromArray(
            bytes.data(), static_cast<int>(bytes.size()))) {
      status = absl::DataLossError("a message cannot be decoded");
    }
    if (status.ok()) status = wire::Validate(message);
    if (status.ok()) {
      jobs::AgentReport decoded = ingest::DecodeReport(message);
      auto& report = std::get<jobs::HitReport>(decoded);
      const graph::NodeIndex node = ids_.Find(report.node_id);
      if (node == graph::kNoNode) {
        status = absl::DataLossError(
            absl::StrCat("a hit on node ", report.node_id,
                         ", which the graph does not contain"));
      } else {
        report.hit.rank = number_;
        if (report.hit.condition == nullptr) {
          report.hit.condition = UnknownCondition();
        }
        hits.Add({node, std::move(report.hit)});
      }
    }
    if (problem.ok()) problem = status;
  };
  const absl::Status read = hits_file_.Poll(folder_, use);
  AddDamage(runs::kHitsFile, problem.ok() ? read : problem);
}

const jobs::OpTimeTable& RankData::ReadOpTimes() {
  AddDamage(runs::kOpTimesFile, op_times_.Update(folder_, ids_));
  return op_times_.table();
}

const std::vector<v1::UserChange>& RankData::ReadUserChanges() {
  AddDamage(runs::kUserChangesFile, user_changes_.Update(folder_));
  return user_changes_.list();
}

std::optional<uint64_t> RankData::StepNear(uint64_t first, uint64_t count,
                                           bool last) const {
  std::vector<Record> records(count);
  log_.Read(first, records);
  if (last) std::reverse(records.begin(), records.end());
  for (const Record& record : records) {
    const Kind kind = record.known_kind();
    if (kind == Kind::kNone || kind == Kind::kHole || kind == Kind::kTensor) {
      continue;
    }
    return record.step;
  }
  return std::nullopt;
}

uint64_t RankData::first_step() const {
  if (!index_.empty()) return index_.first_step();
  if (log_.ranges().empty()) return 0;
  const Range& range = log_.ranges().front();
  return StepNear(range.first, std::min(kLook, range.end - range.first), false)
      .value_or(0);
}

uint64_t RankData::last_step() const {
  if (log_.ranges().empty()) return 0;
  const Range& range = log_.ranges().back();
  const uint64_t count = std::min(kLook, range.end - range.first);
  return StepNear(range.end - count, count, true).value_or(index_.last_step());
}

TensorKey RankData::KeyOf(graph::NodeIndex node, uint32_t slot) {
  if (numbers_.size() != ids_.nodes.size()) {
    ids_.nodes.ForEach(
        [this](uint32_t id, graph::NodeIndex index) { numbers_[index] = id; });
  }
  const auto found = numbers_.find(node);
  return {found == numbers_.end() ? 0 : found->second, slot};
}

graph::NodeIndex RankData::LastNode() const {
  if (log_.ranges().empty()) return graph::kNoNode;
  const Range& range = log_.ranges().back();
  std::vector<Record> records(std::min(kLook, range.end - range.first));
  log_.Read(range.end - records.size(), records);
  for (size_t i = records.size(); i-- > 0;) {
    if (records[i].known_kind() == Kind::kStatistics) {
      return ids_.Find(records[i].node);
    }
  }
  return graph::kNoNode;
}

std::shared_ptr<const StepRecords> RankData::Records(uint64_t step) {
  const auto entries = index_.Find(step);
  if (entries.empty()) return nullptr;
  // The step that is being recorded grows.
  const bool grows = alive_ && step == index_.last_step();
  const auto kept =
      std::find_if(records_.begin(), records_.end(),
                   [step](const auto& each) { return each->step() == step; });
  if (kept != records_.end() && !grows) {
    records_.splice(records_.begin(), records_, kept);
    return records_.front();
  }
  if (kept != records_.end()) records_.erase(kept);
  records_.push_front(
      std::make_shared<StepRecords>(step, ReadRecords(log_, entries)));
  uint64_t bytes = 0;
  for (const auto& each : records_) bytes += each->bytes();
  while (records_.size() > 1 &&
         (records_.size() > kMaxKeptSteps || bytes > kMaxKeptBytes)) {
    bytes -= records_.back()->bytes();
    records_.pop_back();
  }
  return records_.front();
}

// The writer's thread may record it in the next step.
std::optional<Record> RankData::SavedRecord(uint64_t step, TensorKey key) {
  const auto entries = index_.entries();
  size_t at = index_.LowerBound(step);
  while (at < entries.size() && entries[at].step <= step + 1) {
    const uint64_t other = entries[at].step;
    const auto records = Records(other);
    const Record* saved = records->Saved(key, step);
    if (saved != nullptr) return *saved;
    while (at < entries.size() && entries[at].step == other) ++at;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<TensorFiles::Found>> RankData::FindValues(
    uint64_t step, TensorKey key, const std::string& name) {
  const auto saved = SavedRecord(step, key);
  if (!saved) return tensors_.Find(step, name);
  auto found = tensors_.FindRecorded(*saved);
  if (absl::IsNotFound(found.status())) return std::nullopt;
  RETURN_IF_ERROR(found.status());
  return *std::move(found);
}

std::vector<uint64_t> RankData::SavedSteps(TensorKey key) {
  tensors_.Refresh();
  std::vector<uint64_t> candidates = tensors_.Steps();
  if (candidates.size() > kMaxSavedSteps) {
    candidates.erase(candidates.begin(), candidates.end() - kMaxSavedSteps);
  }
  std::vector<uint64_t> steps;
  SeriesReader reader(log_, key, Kind::kTensor);
  const auto entries = index_.entries();
  for (const uint64_t step : candidates) {
    for (size_t at = index_.LowerBound(step);
         at < entries.size() && entries[at].step <= step + 1; ++at) {
      const Record record = reader.Read(entries[at]);
      if (record.known_kind() != Kind::kTensor || record.step != step) continue;
      steps.push_back(step);
      break;
    }
  }
  return steps;
}

std::string RankData::ReadCollections() {
  auto text = folder_.ReadAll(kCollectionsFile, kMaxCollectionsBytes);
  if (!text.ok()) AddDamage(kCollectionsFile, text.status());
  return text.ok() ? *std::move(text) : std::string();
}

std::map<std::string, std::string> RankData::Damage() const {
  std::map<std::string, std::string> all = damage_;
  all.insert(log_.damage().begin(), log_.damage().end());
  all.insert(tensors_.damage().begin(), tensors_.damage().end());
  return all;
}

}  // namespace graphdbg::recorded
