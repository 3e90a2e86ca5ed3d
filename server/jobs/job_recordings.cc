#include "server/jobs/job_recordings.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/jobs/permissions.h"

namespace graphdbg::jobs {
namespace {

// An agent opens files before it answers.
constexpr std::chrono::seconds kDeadline(15);

absl::Status InRank(uint32_t rank, const absl::Status& status) {
  return Error(status.code(), ReasonOf(status),
               absl::StrCat("rank ", rank, ": ", status.message()));
}

}  // namespace

model::JobRecording JobRecordings::List() const {
  model::JobRecording recording;
  for (const auto& [number, rank] : machine_.ranks()) {
    model::RankRecording one;
    const auto report = reports_.find(number);
    if (report != reports_.end()) one = report->second.recording;
    one.rank = number;
    one.host = rank.hello.host;
    one.supported = rank.hello.can_record && rank.link != nullptr;
    if (rank.link == nullptr) one.state = model::RecordingState::kOff;
    recording.ranks.push_back(std::move(one));
  }
  return recording;
}

absl::Status JobRecordings::Check(const model::RecordingSpec& spec) const {
  bool connected = false;
  for (const auto& [number, rank] : machine_.ranks()) {
    RETURN_IF_ERROR(CheckMayRecord(rank.hello.allowed));
    if (rank.link == nullptr) continue;
    connected = true;
    if (spec.boost && !rank.hello.can_boost) {
      return Error(absl::StatusCode::kUnimplemented, "unsupported_command",
                   absl::StrCat("the agent of rank ", number,
                                " cannot record more for some steps"));
    }
    if (rank.hello.can_record) continue;
    return Error(absl::StatusCode::kUnimplemented, "unsupported_command",
                 absl::StrCat("rank ", number, " (", rank.hello.framework,
                              ") cannot be recorded: its agent does not "
                              "switch recording on and off"));
  }
  if (connected) return absl::OkStatus();
  return Error(absl::StatusCode::kUnavailable, "job_gone",
               "no rank of the job is connected");
}

void JobRecordings::Set(const model::RecordingSpec& spec, Completion done) {
  if (absl::Status status = Check(spec); !status.ok()) return done(status);
  const uint64_t id = ++last_id_;
  Order& order = orders_[id];
  order.done = std::move(done);
  order.deadline = runner_.RunAfter(kDeadline, [this, id] {
    const auto late = orders_.find(id);
    if (late == orders_.end()) return;
    late->second.error =
        Error(absl::StatusCode::kDeadlineExceeded, "deadline_exceeded",
              absl::StrCat("rank ", *late->second.awaited.begin(),
                           " has not answered in time"));
    Finish(late);
  });
  for (const auto& [number, rank] : machine_.ranks()) {
    if (rank.link != nullptr) order.awaited.insert(number);
  }
  for (const uint32_t number : std::set<uint32_t>(order.awaited)) {
    machine_.Find(number)->link->Send(SetRecordingOrder{id, spec});
  }
}

void JobRecordings::OnReport(uint32_t rank, const RecordingReport& report) {
  reports_[rank] = report;
  const auto order = orders_.find(report.order);
  if (order != orders_.end()) Answer(order, rank, report.error);
}

void JobRecordings::FailRank(uint32_t rank, const absl::Status& status) {
  const auto report = reports_.find(rank);
  if (report != reports_.end()) {
    report->second.recording.state = model::RecordingState::kOff;
  }
  std::vector<uint64_t> waiting;
  for (const auto& [id, order] : orders_) {
    if (order.awaited.count(rank) > 0) waiting.push_back(id);
  }
  for (const uint64_t id : waiting) Answer(orders_.find(id), rank, status);
}

void JobRecordings::Answer(Orders::iterator order, uint32_t rank,
                           const absl::Status& status) {
  Order& answered = order->second;
  if (answered.awaited.erase(rank) == 0) return;
  if (!status.ok() && answered.error.ok()) {
    answered.error = InRank(rank, status);
  }
  if (answered.awaited.empty()) Finish(order);
}

void JobRecordings::Finish(Orders::iterator order) {
  Order finished = std::move(order->second);
  orders_.erase(order);
  if (!finished.error.ok()) return finished.done(finished.error);
  finished.done(List());
}

}  // namespace graphdbg::jobs
