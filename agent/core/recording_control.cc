#include "agent/core/recording_control.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/wire/error.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

constexpr std::chrono::seconds kReportPeriod(1);
// Where a recording goes for which nobody has named a directory.
constexpr char kDefaultDirectory[] = "runs";

absl::Status Refused(absl::string_view reason) {
  return wire::MakeError(absl::StatusCode::kFailedPrecondition,
                         "recording_failed",
                         absl::StrCat("nothing is recorded: ", reason));
}

}  // namespace

RecordingControl::RecordingControl(Parts parts) : parts_(std::move(parts)) {}

void RecordingControl::Start() {
  if (!parts_.settings.on() || parts_.open == nullptr) return;
  std::vector<std::string> problems;
  auto recorder =
      std::make_shared<Recorder>(parts_.recorder, parts_.settings, &problems);
  for (const std::string& problem : problems) parts_.recorder.log(problem);
  parts_.recorder.nodes->StartReader(NodeTable::kRecording);
  AddNodes(recorder.get(), *parts_.recorder.nodes, 0);
  const absl::Status opened = recorder->Open(
      parts_.open, parts_.make_hello(), parts_.program(), parts_.default_run());
  if (!opened.ok()) {
    parts_.recorder.log(
        absl::StrCat("nothing is recorded: ", opened.message()));
    return;
  }
  first_run_ = recorder->run();
  recorders_.Set(recorder);
  AddNodes(recorder.get(), *parts_.recorder.nodes, 0);
  recorder->Begin(parts_.recorder.counter->current_step());
}

void RecordingControl::AddNodes(Recorder* recorder, const NodeTable& nodes,
                                uint32_t known) {
  const uint32_t size = nodes.size();
  for (uint32_t node = known + 1; node <= size; ++node) {
    recorder->AddNode(node);
  }
}

std::shared_ptr<Recorder> RecordingControl::WithFiles() const {
  std::shared_ptr<Recorder> current = recorders_.current();
  return current != nullptr && current->has_files() ? current : nullptr;
}

void RecordingControl::SwitchOverview(uint64_t step) {
  const auto current = recorders_.current();
  if (!wants_overview_) {
    if (current != nullptr && !current->has_files()) recorders_.Set(nullptr);
    return;
  }
  if (current != nullptr || parts_.recorder.overview == nullptr) return;
  std::vector<std::string> problems;
  auto recorder = std::make_shared<Recorder>(
      parts_.recorder, OverviewSettings(parts_.overhead), &problems);
  recorder->OpenWithoutFiles();
  AddNodes(recorder.get(), *parts_.recorder.nodes, 0);
  if (step > 1) recorder->LearnGraph();
  recorders_.Set(recorder);
  recorder->Begin(step);
}

void RecordingControl::Switch(uint64_t step) {
  std::shared_ptr<Recorder> next;
  std::vector<PendingBoost> boosts;
  uint32_t known = 0;
  {
    MutexLock lock(&mu_);
    changes_ = false;
    if (std::exchange(stopping_, false)) {
      stopped_ = WithFiles();
      recorders_.Set(nullptr);
    }
    next = std::exchange(next_, nullptr);
    known = next_knows_;
    if (next != nullptr) recorders_.Set(next);
    boosts.swap(boosts_);
  }
  if (next != nullptr) {
    AddNodes(next.get(), *parts_.recorder.nodes, known);
    next->Begin(step);
  }
  SwitchOverview(step);
  for (const PendingBoost& each : boosts) {
    if (each.recorder != recorders_.current()) continue;
    each.recorder->Boost(each.collections, step, each.steps);
  }
  parts_.wake_worker();
}

void RecordingControl::Set(const v1::SetRecording& order) {
  MutexLock lock(&mu_);
  orders_.push_back(order);
}

void RecordingControl::Work() {
  CloseStopped();
  for (;;) {
    v1::SetRecording order;
    {
      MutexLock lock(&mu_);
      if (orders_.empty() || closed_) break;
      order = orders_.front();
    }
    if (!Serve(order)) break;
    MutexLock lock(&mu_);
    orders_.pop_front();
  }
  ReportIfDue();
}

absl::Status RecordingControl::Boost(const v1::RecordingBoost& boost) {
  std::shared_ptr<Recorder> recorder = WithFiles();
  if (recorder == nullptr) return Refused("the job is not recorded");
  const auto collections = recorder->AddBoost(boost.settings());
  if (!collections.ok()) return Refused(collections.status().message());
  MutexLock lock(&mu_);
  boosts_.push_back({std::move(recorder), *collections, boost.steps()});
  changes_ = true;
  return absl::OkStatus();
}

bool RecordingControl::Serve(const v1::SetRecording& order) {
  if (order.has_boost()) {
    Report(order.id(), Boost(order.boost()));
    return true;
  }
  if (!order.on()) {
    StopCurrent();
    Report(order.id(), absl::OkStatus());
    return true;
  }
  bool stopping = false;
  {
    MutexLock lock(&mu_);
    if (stopped_ != nullptr) return false;
    stopping = stopping_;
  }
  if (WithFiles() == nullptr) {
    Report(order.id(), Open(order));
    return true;
  }
  if (!stopping && order.directory().empty() && order.settings().empty()) {
    Report(order.id(), absl::OkStatus());
    return true;
  }
  // With other settings, a new run begins once this one has ended.
  StopCurrent();
  return false;
}

void RecordingControl::StopCurrent() {
  std::shared_ptr<Recorder> never_begun;
  {
    MutexLock lock(&mu_);
    never_begun = std::exchange(next_, nullptr);
    if (WithFiles() != nullptr) {
      stopping_ = true;
      changes_ = true;
    }
  }
  if (never_begun != nullptr) {
    never_begun->Close(v1::Goodbye(), "closed");
    parts_.recorder.nodes->StopReader(NodeTable::kRecording);
  }
}

absl::Status RecordingControl::Open(const v1::SetRecording& order) {
  if (parts_.open == nullptr) return Refused("this agent cannot record");
  StopCurrent();
  RecordSettings settings = parts_.settings;
  if (!order.settings().empty()) {
    RecordSettings given;
    if (absl::Status read = ReadRecordJson(order.settings(), &given);
        !read.ok()) {
      return Refused(read.message());
    }
    given.directory = settings.directory;
    given.ring_directory = settings.ring_directory;
    given.run = settings.run;
    given.overhead = WithinLimit(given.overhead, parts_.overhead);
    settings = std::move(given);
  }
  if (!order.directory().empty()) settings.directory = order.directory();
  if (settings.directory.empty()) settings.directory = last_directory_;
  if (settings.directory.empty()) settings.directory = kDefaultDirectory;
  const std::string directory = settings.directory;
  std::vector<std::string> problems;
  auto recorder = std::make_shared<Recorder>(parts_.recorder,
                                             std::move(settings), &problems);
  if (!problems.empty()) return Refused(absl::StrJoin(problems, "; "));
  NodeTable* const nodes = parts_.recorder.nodes;
  nodes->StartReader(NodeTable::kRecording);
  const uint32_t known = nodes->size();
  AddNodes(recorder.get(), *nodes, 0);
  const absl::Status opened =
      recorder->Open(parts_.open, parts_.make_hello(), parts_.program(),
                     first_run_.empty() ? parts_.default_run() : first_run_);
  if (!opened.ok()) {
    nodes->StopReader(NodeTable::kRecording);
    return Refused(opened.message());
  }
  if (first_run_.empty()) first_run_ = recorder->run();
  last_directory_ = directory;
  recorder->LearnGraph();
  MutexLock lock(&mu_);
  next_ = std::move(recorder);
  next_knows_ = known;
  changes_ = true;
  return absl::OkStatus();
}

void RecordingControl::CloseStopped() {
  std::shared_ptr<Recorder> stopped;
  {
    MutexLock lock(&mu_);
    stopped = std::exchange(stopped_, nullptr);
  }
  if (stopped == nullptr) return;
  v1::Goodbye goodbye;
  goodbye.set_steps(parts_.recorder.counter->steps_ended());
  stopped->Close(goodbye, "closed");
  parts_.recorder.nodes->StopReader(NodeTable::kRecording);
  parts_.recorder.log(
      absl::StrCat("recording ended: ", stopped->status().directory));
  parts_.update_interest();
  Report(0, absl::OkStatus());
}

void RecordingControl::ReportIfDue() {
  if (WithFiles() == nullptr || Clock::now() - reported_at_ < kReportPeriod) {
    return;
  }
  reported_at_ = Clock::now();
  Report(0, absl::OkStatus());
}

void RecordingControl::Refuse(const v1::SetRecording& order,
                              const absl::Status& status) {
  Report(order.id(), status);
}

void RecordingControl::Report(uint64_t order, const absl::Status& error) {
  v1::RecordingStatus message;
  message.set_id(order);
  std::shared_ptr<Recorder> recorder = WithFiles();
  {
    MutexLock lock(&mu_);
    using State = v1::RecordingStatus;
    message.set_state(next_ != nullptr                  ? State::STATE_STARTING
                      : stopping_                       ? State::STATE_STOPPING
                      : recorder != nullptr && !closed_ ? State::STATE_ON
                                                        : State::STATE_OFF);
    if (next_ != nullptr) recorder = next_;
  }
  if (recorder != nullptr) {
    const Recorder::Status status = recorder->status();
    message.set_directory(status.directory);
    message.set_steps(status.steps);
    message.set_records(status.records);
    message.set_records_dropped(status.dropped);
    message.set_bytes(status.bytes);
    message.set_time_share(status.time_share);
    message.set_keeps_all(status.keeps_all);
  }
  if (!error.ok()) *message.mutable_error() = wire::ToError(error);
  parts_.outbox->PutRecordingStatus(std::move(message));
}

void RecordingControl::Close(const v1::Goodbye& goodbye,
                             absl::string_view reason) {
  std::shared_ptr<Recorder> next, stopped;
  {
    MutexLock lock(&mu_);
    closed_ = true;
    next = std::exchange(next_, nullptr);
    stopped = std::exchange(stopped_, nullptr);
  }
  if (next != nullptr) next->Close(goodbye, reason);
  if (stopped != nullptr) stopped->Close(goodbye, "closed");
  const auto current = recorders_.current();
  if (current == nullptr) return;
  current->Close(goodbye, reason);
  // A short program may end before a report was due.
  if (current->has_files()) Report(0, absl::OkStatus());
}

void RecordingControl::GoInert() {
  if (Recorder* const current = recorders_.InForkedChild()) {
    current->GoInert();
  }
}

}  // namespace graphdbg::agent
