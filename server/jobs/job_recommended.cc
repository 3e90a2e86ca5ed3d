// The recommended watchpoints of a job.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/jobs/job_impl.h"
#include "server/jobs/strand_call.h"
#include "server/watch/recommended.h"

namespace graphdbg::jobs {

std::vector<model::WatchpointSpec> JobImpl::RecommendedSet() const {
  const bool ascend =
      std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
        const std::string device =
            absl::AsciiStrToLower(each.second.hello.device);
        return absl::StrContains(device, "ascend") ||
               absl::StrContains(device, "npu");
      });
  return watch::RecommendedSet(ascend);
}

bool JobImpl::OffersRecommended() const {
  if (IsEnded(run_.state)) return false;
  const std::vector<model::WatchpointSpec> set = RecommendedSet();
  return std::none_of(set.begin(), set.end(),
                      [&](const model::WatchpointSpec& spec) {
                        return watch::FindRecommended(watch_, spec) != 0;
                      });
}

Task<model::RecommendedSet> JobImpl::AddRecommended() {
  using Result = absl::StatusOr<model::RecommendedSet>;
  return StartOn<Result>(strand_, [self = shared_from_this()](
                                      std::function<void(Result)> complete) {
    self->DoAddRecommended(std::move(complete));
  });
}

void JobImpl::DoAddRecommended(
    std::function<void(absl::StatusOr<model::RecommendedSet>)> complete) {
  const bool was_offered = OffersRecommended();
  std::vector<uint32_t> ids;
  std::vector<uint32_t> made;
  for (const model::WatchpointSpec& spec : RecommendedSet()) {
    ids.push_back(watch::FindRecommended(watch_, spec));
    if (ids.back() != 0) continue;
    auto id = watch_.Add(spec);
    if (!id.ok()) return complete(id.status());
    ids.back() = *id;
    made.push_back(*id);
    SpreadWatchpoint(*id, [](const absl::StatusOr<model::Watchpoint>&) {});
  }
  // After all of them.
  WhenKept([this, ids, made, was_offered, complete = std::move(complete)] {
    model::RecommendedSet info;
    for (uint32_t id : ids) {
      // It may be removed by now.
      if (auto each = WatchpointNamed(id); each.ok()) {
        info.watchpoints.push_back(*std::move(each));
      }
    }
    info.made = made;
    if (was_offered && !ranks_.empty()) TellState(ranks_.begin()->first);
    complete(std::move(info));
  });
}

}  // namespace graphdbg::jobs
