#include "agent/core/hit_limits.h"

#include <algorithm>
#include <vector>

#include "agent/core/checker.h"

namespace graphdbg::agent {

void HitLimits::Set(const v1::SetWatchpoint& watchpoint) {
  MutexLock lock(&mu_);
  const auto known = limits_.find(watchpoint.id());
  // A server that is connected again sends what the agent has already.
  if (known != limits_.end() &&
      known->second.revision == watchpoint.revision()) {
    return;
  }
  if (watchpoint.ignore_count() > 0 || watchpoint.once()) {
    limits_[watchpoint.id()] = {watchpoint.revision(),
                                watchpoint.ignore_count(), watchpoint.once(),
                                /*has_hit=*/false};
  } else if (known != limits_.end()) {
    limits_.erase(known);
  }
  any_ = !limits_.empty();
}

void HitLimits::Remove(uint32_t id) {
  MutexLock lock(&mu_);
  limits_.erase(id);
  any_ = !limits_.empty();
}

bool HitLimits::Counts(const v1::Hit& hit) {
  const auto found = limits_.find(hit.watchpoint());
  if (found == limits_.end() || found->second.revision != hit.revision() ||
      hit.absorbed()) {
    return true;
  }
  Limit& limit = found->second;
  if (limit.ignored_left > 0) {
    --limit.ignored_left;
    return false;
  }
  if (limit.once && limit.has_hit) return false;
  limit.has_hit = true;
  return true;
}

void HitLimits::Apply(Findings* findings) {
  if (!any_ || findings->hits.empty()) return;
  std::vector<uint32_t> passed_over;
  {
    MutexLock lock(&mu_);
    std::vector<v1::Hit> counted;
    for (v1::Hit& hit : findings->hits) {
      if (Counts(hit)) {
        counted.push_back(std::move(hit));
      } else {
        passed_over.push_back(hit.watchpoint());
      }
    }
    findings->hits = std::move(counted);
  }
  for (const uint32_t id : passed_over) {
    const bool another = std::any_of(
        findings->hits.begin(), findings->hits.end(),
        [id](const v1::Hit& hit) { return hit.watchpoint() == id; });
    if (another) continue;
    for (auto* stops : {&findings->stop_here, &findings->stop_at_step_end}) {
      stops->erase(std::remove(stops->begin(), stops->end(), id), stops->end());
    }
  }
}

}  // namespace graphdbg::agent
