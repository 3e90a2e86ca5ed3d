#include "agent/core/outbox.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {

void Outbox::Put(v1::AgentMessage message) {
  if (closed_) return;
  queue_.push_back(std::move(message));
  filled_.notify_one();
}

void Outbox::PutHit(v1::Hit hit) {
  std::lock_guard<std::mutex> lock(mu_);
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
  std::lock_guard<std::mutex> lock(mu_);
  if (state_ != kLive || !peer_.takes_statistics ||
      statistics_ >= kMaxStatistics) {
    return;
  }
  ++statistics_;
  v1::AgentMessage message;
  *message.mutable_statistics() = std::move(report);
  Put(std::move(message));
}

void Outbox::PutLog(v1::Log::Level level, std::string text) {
  std::lock_guard<std::mutex> lock(mu_);
  if (logs_ >= kMaxLogs) return;
  ++logs_;
  v1::AgentMessage message;
  message.mutable_log()->set_level(level);
  message.mutable_log()->set_message(
      wire::ToValidUtf8(text, wire::kMaxTextBytes));
  Put(std::move(message));
}

void Outbox::PutState(const v1::StateUpdate& state) {
  std::lock_guard<std::mutex> lock(mu_);
  if (state_ != kLive) return;
  v1::AgentMessage message;
  *message.mutable_state() = state;
  Put(std::move(message));
}

void Outbox::PutCommandResult(uint64_t command_id, const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mu_);
  if (state_ != kLive) return;
  v1::AgentMessage message;
  message.mutable_command_result()->set_command_id(command_id);
  if (!status.ok()) {
    *message.mutable_command_result()->mutable_error() = wire::ToError(status);
  }
  Put(std::move(message));
}

void Outbox::PutWatchpointStatus(v1::WatchpointStatus status) {
  std::lock_guard<std::mutex> lock(mu_);
  if (state_ != kLive) return;
  v1::AgentMessage message;
  *message.mutable_watchpoint_status() = std::move(status);
  Put(std::move(message));
}

void Outbox::PutGoodbye(v1::Goodbye goodbye) {
  std::lock_guard<std::mutex> lock(mu_);
  v1::AgentMessage message;
  *message.mutable_goodbye() = std::move(goodbye);
  Put(std::move(message));
  closed_ = true;
  drained_.notify_all();
}

bool Outbox::PutTensor(v1::TensorData tensor, uint64_t stream) {
  std::unique_lock<std::mutex> lock(mu_);
  const auto gone = [&] {
    return closed_ || state_ != kLive || streams_ != stream;
  };
  drained_.wait(lock,
                [&] { return gone() || tensor_bytes_ < kMaxTensorBytes; });
  if (gone()) return false;
  tensor_bytes_ += static_cast<int64_t>(tensor.data().size());
  v1::AgentMessage message;
  *message.mutable_tensor() = std::move(tensor);
  Put(std::move(message));
  return true;
}

uint64_t Outbox::stream() const {
  std::lock_guard<std::mutex> lock(mu_);
  return state_ == kLive ? streams_ : 0;
}

bool Outbox::SurvivesStream(const v1::AgentMessage& message) const {
  return message.has_hit() || message.has_log() || message.has_goodbye();
}

void Outbox::OpenStream() {
  std::lock_guard<std::mutex> lock(mu_);
  state_ = kOpening;
}

void Outbox::BeginStream(const Peer& peer) {
  std::lock_guard<std::mutex> lock(mu_);
  if (state_ != kOpening) return;
  peer_ = peer;
  state_ = kLive;
  ++streams_;
  filled_.notify_all();
}

void Outbox::Confirm(uint64_t through) {
  std::lock_guard<std::mutex> lock(mu_);
  while (!unconfirmed_.empty() &&
         unconfirmed_.front().hit().number() <= through) {
    unconfirmed_.pop_front();
    --hits_;
  }
}

void Outbox::EndStream() {
  std::lock_guard<std::mutex> lock(mu_);
  state_ = kNoStream;
  std::deque<v1::AgentMessage> kept = std::move(unconfirmed_);
  unconfirmed_.clear();
  for (v1::AgentMessage& message : queue_) {
    if (SurvivesStream(message)) kept.push_back(std::move(message));
  }
  queue_ = std::move(kept);
  tensor_bytes_ = 0;
  statistics_ = 0;
  filled_.notify_all();
  drained_.notify_all();
}

void Outbox::ReportDroppedHits() {
  if (dropped_hits_ == 0 || hits_ > kMaxHits / 2) return;
  v1::AgentMessage message;
  message.mutable_log()->set_level(v1::Log::LEVEL_WARNING);
  message.mutable_log()->set_message(
      absl::StrCat(dropped_hits_,
                   " hits were not recorded: they came faster than they could "
                   "be sent"));
  message.mutable_log()->set_dropped_hits(dropped_hits_);
  dropped_hits_ = 0;
  ++logs_;
  queue_.push_front(std::move(message));
}

Outbox::Next Outbox::Take(v1::AgentMessage* message) {
  std::unique_lock<std::mutex> lock(mu_);
  filled_.wait(lock, [&] {
    return state_ == kNoStream ||
           (state_ == kLive && (!queue_.empty() || woken_ || closed_));
  });
  if (state_ == kNoStream) return Next::kEnd;
  // First: what was woken for (the graph) goes before hits that are about it.
  if (std::exchange(woken_, false)) return Next::kWoken;
  if (queue_.empty()) return Next::kEnd;
  ReportDroppedHits();
  *message = std::move(queue_.front());
  queue_.pop_front();
  if (message->has_hit() && peer_.confirms_hits)
    unconfirmed_.push_back(*message);
  if (message->has_hit() && !peer_.confirms_hits) --hits_;
  if (message->has_log()) --logs_;
  if (message->has_statistics()) --statistics_;
  if (message->has_tensor()) {
    tensor_bytes_ -= static_cast<int64_t>(message->tensor().data().size());
    drained_.notify_all();
  }
  return Next::kMessage;
}

void Outbox::PutBack(v1::AgentMessage message) {
  if (!SurvivesStream(message)) return;
  std::lock_guard<std::mutex> lock(mu_);
  // It is among the unconfirmed ones, or was: the stream's end puts them back.
  if (message.has_hit() && peer_.confirms_hits) return;
  if (message.has_hit()) ++hits_;
  if (message.has_log()) ++logs_;
  // The last message, whatever has come back to the queue since.
  if (message.has_goodbye()) return queue_.push_back(std::move(message));
  queue_.push_front(std::move(message));
}

void Outbox::Wake() {
  std::lock_guard<std::mutex> lock(mu_);
  woken_ = true;
  filled_.notify_one();
}

}  // namespace graphdbg::agent
