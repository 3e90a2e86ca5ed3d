#include "server/jobs/viewers.h"

#include <utility>

namespace graphdbg::jobs {

std::shared_ptr<void> Viewers::Add(std::string job) {
  {
    absl::MutexLock lock(&mu_);
    ++counts_[job];
  }
  auto remove = [self = shared_from_this(), job = std::move(job)](void*) {
    self->Remove(job);
  };
  return std::shared_ptr<void>(nullptr, std::move(remove));
}

void Viewers::Remove(const std::string& job) {
  absl::MutexLock lock(&mu_);
  const auto it = counts_.find(job);
  if (--it->second == 0) counts_.erase(it);
}

uint32_t Viewers::Count(const std::string& job) const {
  absl::MutexLock lock(&mu_);
  const auto it = counts_.find(job);
  return it == counts_.end() ? 0 : it->second;
}

uint32_t Viewers::Count() const {
  absl::MutexLock lock(&mu_);
  uint32_t count = 0;
  for (const auto& [job, of_job] : counts_) count += of_job;
  return count;
}

}  // namespace graphdbg::jobs
