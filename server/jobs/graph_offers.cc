#include "server/jobs/graph_offers.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::jobs {
namespace {

// A rank that has not sent anything by then does not delay the others further.
constexpr std::chrono::milliseconds kTurn{2'000};

}  // namespace

absl::Status GraphOffers::Add(Rank& rank, GraphOffer offer) {
  const bool waits = std::any_of(
      waiting_.begin(), waiting_.end(),
      [&rank](const Waiting& waiting) { return waiting.rank == &rank; });
  if (waits) {
    return Error(absl::StatusCode::kInvalidArgument, "bad_order",
                 "the agent sent an offer before the last one was answered");
  }
  if (!Answer(rank, offer)) waiting_.push_back({&rank, std::move(offer)});
  return absl::OkStatus();
}

void GraphOffers::OnSent(const Rank& rank) { EndTurn(rank.hello.rank); }

void GraphOffers::Remove(const Rank& rank) {
  std::erase_if(waiting_, [&rank](const Waiting& waiting) {
    return waiting.rank == &rank;
  });
  EndTurn(rank.hello.rank);
}

void GraphOffers::EndTurn(uint32_t rank) {
  if (sending_.erase(rank) > 0) AnswerWaiting();
}

void GraphOffers::AnswerWaiting() {
  while (!waiting_.empty()) {
    const Waiting& next = waiting_.front();
    if (!Answer(*next.rank, next.offer)) return;
    waiting_.pop_front();
  }
}

bool GraphOffers::Answer(Rank& rank, const GraphOffer& offer) {
  NeededGraphOrder needed;
  std::vector<graph::NodeIndex> known(offer.nodes.size(), graph::kNoNode);
  for (size_t i = 0; i < offer.nodes.size(); ++i) {
    const graph::NodeIndex node = graph_.FindDigest(offer.digests[i]);
    const graph::NodeIndex now = rank.ids.Find(offer.nodes[i]);
    if (node != graph::kNoNode && (now == node || now == graph::kNoNode)) {
      known[i] = node;
    } else {
      needed.nodes.push_back(static_cast<uint32_t>(i));
    }
  }
  for (size_t i = 0; i < offer.files.size(); ++i) {
    const GraphOffer::File& file = offer.files[i];
    if (graph_.HasFile(file.name, file.digest)) continue;
    needed.files.push_back(static_cast<uint32_t>(i));
  }
  if (!needed.nodes.empty() || !needed.files.empty()) {
    const uint32_t number = rank.hello.rank;
    sending_.erase(number);
    if (sending_.size() >= kMaxSending) return false;
    sending_[number] =
        tasks_.RunAfter(kTurn, [this, number] { EndTurn(number); });
  }
  graph::GraphChanges changes;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i] == graph::kNoNode) continue;
    graph_.AddKnown(offer.nodes[i], known[i], rank.ids, changes);
  }
  if (!changes.nodes.empty()) changed_(rank, changes);
  rank.link->Send(std::move(needed));
  return true;
}

}  // namespace graphdbg::jobs
