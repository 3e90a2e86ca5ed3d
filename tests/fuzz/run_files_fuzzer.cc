// A whole recorded run, whose files are the input: segments, ring, last ops,
// messages, tensors and JSON. Whatever they contain, every question about the
// run gets an answer or an error with a message.
//
// An input is a script: for each file its number and its bytes. Files of
// numbers from kFiles on have headers and checksums added, so that what is
// behind these is reached too.
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "proto/runs/headers.h"
#include "proto/runs/last_ops.h"
#include "proto/runs/message_file.h"
#include "proto/runs/record.h"
#include "server/runs/background_check.h"
#include "server/runs/check.h"
#include "server/runs/recording.h"
#include "server/runs/rule_check.h"
#include "tests/fuzz/script.h"

namespace graphdbg::recorded {
namespace {

constexpr size_t kFiles = 12;
constexpr std::array<const char*, kFiles> kNames = {
    "rank.json",
    "ring.gdbr",
    "log/00000000000000000000.gdbl",
    "log/00000000000000000002.gdbl.open",
    "graph.gdbm",
    "hits.gdbm",
    "collections.jsonl",
    "tensors/00000001.safetensors",
    "../run.json",
    "ring.gdbr.ops",
    "op-times.gdbm",
    "user-changes.gdbm",
};
constexpr size_t kMaxFilesOfInput = 8;

template <class T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The bytes as records, with their checksums.
std::string Records(std::string bytes, uint64_t first) {
  bytes.resize(bytes.size() / runs::kRecordBytes * runs::kRecordBytes);
  for (size_t at = 0; at < bytes.size(); at += runs::kRecordBytes) {
    runs::Record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    record.crc = runs::RecordCrc(first + at / runs::kRecordBytes, record);
    std::memcpy(bytes.data() + at, &record, sizeof record);
  }
  return bytes;
}

std::string Segment(const std::string& bytes, uint64_t first) {
  runs::SegmentHeader header;
  header.first_position = first;
  return BytesOf(header) + Records(bytes, first);
}

std::string Ring(const std::string& bytes) {
  const std::string records = Records(bytes, 0);
  runs::RingHeader header = {};
  header.magic = runs::kRingMagic;
  header.header_bytes = runs::kRingHeaderBytes;
  header.record_bytes = runs::kRecordBytes;
  header.capacity = records.size() / runs::kRecordBytes;
  header.head = header.capacity;
  std::string file = BytesOf(header);
  file.resize(runs::kRingHeaderBytes);
  return file + records;
}

std::string Message(const std::string& bytes, runs::MessageKind kind) {
  std::string file = runs::EncodeMessagesHeader(kind);
  if (!bytes.empty()) runs::AppendMessage(bytes, &file);
  return file;
}

std::string LastOps(std::string slots) {
  std::string file = BytesOf(runs::LastOpsHeader());
  file.resize(runs::kLastOpsHeaderBytes);
  slots.resize(runs::kLastOpsFileBytes - runs::kLastOpsHeaderBytes);
  return file + slots;
}

std::string Completed(size_t file, const std::string& bytes) {
  switch (file) {
    case 1:
      return Ring(bytes);
    case 2:
      return Segment(bytes, 0);
    case 3:
      return Segment(bytes, 2);
    case 4:
      return Message(bytes, runs::MessageKind::kGraphUpdate);
    case 5:
      return Message(bytes, runs::MessageKind::kHit);
    case 7: {
      const uint64_t size = bytes.rfind('}') + 1;
      return BytesOf(size) + bytes;
    }
    case 9:
      return LastOps(bytes);
    case 10:
      return Message(bytes, runs::MessageKind::kOpTimes);
    default:
      return bytes;
  }
}

template <class T>
void NeedsMessage(const absl::StatusOr<T>& result) {
  if (!result.ok() && result.status().message().empty()) std::abort();
}

// Whatever a check comes across, it ends.
void RunCheck(BackgroundCheck& check) {
  boost::asio::io_context context;
  check.Start(context.get_executor());
  context.run();
  if (check.Report().state == model::CheckState::kRunning) std::abort();
}

void AskForChecks(Recording& recording) {
  model::CheckSpec spec;
  spec.watchpoint.condition.id = "nan";
  auto check = recording.PrepareCheck(spec);
  NeedsMessage(check);
  if (check.ok()) RunCheck(**check);
  spec.rules.emplace_back().when = "prev(mean, 1) >= mean || held(l2 > 1, 2)";
  auto rules = recording.PrepareRules(spec);
  NeedsMessage(rules);
  if (rules.ok()) RunCheck(**rules);
}

void Ask(const std::string& path) {
  auto folder = Folder::Open(path);
  if (!folder.ok()) std::abort();
  Recording recording("run", *folder, nullptr);
  recording.Refresh();
  recording.hits();
  const model::Run run = recording.Describe();
  for (const auto& [file, reason] : run.damage) {
    if (reason.empty()) std::abort();
  }
  model::StepQuery steps;
  steps.limit = 100;
  NeedsMessage(recording.Steps(steps));
  recording.Collections();
  NeedsMessage(recording.Statistics({}));
  recording.LastOps();
  NeedsMessage(recording.Overview(0));
  NeedsMessage(recording.OpTimes(0));
  NeedsMessage(recording.CopyForComparison(0));
  AskForChecks(recording);
  if (recording.graph().node_count() == 0) return;
  const std::string node = recording.graph().node(0).name;
  NeedsMessage(recording.Tensors(node, 0, 1));
  model::RunHistoryQuery history;
  history.node = node;
  history.points = 3;
  NeedsMessage(recording.History(history));
  model::TensorQuery tensor;
  tensor.node = node;
  tensor.max_bytes = 1 << 20;
  tensor.version = model::TensorQuery::Version::kStep;
  tensor.step = 1;
  NeedsMessage(recording.Tensor(tensor, std::nullopt));
}

// A folder of this process, which each input uses.
const std::string& RunFolder() {
  static const auto* const kPath = [] {
    const char* const base = std::getenv("TEST_TMPDIR");
    std::string path = (base == nullptr ? "/tmp" : std::string(base)) +
                       "/run_files_fuzzer." + std::to_string(getpid());
    return new std::string(std::move(path));
  }();
  return *kPath;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& run = RunFolder();
  const std::string rank = run + "/rank-00000";
  std::filesystem::remove_all(run);
  std::filesystem::create_directories(rank + "/log");
  std::filesystem::create_directories(rank + "/tensors");
  graphdbg::fuzz::Script script(data, size);
  for (size_t i = 0; i < kMaxFilesOfInput && !script.done(); ++i) {
    const size_t number = script.Byte() % (2 * kFiles);
    const std::string bytes = script.Text();
    const size_t file = number % kFiles;
    std::ofstream out(rank + "/" + kNames[file], std::ios::binary);
    out << (number < kFiles ? bytes : Completed(file, bytes));
  }
  Ask(run);
  std::filesystem::remove_all(run);
  return 0;
}

}  // namespace graphdbg::recorded
