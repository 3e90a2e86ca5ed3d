#include "agent/core/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/core/heap.h"
#include "agent/core/nearest_names.h"
#include "agent/core/no_recording.h"
#include "agent/core/source_text.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

using std::chrono::nanoseconds;

// How often the ops of a step are timed for a recording, whose size that
// hardly changes.
constexpr std::chrono::seconds kOpTimesEvery(30);
// The step after which collections should have selected something.
constexpr uint64_t kStepsToSelect = 3;
constexpr size_t kNamesToShow = 3;

uint64_t Nanoseconds(std::chrono::steady_clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count());
}

// Suggestions for the lists of a collection that selects nothing.
std::string NearestTo(const CollectionSettings& collection,
                      const NodeTable& nodes) {
  std::vector<std::string> wanted = collection.include;
  for (const auto* list : {&collection.nodes.nodes, &collection.nodes.scopes,
                           &collection.nodes.patterns}) {
    wanted.insert(wanted.end(), list->begin(), list->end());
  }
  std::string text;
  if (!wanted.empty()) {
    const auto names =
        NearestNames(nodes, absl::StrJoin(wanted, " "), kNamesToShow);
    absl::StrAppend(&text, "; nearest names: ", absl::StrJoin(names, ", "));
  }
  if (!collection.op_types.empty()) {
    const auto types = NearestOpTypes(
        nodes, absl::StrJoin(collection.op_types, " "), kNamesToShow);
    absl::StrAppend(&text,
                    "; nearest types of ops: ", absl::StrJoin(types, ", "));
  }
  return text;
}

v1::OverviewRole RoleOfCollection(absl::string_view name) {
  if (name == "losses") return v1::OVERVIEW_ROLE_LOSS;
  if (name == "gradients") return v1::OVERVIEW_ROLE_GRADIENT;
  if (name == "weights" || name == "biases") return v1::OVERVIEW_ROLE_WEIGHT;
  if (name == "layers") return v1::OVERVIEW_ROLE_ACTIVATION;
  return v1::OVERVIEW_ROLE_UNSPECIFIED;
}

uint64_t UnixNow() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<nanoseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

}  // namespace

Recorder::Recorder(const Parts& parts, RecordSettings settings,
                   std::vector<std::string>* problems)
    : parts_(parts),
      settings_(std::move(settings)),
      collections_(parts_.nodes, &settings_, problems),
      schedule_(&settings_),
      previous_(/*generations=*/1, parts_.budget_bytes, parts_.devices),
      device_copies_(/*generations=*/1, parts_.budget_bytes, parts_.devices),
      device_records_(parts_.devices) {
  step_phase_.mode = runs::Mode::kTrain;
  full_ = schedule_.full() | kSavedByProgram;
  digests_ = schedule_.digests();
  changes_ = schedule_.changes();
  units_ = schedule_.units();
  tensors_ = schedule_.tensors() | kSavedTensors;
  for (size_t i = 0; i < settings_.collections.size(); ++i) {
    const auto role = RoleOfCollection(settings_.collections[i].name);
    roles_[static_cast<size_t>(role)] |= CollectionMask{1} << i;
  }
}

Recorder::~Recorder() {
  if (leaks_) (void)recording_.release();
}

absl::Status Recorder::Open(const OpenRecordingFunction& open,
                            const v1::Hello& hello, const std::string& program,
                            const std::string& default_run) {
  RecordingOptions options;
  options.directory = settings_.directory;
  options.keep_all = settings_.keep_all;
  options.max_tensor_bytes =
      settings_.max_bytes / std::max<uint64_t>(hello.world_size(), 1);
  if (settings_.tensor_rate) {
    options.tensor_rate = static_cast<double>(*settings_.tensor_rate);
  }
  // A program that waits for the disk limits itself.
  options.limits_tensor_rate = !settings_.tensor_rate && !settings_.block;
  options.ring_bytes = settings_.ring_bytes;
  options.ring_steps = settings_.ring_steps;
  options.ring_directory = settings_.ring_directory;
  options.run = settings_.run.empty() ? default_run : settings_.run;
  options.program = program;
  options.config_json = EffectiveJson(settings_);
  RecordingCallbacks callbacks;
  callbacks.log = parts_.log;
  callbacks.take_graph_update =
      [nodes = parts_.nodes,
       text = std::make_shared<SourceText>(parts_.source_files)](
          v1::GraphUpdate* update) {
        if (!nodes->TakeUpdate(wire::kGraphUpdateBytes, update,
                               NodeTable::kRecording)) {
          return false;
        }
        text->Fill(update);
        return true;
      };
  ASSIGN_OR_RETURN(recording_, open(options, hello, std::move(callbacks)));
  return absl::OkStatus();
}

void Recorder::OpenWithoutFiles() {
  recording_ = std::make_unique<NoRecording>();
  has_files_ = false;
}

void Recorder::Begin(uint64_t step) {
  {
    MutexLock lock(&mu_);
    since_ = Clock::now();
  }
  on_ = true;
  if (has_files_) {
    KeepFreedMemory(parts_.budget_bytes);
    parts_.log(absl::StrCat("recording to ", recording_->directory()));
  }
  BeginStep(step);
}

std::string Recorder::run() const {
  const std::string& path = recording_->directory();
  return path.substr(path.rfind('/') + 1);
}

Recorder::Status Recorder::status() const {
  Status status;
  status.directory = recording_->directory();
  status.keeps_all = settings_.keep_all;
  status.steps = steps_;
  status.records = records_;
  status.dropped = recording_->records_dropped();
  status.bytes = recording_->bytes() + recording_->tensor_bytes();
  MutexLock lock(&mu_);
  const auto elapsed =
      std::chrono::duration_cast<nanoseconds>(Clock::now() - since_).count();
  if (on() && elapsed > 0) {
    status.time_share = static_cast<double>(measuring_ns_.load()) /
                        static_cast<double>(elapsed);
  }
  return status;
}

absl::StatusOr<CollectionMask> Recorder::AddBoost(const std::string& settings) {
  const auto known = known_boosts_.find(settings);
  if (known != known_boosts_.end()) return known->second;
  ASSIGN_OR_RETURN(std::vector<CollectionSettings> collections,
                   ReadBoostJson(settings, settings_));
  std::vector<RecordLevel> levels;
  for (const auto& each : collections) levels.push_back(each.level);
  ASSIGN_OR_RETURN(const CollectionMask added,
                   collections_.Add(std::move(collections)));
  boosts_ |= added;
  CollectionMask bit = added & -added;
  for (const RecordLevel level : levels) {
    if (level >= RecordLevel::kStatistics) full_ |= bit;
    if (level == RecordLevel::kTensors) tensors_ |= bit;
    bit <<= 1;
  }
  known_boosts_[settings] = added;
  return added;
}

void Recorder::Boost(CollectionMask collections, uint64_t step,
                     uint64_t steps) {
  if (!on() || steps == 0) return;
  const uint64_t through = step + steps - 1;
  if ((collections & ~applied_boosts_) != 0) {
    applied_boosts_ |= collections;
    const uint32_t size = parts_.nodes->size();
    for (uint32_t node = 1; node <= size; ++node) AddNode(node);
    if (collections_.DecidedByGraph(collections)) LearnGraph();
  }
  MutexLock lock(&mu_);
  schedule_.Boost(collections, through);
  if (!settings_.keep_all) recording_->KeepThrough(through);
}

void Recorder::FlagRecorded() {
  const uint32_t size = parts_.nodes->size();
  for (uint32_t node = 1; node <= size; ++node) {
    const CollectionMask of =
        collections_.Of(node, 0) | collections_.Undecided(node);
    parts_.nodes->Facts(node)->Set(kRecorded, Usable(of) != 0);
  }
}

void Recorder::AddNode(uint32_t node) {
  if (Usable(collections_.AddNode(node)) != 0) {
    parts_.nodes->Facts(node)->Set(kRecorded, true);
  }
  if (collections_.InOptimizer(node)) has_optimizer_ = true;
}

void Recorder::AddSaved(uint32_t node, absl::string_view collection) {
  collections_.AddSaved(node, collection);
}

void Recorder::BeginOp(uint32_t node) {
  const bool timed = times_ops();
  if (!on() || (!has_files_ && !timed)) return;
  const NodeFacts* const facts = parts_.nodes->Facts(node);
  if (facts == nullptr || !facts->has(kAnyNode)) return;
  if (has_files_) NoteBegun(node, *facts);
  // Last, so that noting does not count.
  if (timed) parts_.overview->op_timer().Begin(node);
}

void Recorder::NoteBegun(uint32_t node, const NodeFacts& facts) {
  StartedOp op;
  op.node = node;
  op.step = parts_.counter->current_step();
  op.exec_order = parts_.counter->expected_order();
  if (!facts.has(kNeverExecuted)) return recording_->BeginOp(op);
  const std::string name = parts_.nodes->InfoOf(node).name;
  const v1::SourceFrame frame = parts_.nodes->UserFrameOf(node);
  op.name = name;
  op.file = frame.file();
  op.line = frame.line();
  recording_->BeginOp(op);
}

void Recorder::EndOp() {
  if (!on()) return;
  if (times_ops()) parts_.overview->op_timer().End();
  if (has_files_) recording_->EndOp();
}

RecordKey Recorder::KeyOf(const Phase& phase) const {
  RecordKey key;
  key.step = parts_.counter->current_step();
  key.mode = phase.mode;
  key.pass = phase.pass;
  return key;
}

// --- Steps and passes.

void Recorder::BeginStep(uint64_t step) {
  if (!on()) return;
  MutexLock lock(&mu_);
  step_since_ = Clock::now();
  step_since_unix_ns_ = UnixNow();
  waited_ms_ = 0;
  step_begun_ = false;
  passes_ = {};
  // Most steps are like the one before; BeginPass corrects the others.
  Phase next;
  next.mode = step_phase_.mode;
  next.mode_step = mode_steps_[static_cast<size_t>(next.mode)] + 1;
  Enter(&next, step);
  if (parts_.overview == nullptr) return;
  OpTimer& op_timer = parts_.overview->op_timer();
  // The first step does what no other one does, such as choosing algorithms.
  records_op_times_ = has_files_ && settings_.keep_all && steps_ > 0 &&
                      step_since_ >= next_op_times_;
  if (records_op_times_ || op_timer.wanted()) {
    op_timer.BeginStep(step_since_, records_op_times_);
  }
}

void Recorder::Enter(Phase* phase, uint64_t step) {
  const RecordSchedule::Plan plan =
      schedule_.For(phase->mode, phase->mode_step, step);
  phase->reason = plan.reason;
  mode_ = phase->mode;
  pass_ = std::max<uint64_t>(phase->pass, 1);
  in_pass_ = phase->pass != 0;
  everything_ = plan.everything;
  due_ = plan.due;
  if (boosted_.exchange(plan.boosted) != plan.boosted) FlagRecorded();
}

void Recorder::BeginStepAs(runs::Mode mode) {
  if (step_begun_) return;
  step_phase_ = Phase();
  step_phase_.mode = mode;
  step_phase_.mode_step = ++mode_steps_[static_cast<size_t>(mode)];
  Enter(&step_phase_, parts_.counter->current_step());
  Begin(&step_phase_, step_since_, step_since_unix_ns_);
  step_begun_ = true;
}

void Recorder::Begin(Phase* phase, Clock::time_point since, uint64_t unix_ns) {
  phase->records = records_;
  // Whatever the writer thread drops between two steps counts in the later one.
  phase->dropped = phase->pass == 0 ? dropped_ : DroppedNow();
  phase->tensor_bytes = recording_->tensor_bytes();
  phase->measuring_ns = measuring_ns_;
  RecordedMark mark;
  mark.unix_ns = unix_ns;
  mark.monotonic_ns = Nanoseconds(since);
  mark.mode_step = phase->mode_step;
  recording_->AppendBegin(KeyOf(*phase), mark);
}

Recorder::Dropped Recorder::DroppedNow() const {
  return {recording_->records_dropped(), recording_->tensors_dropped()};
}

void Recorder::End(const Phase& phase) {
  const Dropped dropped = DroppedNow();
  if (phase.pass == 0) dropped_ = dropped;
  RecordedMark mark;
  mark.unix_ns = UnixNow();
  mark.monotonic_ns = Nanoseconds(Clock::now());
  mark.mode_step = phase.mode_step;
  mark.records = records_ - phase.records;
  mark.records_dropped = dropped.records - phase.dropped.records;
  mark.tensors_dropped = dropped.tensors - phase.dropped.tensors;
  mark.tensor_bytes = recording_->tensor_bytes() - phase.tensor_bytes;
  mark.measuring_ns = measuring_ns_ - phase.measuring_ns;
  mark.reason = phase.reason;
  recording_->AppendEnd(KeyOf(phase), mark);
}

void Recorder::BeginPass(runs::Mode mode, bool within_step) {
  if (!on()) return;
  MutexLock lock(&mu_);
  knows_modes_ = true;
  if (within_step) has_optimizer_ = true;
  if (set_mode_ != runs::Mode::kUnknown) {
    // A pass that was begun by SetMode contains all calls of models.
    if (open_pass_) return;
    mode = set_mode_;
    within_step = mode != runs::Mode::kTrain && has_optimizer_;
  }
  ClosePass();
  BeginStepAs(within_step ? runs::Mode::kTrain : mode);
  if (within_step) OpenPass(mode);
}

void Recorder::SetMode(runs::Mode mode) {
  MutexLock lock(&mu_);
  set_mode_ = mode;
  if (!on()) return;
  ClosePass();
  if (mode == runs::Mode::kUnknown || mode == runs::Mode::kTrain) return;
  if (!has_optimizer_) return;
  BeginStepAs(runs::Mode::kTrain);
  OpenPass(mode);
}

void Recorder::OpenPass(runs::Mode mode) {
  open_pass_ = Phase();
  Phase& pass = *open_pass_;
  pass.mode = mode;
  pass.pass = ++passes_[static_cast<size_t>(mode)];
  pass.mode_step = ++mode_steps_[static_cast<size_t>(mode)];
  Enter(&pass, parts_.counter->current_step());
  Begin(&pass, Clock::now(), UnixNow());
}

void Recorder::EndPass() {
  if (!on()) return;
  MutexLock lock(&mu_);
  if (set_mode_ == runs::Mode::kUnknown) ClosePass();
}

void Recorder::ClosePass() {
  if (!open_pass_) return;
  FinishDevices(/*waits=*/false);
  End(*open_pass_);
  open_pass_.reset();
  Enter(&step_phase_, parts_.counter->current_step());
}

void Recorder::EndOverview(const Overview::Step& step, Clock::time_point now) {
  OpTimer& op_timer = parts_.overview->op_timer();
  // Most steps of a job without a server: no message is made for them.
  if (!op_timer.on() && !op_timer.wanted()) return;
  v1::OpTimes ops = op_timer.EndStep(now);
  if (records_op_times_ && !ops.node_ids().empty()) {
    v1::OverviewStep message;
    Overview::Describe(step, &message);
    *message.mutable_ops() = ops;
    if (recording_->AppendOpTimes(message)) {
      next_op_times_ = now + kOpTimesEvery;
    }
  }
  parts_.overview->EndStep(step, std::move(ops));
}

void Recorder::EndStep(uint64_t step) {
  if (!on()) return;
  Phase phase;
  {
    MutexLock lock(&mu_);
    ClosePass();
    BeginStepAs(step_phase_.mode);
    phase = step_phase_;
  }
  const uint64_t ops = parts_.counter->expected_order();
  // Without the lock, because the host is called back.
  RecordBound(step, phase);
  FinishDevices(/*waits=*/true);
  Decide();
  if (undescribed_.exchange(false)) recording_->WriteDescriptions();
  learns_ = false;
  ++steps_;
  measuring_ns_ += repeated_ns_.exchange(0);
  MutexLock lock(&mu_);
  End(step_phase_);
  if (step_phase_.reason == runs::EndReason::kOverhead) ++steps_left_out_;
  const bool in_vain = records_ == step_phase_.records && !times_ops();
  const Clock::time_point now = Clock::now();
  const nanoseconds cost =
      schedule_.EndStep({step, step_phase_.reason,
                         nanoseconds(measuring_ns_ - step_phase_.measuring_ns),
                         ops, now - step_since_, in_vain},
                        now);
  if (parts_.overview != nullptr) {
    EndOverview({step, step_phase_.mode, step_since_unix_ns_,
                 Nanoseconds(now) - Nanoseconds(step_since_),
                 static_cast<uint64_t>(cost.count())},
                now);
  }
  LogProblems(step);
}

// --- The user.

void Recorder::LogProblems(uint64_t step) {
  if (!logged_dropped_ && recording_->records_dropped() > 0) {
    logged_dropped_ = true;
    parts_.log(
        "recording: the ring is full, so records are dropped; a larger ring "
        "(GRAPHDBG_RING), a faster disk or fewer collections help");
  }
  if (!logged_tensors_dropped_ && recording_->tensors_dropped() > 0) {
    logged_tensors_dropped_ = true;
    parts_.log(
        "recording: values of some tensors are dropped, because the disk is "
        "slower than the program or a limit is reached; fewer collections at "
        "level tensors, larger intervals (save: every) or when_full: block "
        "help");
  }
  if (logged_empty_ || step < kStepsToSelect) return;
  logged_empty_ = true;
  for (const CollectionSettings* each : collections_.EmptyOnes()) {
    if (each->by_default) continue;
    parts_.log(absl::StrCat("recording: collection ", each->name,
                            " has selected nothing",
                            NearestTo(*each, *parts_.nodes)));
  }
}

void Recorder::Hit(const v1::Hit& hit) {
  if (!on() || !has_files_) return;
  RecordKey key;
  key.step = hit.step();
  key.mode = mode_;
  key.pass = pass_;
  key.node = hit.node_id();
  key.slot = hit.slot();
  key.dtype = static_cast<uint8_t>(hit.type().dtype());
  key.exec_order = hit.order();
  if (recording_->AppendHit(key, hit)) ++records_;
  if (hit.absorbed()) return;
  MutexLock lock(&mu_);
  const uint64_t through = schedule_.Hit(hit.step());
  if (through != 0) recording_->KeepThrough(through);
}

void Recorder::UserChanged(v1::UserChange change) {
  if (!on() || !has_files_) return;
  change.set_time_unix_nano(static_cast<int64_t>(UnixNow()));
  recording_->AppendUserChange(change);
}

void Recorder::GraphChanged() {
  if (!on()) return;
  undescribed_ = true;
  recording_->GraphChanged();
}

void Recorder::Close(const v1::Goodbye& goodbye, absl::string_view reason) {
  if (recording_ == nullptr || closed_.exchange(true)) return;
  if (on_.exchange(false)) Decide();
  leaks_ = !recording_->Close(goodbye, reason);
}

void Recorder::GoInert() {
  if (on_.exchange(false)) recording_->GoInert();
}

}  // namespace graphdbg::agent
