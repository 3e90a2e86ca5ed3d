#include "agent/core/graph_sender.h"

#include <utility>

#include "agent/core/graph_offer.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

// Smaller updates are sent at once: an offer would save nothing.
constexpr size_t kMinOfferedBytes = 1024;

bool IsEmpty(const v1::GraphUpdate& update) {
  return update.nodes().empty() && update.files().empty() &&
         update.seen().empty() && update.scope_types().empty();
}

}  // namespace

void GraphSender::OpenStream() {
  source_text_.SendFilesAgain();
  offered_ = false;
}

void GraphSender::BeginStream(bool takes_offers) {
  MutexLock lock(&mu_);
  live_ = true;
  takes_offers_ = takes_offers;
  answer_.reset();
}

void GraphSender::Answer(const v1::NeededGraph& needed) {
  MutexLock lock(&mu_);
  answer_ = needed;
  changed_.NotifyAll();
}

void GraphSender::EndStream() {
  MutexLock lock(&mu_);
  live_ = false;
  changed_.NotifyAll();
}

bool GraphSender::TakesOffers() {
  MutexLock lock(&mu_);
  answer_.reset();
  return takes_offers_;
}

bool GraphSender::Reduce() {
  MutexLock lock(&mu_);
  while (live_ && !answer_) changed_.Wait(&mu_);
  if (!live_) return false;
  KeepNeeded(*answer_, &update_);
  answer_.reset();
  return true;
}

bool GraphSender::Next(v1::AgentMessage* message) {
  if (std::exchange(offered_, false)) {
    if (!Reduce()) return false;
    if (!IsEmpty(update_)) {
      message->mutable_graph()->Swap(&update_);
      return true;
    }
  }
  update_.Clear();
  if (!nodes_->TakeUpdate(wire::kGraphUpdateBytes, &update_)) return false;
  source_text_.Fill(&update_);
  if (TakesOffers()) {
    AddDigests([this](uint32_t id) { return nodes_->NameOf(id); }, &update_);
    offered_ = update_.nodes_size() + update_.files_size() > 0 &&
               update_.ByteSizeLong() >= kMinOfferedBytes;
  }
  if (offered_) {
    *message->mutable_graph_offer() = OfferOf(update_);
  } else {
    message->mutable_graph()->Swap(&update_);
  }
  return true;
}

}  // namespace graphdbg::agent
