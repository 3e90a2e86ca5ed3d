#include "server/runs/testing/run_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/runs/headers.h"
#include "proto/runs/layout.h"
#include "proto/runs/message_file.h"

namespace graphdbg::recorded::testing {
namespace {

using runs::Kind;
using runs::Record;

constexpr uint64_t kStartNs = 1'700'000'000'000'000'000;
constexpr uint64_t kStepNs = 50'000'000;

template <class T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Record MarkOf(Kind kind, uint64_t step, runs::Mode mode, uint16_t pass) {
  Record record = {};
  record.kind = static_cast<uint16_t>(kind);
  record.step = step;
  record.mode = static_cast<uint8_t>(mode);
  record.pass = pass;
  record.mark.unix_ns = kStartNs + step * kStepNs;
  record.mark.monotonic_ns =
      step * kStepNs + (kind == Kind::kEnd ? kStepNs / 2 : 0);
  record.mark.mode_step = pass == 0 ? step : pass;
  return record;
}

}  // namespace

std::string NodeName(uint32_t node) { return absl::StrCat("forward/op", node); }

RankWriter::RankWriter(const std::string& run, uint32_t rank)
    : path_(run + "/" + runs::RankDirectory(rank)), rank_(rank) {
  std::filesystem::create_directories(path_);
}

void RankWriter::Append(Record record) { records_.push_back(record); }

void RankWriter::Begin(uint64_t step, runs::Mode mode, uint16_t pass) {
  Append(MarkOf(Kind::kBegin, step, mode, pass));
  step_began_ = records_.size();
}

void RankWriter::End(uint64_t step, runs::Mode mode, uint16_t pass) {
  Record record = MarkOf(Kind::kEnd, step, mode, pass);
  record.mark.records = records_.size() - step_began_;
  Append(record);
}

void RankWriter::Statistics(uint64_t step, uint32_t node, double value,
                            uint16_t slot) {
  Record record = {};
  record.kind = static_cast<uint16_t>(Kind::kStatistics);
  record.step = step;
  record.node = node;
  record.slot = slot;
  record.dtype = 12;
  record.mode = static_cast<uint8_t>(runs::Mode::kTrain);
  record.exec_order = node;
  record.pass = 1;
  runs::StatisticsFields& s = record.statistics;
  s.count = 4;
  s.zero_count = value == 0 ? 4 : 0;
  s.negative_count = value < 0 ? 4 : 0;
  s.positive_count = value > 0 ? 4 : 0;
  s.min = s.max = s.mean = value;
  s.abs_mean = s.abs_max = std::abs(value);
  s.l1 = 4 * std::abs(value);
  s.l2 = 2 * std::abs(value);
  s.grad_scale = 1;
  if (std::isnan(value)) {
    s.nan_count = 4;
    s.zero_count = s.negative_count = s.positive_count = 0;
  }
  Append(record);
}

void RankWriter::Step(uint64_t step, uint32_t nodes, double value) {
  Begin(step);
  for (uint32_t node = 1; node <= nodes; ++node) Statistics(step, node, value);
  End(step);
}

void RankWriter::WriteSegment(uint64_t first, uint64_t end, bool open) {
  runs::SegmentHeader header;
  header.first_position = first;
  header.rank = rank_;
  header.world_size = 1;
  std::string bytes = BytesOf(header);
  end = std::min<uint64_t>(end, records_.size());
  for (uint64_t at = first; at < end; ++at) {
    Record record = records_[at];
    record.crc = runs::RecordCrc(at, record);
    bytes += BytesOf(record);
  }
  std::filesystem::create_directories(path_ + "/log");
  WriteFile(absl::StrCat("log/", runs::SegmentFile(first),
                         open ? runs::kOpenSuffix : ""),
            bytes);
}

void RankWriter::WriteRing(uint64_t capacity, uint64_t from) {
  runs::RingHeader header = {};
  header.magic = runs::kRingMagic;
  header.header_bytes = runs::kRingHeaderBytes;
  header.record_bytes = runs::kRecordBytes;
  header.capacity = capacity;
  header.rank = rank_;
  header.world_size = 1;
  header.state = static_cast<uint32_t>(runs::RingState::kOpen);
  header.head = records_.size();
  std::string bytes = BytesOf(header);
  bytes.resize(runs::kRingHeaderBytes + capacity * runs::kRecordBytes);
  const uint64_t oldest =
      records_.size() > capacity ? records_.size() - capacity : 0;
  for (uint64_t at = std::max(from, oldest); at < records_.size(); ++at) {
    Record record = records_[at];
    record.crc = runs::RecordCrc(at, record);
    std::memcpy(bytes.data() + runs::kRingHeaderBytes +
                    at % capacity * runs::kRecordBytes,
                &record, sizeof record);
  }
  WriteFile(runs::kRingFile, bytes);
}

void RankWriter::WriteInfo(const std::string& fields, bool ended) {
  WriteFile(
      runs::kRankFile,
      absl::StrCat("{\"format\": 1, \"rank\": ", rank_,
                   ", \"world_size\": 1, \"framework\": \"pytorch\", "
                   "\"host\": \"gpu7\", \"pid\": 42, \"ended\": ",
                   ended ? "{\"reason\": \"exit\", \"exit_code\": 0}" : "null",
                   fields.empty() ? "" : ", ", fields, "}"));
}

void RankWriter::WriteGraph(uint32_t count) {
  constexpr uint32_t kNodesPerMessage = 1'000;
  std::string bytes =
      runs::EncodeMessagesHeader(runs::MessageKind::kGraphUpdate);
  v1::GraphUpdate update;
  for (uint32_t id = 1; id <= count; ++id) {
    v1::Node& node = *update.add_nodes();
    node.set_id(id);
    node.set_name(NodeName(id));
    node.set_kind(v1::NODE_KIND_OP);
    node.set_op_type("aten::relu");
    node.set_category(v1::NODE_CATEGORY_ACTIVATION);
    node.set_order(id);
    if (id > 1) node.add_inputs()->set_node_id(id - 1);
    v1::Output& output = *node.add_outputs();
    output.mutable_type()->set_dtype(v1::DTYPE_FLOAT32);
    output.mutable_type()->add_shape(4);
    if (update.nodes_size() < static_cast<int>(kNodesPerMessage) &&
        id < count) {
      continue;
    }
    runs::AppendMessage(update.SerializeAsString(), &bytes);
    update.Clear();
  }
  WriteFile(runs::kGraphFile, bytes);
}

void RankWriter::WriteHits(const std::vector<v1::Hit>& hits) {
  std::string bytes = runs::EncodeMessagesHeader(runs::MessageKind::kHit);
  for (const v1::Hit& hit : hits) {
    runs::AppendMessage(hit.SerializeAsString(), &bytes);
  }
  WriteFile(runs::kHitsFile, bytes);
}

void RankWriter::WriteOpTimes(const std::vector<v1::OverviewStep>& steps) {
  std::string bytes = runs::EncodeMessagesHeader(runs::MessageKind::kOpTimes);
  for (const v1::OverviewStep& step : steps) {
    runs::AppendMessage(step.SerializeAsString(), &bytes);
  }
  WriteFile(runs::kOpTimesFile, bytes);
}

void RankWriter::WriteUserChanges(const std::vector<v1::UserChange>& changes) {
  std::string bytes =
      runs::EncodeMessagesHeader(runs::MessageKind::kUserChange);
  for (const v1::UserChange& change : changes) {
    runs::AppendMessage(change.SerializeAsString(), &bytes);
  }
  WriteFile(runs::kUserChangesFile, bytes);
}

void RankWriter::WriteTensor(uint64_t step, uint32_t node,
                             const std::vector<float>& values,
                             const std::vector<int64_t>& shape, runs::Mode mode,
                             uint32_t file) {
  const uint64_t bytes = values.size() * sizeof(float);
  std::string header = absl::StrCat(
      "{\"", NodeName(node), ":0\": {\"dtype\": \"F32\", \"shape\": [",
      absl::StrJoin(shape, ","), "], \"data_offsets\": [0, ", bytes, "]}}");
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t size = header.size();
  std::filesystem::create_directories(path_ + "/tensors");
  WriteFile(
      absl::StrCat("tensors/", runs::TensorFile(step, file)),
      BytesOf(size) + header +
          std::string(reinterpret_cast<const char*>(values.data()), bytes));
  Record record = {};
  record.kind = static_cast<uint16_t>(Kind::kTensor);
  record.step = step;
  record.node = node;
  record.dtype = 12;  // float32
  record.mode = static_cast<uint8_t>(mode);
  record.pass = 1;
  record.tensor.bytes = bytes;
  record.tensor.file = file;
  record.tensor.ndim = static_cast<uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), record.tensor.shape);
  record.tensor.grad_scale = 1;
  Append(record);
}

void RankWriter::WriteFile(const std::string& name,
                           const std::string& content) {
  std::ofstream file(path_ + "/" + name, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) std::abort();
}

}  // namespace graphdbg::recorded::testing
