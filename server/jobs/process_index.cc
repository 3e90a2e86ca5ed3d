#include "server/jobs/process_index.h"

#include <openssl/crypto.h>

#include "absl/hash/hash.h"

namespace graphdbg::jobs {
namespace {

size_t HashOf(const std::string& requested_id, const AgentHello& hello) {
  return absl::HashOf(requested_id, hello.rank, hello.incarnation);
}

}  // namespace

void ProcessIndex::Add(const std::string& requested_id, const AgentHello& hello,
                       const std::shared_ptr<LiveJob>& job) {
  if (hello.incarnation.empty()) return;
  if (jobs_.size() >= prune_at_) {
    for (auto it = jobs_.begin(); it != jobs_.end();) {
      it = it->second.expired() ? jobs_.erase(it) : std::next(it);
    }
    prune_at_ = 2 * jobs_.size() + 1'000;
  }
  jobs_[HashOf(requested_id, hello)] = job;
}

std::shared_ptr<LiveJob> ProcessIndex::Find(const AgentHello& hello) const {
  if (hello.incarnation.empty()) return nullptr;
  const auto it = jobs_.find(HashOf(hello.job, hello));
  return it == jobs_.end() ? nullptr : it->second.lock();
}

bool SameProcess(const AgentHello& one, const AgentHello& other) {
  const std::string& a = one.incarnation;
  const std::string& b = other.incarnation;
  return !a.empty() && a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace graphdbg::jobs
