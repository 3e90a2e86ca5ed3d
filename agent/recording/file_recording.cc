#include "agent/recording/file_recording.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/recording/clock.h"
#include "agent/recording/descriptions.h"
#include "agent/recording/file.h"
#include "agent/recording/last_ops.h"
#include "agent/recording/log_writer.h"
#include "agent/recording/message_files.h"
#include "agent/recording/records.h"
#include "agent/recording/ring.h"
#include "agent/recording/ring_growth.h"
#include "agent/recording/ring_place.h"
#include "agent/recording/run_directory.h"
#include "agent/recording/tensor_staging.h"
#include "agent/recording/tensor_writer.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

using agent::RecordedChange;
using agent::RecordedMark;
using agent::RecordingCallbacks;
using agent::RecordingOptions;
using agent::RecordKey;

// graphdbg_close waits no longer.
constexpr std::chrono::seconds kCloseLimit(5);
// The log stops when the disk is this full.
constexpr double kFullShare = 0.95;

runs::Incarnation RandomIncarnation() {
  std::random_device random;
  runs::Incarnation incarnation;
  for (size_t i = 0; i < incarnation.size(); i += sizeof(uint32_t)) {
    const uint32_t bits = random();
    std::memcpy(&incarnation[i], &bits, sizeof(bits));
  }
  return incarnation;
}

std::string DefaultRunName(const std::string& program) {
  return absl::StrCat(
      program, "-",
      absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::UTCTimeZone()), "-",
      absl::StrFormat("%04x", std::random_device()() & 0xffff));
}

absl::Status CheckRoom(const std::string& directory) {
  const FileSystem there = FileSystemOf(directory);
  const double total = static_cast<double>(there.total_bytes);
  if (static_cast<double>(there.free_bytes) >= total * (1 - kFullShare)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the disk of ", directory, " is more than ",
                   kFullShare * 100, " % full"));
}

// Tries the places in order. Without any, the ring is in ordinary memory.
absl::StatusOr<std::unique_ptr<Ring>> CreateRing(
    const RingPlaces& places, const RecordingOptions& options,
    const RingOwner& owner, const RecordingCallbacks& callbacks) {
  const auto overwrite =
      options.keep_all ? Ring::Overwrite::kNever : Ring::Overwrite::kOldest;
  std::string reason = "no file system that is safe to map has room for it";
  for (const std::string& path : RingPaths(places, options.ring_bytes)) {
    auto ring = Ring::Create(path, options.ring_bytes, owner, overwrite,
                             options.ring_steps == 0 ? 0 : runs::kMaxRingBytes);
    if (ring.ok()) {
      if (!places.chosen.empty() &&
          path.compare(0, places.chosen.size(), places.chosen) != 0) {
        callbacks.log(absl::StrCat("recording: the ring is ", path,
                                   ", because it cannot be in ",
                                   places.chosen));
      }
      return ring;
    }
    if (absl::IsInvalidArgument(ring.status())) return ring.status();
    reason = std::string(ring.status().message());
  }
  callbacks.log(absl::StrCat(
      "recording: the newest records are in ordinary memory (", reason,
      "), so a crash loses those of the last quarter of a second"));
  return Ring::Create("", options.ring_bytes, owner, overwrite);
}

// Beside the ring. Null, with a line for the user, if there is no room for it.
std::shared_ptr<LastOps> CreateLastOps(const Ring& ring, const RingOwner& owner,
                                       const RecordingCallbacks& callbacks) {
  if (ring.path().empty()) return nullptr;
  auto last_ops =
      LastOps::Create(absl::StrCat(ring.path(), runs::kLastOpsSuffix), owner);
  if (last_ops.ok()) return *std::move(last_ops);
  callbacks.log(absl::StrCat("recording: ", last_ops.status().message(),
                             "; ops in progress are not recorded"));
  return nullptr;
}

class FileRecording final : public agent::Recording {
 public:
  FileRecording(const RecordingOptions& options, RankDescription description,
                std::unique_ptr<Ring> ring, std::shared_ptr<LastOps> last_ops,
                RecordingCallbacks callbacks)
      : log_line_(callbacks.log),
        description_(std::move(description)),
        ring_(std::move(ring)),
        writes_through_(
            absl::StartsWith(ring_->path(), description_.directory.rank_path)),
        staging_(FileOwnerOf(description_),
                 {options.max_tensor_bytes, options.tensor_rate},
                 [this] { writer_.Wake(); }),
        tensor_writer_(&staging_, FileOwnerOf(description_),
                       TensorOptions(options, description_), TensorCallbacks()),
        last_ops_(std::move(last_ops)),
        growth_(ring_.get(), options.ring_steps, callbacks.log),
        files_(description_.directory.rank_path,
               std::move(callbacks.take_graph_update)),
        writer_(ring_.get(),
                SegmentWriter(
                    Join(description_.directory.rank_path, runs::kLogDirectory),
                    description_.owner),
                WriterOptions(options), WriterCallbacks()) {
    writer_.Start();
  }

  bool AppendStatistics(const RecordKey& key, const Statistics& statistics,
                        double grad_scale) override {
    // Where it stays, because most records are of this kind.
    Ring::Slot slot;
    if (!on() || !ring_->Reserve(&slot)) return false;
    WriteStatistics(key, statistics, grad_scale, slot.record);
    ring_->Commit(slot);
    return true;
  }
  bool AppendChange(const RecordKey& key,
                    const RecordedChange& change) override {
    return Append(ChangeRecord(key, change));
  }
  bool AppendUnits(const RecordKey& key,
                   const agent::RecordedUnits& units) override {
    return Append(UnitsRecord(key, units));
  }
  bool AppendBegin(const RecordKey& key, const RecordedMark& mark) override {
    return Append(MarkRecord(runs::Kind::kBegin, key, mark));
  }
  bool AppendEnd(const RecordKey& key, const RecordedMark& mark) override {
    const bool appended = Append(MarkRecord(runs::Kind::kEnd, key, mark));
    if (key.pass != 0) return appended;
    if (on()) staging_.EndStep();
    if (appended) growth_.EndStep();
    if (on()) writer_.EndStep();
    return appended;
  }
  bool SaveTensor(const RecordKey& key,
                  const agent::TensorToSave& tensor) override {
    if (!on()) return false;
    runs::Record record = TensorRecord(key);
    if (staging_.Save(tensor, &record)) return Append(record);
    ring_->CountDroppedTensors(1);
    return false;
  }
  bool AppendHit(const RecordKey& key, const v1::Hit& hit) override {
    if (!on()) return false;
    const uint64_t number = files_.AddHit(hit);
    const bool appended =
        number != 0 && Append(HitRecord(key, number, hit.watchpoint()));
    writer_.Wake();
    return appended;
  }

  bool AppendOpTimes(const v1::OverviewStep& times) override {
    return on() && files_.AddOpTimes(times);
  }
  bool AppendUserChange(const v1::UserChange& change) override {
    if (!on() || !files_.AddUserChange(change)) return false;
    writer_.Wake();
    return true;
  }

  void BeginOp(const agent::StartedOp& op) override {
    if (on() && last_ops_ != nullptr) last_ops_->Begin(op);
  }
  void EndOp() override {
    if (on() && last_ops_ != nullptr) last_ops_->End();
  }

  bool HasRoom() const override { return !on() || ring_->HasRoom(); }
  bool HasRoomForTensor(uint64_t bytes) override {
    return !on() || staging_.HasRoom(bytes);
  }
  uint64_t records_dropped() const override {
    return inert_ ? 0 : ring_->records_dropped();
  }
  uint64_t tensors_dropped() const override {
    return inert_ ? 0 : ring_->tensors_dropped();
  }
  uint64_t tensor_bytes() const override { return staging_.bytes(); }

  uint64_t bytes() const override {
    return inert_ ? 0 : ring_->bytes() + writer_.written_bytes();
  }

  void AddCollectionLine(absl::string_view line) override {
    if (on()) files_.AddCollectionLine(line);
  }
  void GraphChanged() override {
    if (on()) writer_.Wake();
  }
  void WriteDescriptions() override {
    if (!on() || !writes_through_) return;
    // After a failure the writer tries again, and reports it.
    files_.Write().IgnoreError();
  }
  void KeepThrough(uint64_t step) override {
    if (on()) writer_.KeepThrough(step);
  }

  bool Close(const v1::Goodbye& goodbye, absl::string_view reason) override;
  void GoInert() override {
    inert_ = true;
    on_ = false;
  }
  const std::string& directory() const override {
    return description_.directory.path;
  }

 private:
  bool on() const { return on_.load(std::memory_order_relaxed); }
  bool Append(const runs::Record& record) {
    return on() && ring_->Append(record);
  }

  absl::Status WriteMessages(bool sync) {
    RETURN_IF_ERROR(files_.Write());
    return sync ? files_.Sync() : absl::OkStatus();
  }

  static FileOwner FileOwnerOf(const RankDescription& description) {
    return {description.directory.run, description.owner.rank,
            description.hello.agent_version()};
  }
  static TensorWriter::Options TensorOptions(
      const RecordingOptions& options, const RankDescription& description) {
    TensorWriter::Options tensors;
    tensors.directory =
        Join(description.directory.rank_path, runs::kTensorsDirectory);
    tensors.limits_rate = options.limits_tensor_rate;
    return tensors;
  }
  TensorWriter::Callbacks TensorCallbacks() {
    return {[this](const std::string& line) {
              log_line_(absl::StrCat("recording: ", line));
            },
            [this](uint64_t count) { ring_->CountDroppedTensors(count); }};
  }
  static LogWriter::Options WriterOptions(const RecordingOptions& options) {
    LogWriter::Options writer;
    writer.keep_all = options.keep_all;
    return writer;
  }
  LogWriter::Callbacks WriterCallbacks() {
    return {[this](bool sync) {
              growth_.Grow();
              return WriteMessages(sync);
            },
            [this](bool last) { tensor_writer_.Write(last); },
            [this] { return CheckRoom(description_.directory.rank_path); },
            [this](const std::string& line) {
              log_line_(absl::StrCat("recording: ", line));
            },
            [this] { on_ = false; }};
  }

  const std::function<void(const std::string&)> log_line_;
  RankDescription description_;
  std::atomic<bool> on_{true};
  std::atomic<bool> inert_{false};

  const std::unique_ptr<Ring> ring_;
  // The run is stored where a ring may be: on a disk of this machine, which
  // does not keep a training thread waiting.
  const bool writes_through_;
  TensorStaging staging_;
  TensorWriter tensor_writer_;
  // Null if the ring is in ordinary memory, too.
  const std::shared_ptr<LastOps> last_ops_;
  RingGrowth growth_;
  MessageFiles files_;
  LogWriter writer_;
};

bool FileRecording::Close(const v1::Goodbye& goodbye,
                          absl::string_view reason) {
  if (inert_) return false;
  on_ = false;
  staging_.EndStep();
  if (!writer_.Finish(kCloseLimit)) {
    log_line_(absl::StrCat("recording: ", description_.directory.path,
                           " could not be written in ", kCloseLimit.count(),
                           " s; the newest records are in the ring only"));
    return false;
  }
  Ending ending;
  ending.unix_ns = UnixNanoseconds();
  ending.reason = std::string(reason);
  ending.goodbye = goodbye;
  ending.records = ring_->head();
  ending.records_dropped = ring_->records_dropped();
  ending.tensors_dropped = ring_->tensors_dropped();
  description_.ended = std::move(ending);
  ring_->SetClosed();
  const bool removes_ring = writer_.complete();
  if (removes_ring) description_.ring_path.clear();
  const std::string path =
      Join(description_.directory.rank_path, runs::kRankFile);
  if (absl::Status status = ReplaceFile(path, RankJson(description_));
      !status.ok()) {
    log_line_(absl::StrCat("recording: ", status.message()));
    return true;
  }
  if (removes_ring) ring_->RemoveFile();
  // Another thread may hang in an op.
  if (last_ops_ != nullptr && !last_ops_->OthersRun()) last_ops_->RemoveFile();
  return true;
}

absl::Status WriteDescriptions(const RankDescription& description) {
  const RunDirectory& directory = description.directory;
  const std::string run_file = Join(directory.path, runs::kRunFile);
  struct stat status;
  if (stat(run_file.c_str(), &status) != 0) {
    RETURN_IF_ERROR(ReplaceFile(run_file, RunJson(description)));
  }
  return ReplaceFile(Join(directory.rank_path, runs::kRankFile),
                     RankJson(description));
}

}  // namespace

absl::StatusOr<std::unique_ptr<agent::Recording>> OpenFileRecording(
    const RecordingOptions& options, const v1::Hello& hello,
    RecordingCallbacks callbacks) {
  if (absl::StrContains(options.directory, "://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot record to ", options.directory,
                     ": expected a directory of this machine"));
  }
  RankDescription description;
  description.program = options.program;
  description.hello = hello;
  description.config_json = options.config_json;
  description.started_unix_ns = UnixNanoseconds();
  description.owner = {RandomIncarnation(), hello.rank(), hello.world_size()};
  if (hello.rank() >= runs::kMaxRanks) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", hello.rank(),
                                                   ": a run has at most ",
                                                   runs::kMaxRanks, " ranks"));
  }
  const std::string run = RunNameOf(
      options.run.empty() ? DefaultRunName(options.program) : options.run);
  ASSIGN_OR_RETURN(description.directory,
                   ClaimRunDirectory(options.directory, run, hello.rank(),
                                     options.ring_directory));
  const std::string& rank_path = description.directory.rank_path;
  RETURN_IF_ERROR(MakeDirectories(Join(rank_path, runs::kLogDirectory)));
  ASSIGN_OR_RETURN(std::unique_ptr<Ring> ring,
                   CreateRing(RingPlacesOf(rank_path, options.ring_directory),
                              options, description.owner, callbacks));
  description.ring_path = ring->path();
  RETURN_IF_ERROR(WriteDescriptions(description));
  std::shared_ptr<LastOps> last_ops =
      CreateLastOps(*ring, description.owner, callbacks);
  return std::make_unique<FileRecording>(options, std::move(description),
                                         std::move(ring), std::move(last_ops),
                                         std::move(callbacks));
}

}  // namespace graphdbg::recording
