#include "agent/core/outbox.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

bool SurvivesStream(const v1::AgentMessage& message) {
  return message.has_hit() || message.has_log() || message.has_goodbye();
}

}  // namespace

void Outbox::Put(v1::AgentMessage message) {
  if (closed_) return;
  queue_.push_back(std::move(message));
  if (!gathering_ || !Gathers()) filled_.NotifyOne();
}

bool Outbox::Gathers() const {
  return state_ == StreamState::kLive && !woken_ && statistics_ > 0 &&
         queue_.size() == statistics_ && statistics_ < kMaxStatistics / 2 &&
         statistic_tensors_ < kMaxStatisticTensors / 2 &&
         Clock::now() < next_statistics_;
}

void Outbox::PutHit(v1::Hit hit) {
  MutexLock lock(&mu_);
  if (hits_ >= kMaxHits) {
    ++dropped_hits_;
    return;
  }
  ++hits_;
  v1::AgentMessage message;
  *message.mutable_hit() = std::move(hit);
  message.mutable_hit()->set_number(++last_hit_);
  Put(std::move(message));
}

void Outbox::PutStatistics(v1::StatisticsReport report) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive || !peer_.takes_statistics ||
      statistics_ >= kMaxStatistics ||
      statistic_tensors_ >= kMaxStatisticTensors) {
    return;
  }
  ++statistics_;
  statistic_tensors_ += static_cast<size_t>(report.tensors_size());
  v1::AgentMessage message;
  *message.mutable_statistics() = std::move(report);
  Put(std::move(message));
}

void Outbox::PutReplicas(v1::ReplicaDigests replicas) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive || !peer_.compares_replicas ||
      replicas_ >= kMaxReplicas) {
    return;
  }
  ++replicas_;
  v1::AgentMessage message;
  *message.mutable_replicas() = std::move(replicas);
  Put(std::move(message));
}

void Outbox::PutOrigin(v1::NonFiniteOrigin origin) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive || !peer_.takes_origins) return;
  v1::AgentMessage message;
  *message.mutable_non_finite_origin() = std::move(origin);
  Put(std::move(message));
}

void Outbox::PutOverview(v1::OverviewStep overview) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive || !peer_.takes_overviews ||
      overviews_ >= kMaxOverviews) {
    return;
  }
  ++overviews_;
  v1::AgentMessage message;
  *message.mutable_overview() = std::move(overview);
  Put(std::move(message));
}

void Outbox::PutLog(v1::Log::Level level, std::string text) {
  MutexLock lock(&mu_);
  if (logs_ >= kMaxLogs) return;
  ++logs_;
  v1::AgentMessage message;
  message.mutable_log()->set_level(level);
  message.mutable_log()->set_message(
      wire::ToValidUtf8(text, wire::kMaxTextBytes));
  Put(std::move(message));
}

void Outbox::PutState(const v1::StateUpdate& state) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive || closed_) return;
  if (ReplaceProgress(state)) return;
  v1::AgentMessage message;
  *message.mutable_state() = state;
  Put(std::move(message));
  // Other ends of the queue may change: its elements stay where they are.
  const bool runs = state.state() == v1::RUN_STATE_RUNNING;
  progress_ = runs ? queue_.back().mutable_state() : nullptr;
}

bool Outbox::ReplaceProgress(const v1::StateUpdate& state) {
  if (progress_ == nullptr || state.state() != v1::RUN_STATE_RUNNING) {
    return false;
  }
  // The answer to a pause, which the server waits for.
  const bool loses_answer = progress_->pauses_after() != 0 &&
                            progress_->pauses_after() != state.pauses_after();
  if (loses_answer) return false;
  *progress_ = state;
  return true;
}

void Outbox::PutCommandResult(uint64_t command_id, const absl::Status& status) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive) return;
  v1::AgentMessage message;
  message.mutable_command_result()->set_command_id(command_id);
  if (!status.ok()) {
    *message.mutable_command_result()->mutable_error() = wire::ToError(status);
  }
  Put(std::move(message));
}

void Outbox::PutWatchpointStatus(v1::WatchpointStatus status) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive) return;
  v1::AgentMessage message;
  *message.mutable_watchpoint_status() = std::move(status);
  Put(std::move(message));
}

void Outbox::PutRecordingStatus(v1::RecordingStatus status) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kLive || !peer_.takes_recordings) return;
  v1::AgentMessage message;
  *message.mutable_recording_status() = std::move(status);
  Put(std::move(message));
}

void Outbox::PutGoodbye(v1::Goodbye goodbye) {
  MutexLock lock(&mu_);
  v1::AgentMessage message;
  *message.mutable_goodbye() = std::move(goodbye);
  Put(std::move(message));
  closed_ = true;
  drained_.NotifyAll();
}

bool Outbox::Ended(uint64_t stream) const {
  return closed_ || state_ != StreamState::kLive || streams_ != stream;
}

bool Outbox::PutTensor(v1::TensorData tensor, uint64_t stream) {
  MutexLock lock(&mu_);
  while (!Ended(stream) && tensor_bytes_ >= kMaxTensorBytes) {
    drained_.Wait(&mu_);
  }
  if (Ended(stream)) return false;
  tensor_bytes_ += static_cast<int64_t>(tensor.data().size());
  v1::AgentMessage message;
  *message.mutable_tensor() = std::move(tensor);
  Put(std::move(message));
  return true;
}

uint64_t Outbox::stream() const {
  MutexLock lock(&mu_);
  return state_ == StreamState::kLive ? streams_ : 0;
}

void Outbox::OpenStream() {
  MutexLock lock(&mu_);
  state_ = StreamState::kOpening;
}

void Outbox::BeginStream(const Peer& peer) {
  MutexLock lock(&mu_);
  if (state_ != StreamState::kOpening) return;
  peer_ = peer;
  knows_absorbed_ = peer.knows_absorbed;
  state_ = StreamState::kLive;
  ++streams_;
  filled_.NotifyAll();
}

void Outbox::Confirm(uint64_t through) {
  MutexLock lock(&mu_);
  while (!unconfirmed_.empty() &&
         unconfirmed_.front().hit().number() <= through) {
    unconfirmed_.pop_front();
    --hits_;
  }
}

void Outbox::EndStream() {
  MutexLock lock(&mu_);
  state_ = StreamState::kNone;
  std::deque<v1::AgentMessage> kept = std::move(unconfirmed_);
  unconfirmed_.clear();
  for (v1::AgentMessage& message : queue_) {
    if (SurvivesStream(message)) kept.push_back(std::move(message));
  }
  queue_ = std::move(kept);
  progress_ = nullptr;
  tensor_bytes_ = 0;
  statistics_ = 0;
  statistic_tensors_ = 0;
  replicas_ = 0;
  overviews_ = 0;
  filled_.NotifyAll();
  drained_.NotifyAll();
}

void Outbox::ReportDroppedHits() {
  if (dropped_hits_ == 0 || hits_ > kMaxHits / 2) return;
  v1::AgentMessage message;
  message.mutable_log()->set_level(v1::Log::LEVEL_WARNING);
  message.mutable_log()->set_message(
      absl::StrCat(dropped_hits_,
                   " hits were not recorded because they occurred faster than "
                   "they could be sent"));
  message.mutable_log()->set_dropped_hits(dropped_hits_);
  dropped_hits_ = 0;
  ++logs_;
  queue_.push_front(std::move(message));
}

bool Outbox::HasNext() const {
  return state_ == StreamState::kNone ||
         (state_ == StreamState::kLive &&
          (!queue_.empty() || woken_ || closed_));
}

Outbox::Next Outbox::Take(v1::AgentMessage* message) {
  MutexLock lock(&mu_);
  while (true) {
    while (!HasNext()) filled_.Wait(&mu_);
    if (!Gathers()) break;
    gathering_ = true;
    filled_.WaitUntil(&mu_, next_statistics_);
    gathering_ = false;
  }
  // Those that waited leave together.
  if (statistics_ > 0) {
    next_statistics_ = std::min(next_statistics_, Clock::now());
  }
  if (state_ == StreamState::kNone) return Next::kEnd;
  // First, because hits refer to the nodes that Wake was called for.
  if (std::exchange(woken_, false)) return Next::kWoken;
  if (queue_.empty()) return Next::kEnd;
  ReportDroppedHits();
  if (queue_.front().has_state() &&
      queue_.front().mutable_state() == progress_) {
    progress_ = nullptr;
  }
  *message = std::move(queue_.front());
  queue_.pop_front();
  CountTaken(*message);
  return Next::kMessage;
}

bool Outbox::HasMessage() const {
  MutexLock lock(&mu_);
  return state_ == StreamState::kLive && !woken_ && !queue_.empty() &&
         !Gathers();
}

void Outbox::CountTaken(const v1::AgentMessage& message) {
  if (message.has_hit() && peer_.confirms_hits) {
    unconfirmed_.push_back(message);
  }
  if (message.has_hit() && !peer_.confirms_hits) --hits_;
  if (message.has_log()) --logs_;
  if (message.has_statistics()) {
    statistic_tensors_ -=
        static_cast<size_t>(message.statistics().tensors_size());
    if (--statistics_ == 0) next_statistics_ = Clock::now() + gathers_;
  }
  if (message.has_replicas()) --replicas_;
  if (message.has_overview()) --overviews_;
  if (message.has_tensor()) {
    tensor_bytes_ -= static_cast<int64_t>(message.tensor().data().size());
    drained_.NotifyAll();
  }
}

void Outbox::PutBack(v1::AgentMessage message) {
  if (!SurvivesStream(message)) return;
  MutexLock lock(&mu_);
  // Unconfirmed hits are put back when the stream ends.
  if (message.has_hit() && peer_.confirms_hits) return;
  if (message.has_hit()) ++hits_;
  if (message.has_log()) ++logs_;
  // Stays the last message, even if others were put back since.
  if (message.has_goodbye()) return queue_.push_back(std::move(message));
  queue_.push_front(std::move(message));
}

void Outbox::Wake() {
  MutexLock lock(&mu_);
  woken_ = true;
  filled_.NotifyOne();
}

}  // namespace graphdbg::agent
