#include "server/watch/hit_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

constexpr uint32_t kMaxLimit = 1'000;

bool IsOrLiesIn(std::string_view name, std::string_view wanted) {
  if (!name.starts_with(wanted)) return false;
  return name.size() == wanted.size() || name[wanted.size()] == '/';
}

}  // namespace

model::Hit HitLog::Add(HitRecord record) {
  if (record.id == 0) record.id = Reserve();
  ++total_;
  ++watchpoint_counts_[record.watchpoint];
  ++counts_[{false, record.node}];
  for (graph::ScopeIndex s = graph_.node(record.node).scope;;
       s = graph_.scope(s).parent) {
    ++counts_[{true, s}];
    if (graph_.scope(s).parent == s) break;
  }
  if (!record.source) {
    const model::SourceLine* source = graph_.SourceOf(record.node);
    if (source != nullptr) record.source = *source;
  }
  model::Hit info = Render(record);
  if (Keeps(record.id)) {
    by_execution_.insert({record.step, record.order, record.rank, record.id});
    by_node_[record.node].push_back(record.id);
    hits_.push_back(std::move(record));
  }
  return info;
}

void HitLog::RestoreTotal(uint64_t total) {
  reserved_ = std::max(reserved_, total);
  total_ = std::max(total_, total);
}

uint64_t HitLog::CountOf(graph::Child child) const {
  auto it = counts_.find(child);
  return it == counts_.end() ? 0 : it->second;
}

uint64_t HitLog::CountOfWatchpoint(uint32_t id) const {
  auto it = watchpoint_counts_.find(id);
  return it == watchpoint_counts_.end() ? 0 : it->second;
}

HitLog::OfTensor HitLog::Of(graph::NodeIndex node, uint32_t slot,
                            size_t limit) const {
  OfTensor of;
  const auto it = by_node_.find(node);
  if (it == by_node_.end()) return of;
  for (auto id = it->second.rbegin(); id != it->second.rend(); ++id) {
    const HitRecord& hit = hits_[*id - 1];
    if (hit.slot != slot) continue;
    ++of.count;
    if (of.newest.size() < limit) of.newest.push_back(Render(hit));
  }
  return of;
}

absl::StatusOr<model::HitPage> HitLog::Query(
    const model::HitQuery& query) const {
  auto at = by_execution_.begin();
  if (!query.cursor.empty()) {
    auto key = ParseCursor(query.cursor);
    if (!key.ok()) return key.status();
    at = by_execution_.lower_bound(*key);
  } else if (query.step) {
    at = by_execution_.lower_bound(Key{*query.step, 0, 0, 0});
  }
  const uint32_t limit = std::clamp<uint32_t>(query.limit, 1, kMaxLimit);
  model::HitPage result;
  for (; at != by_execution_.end(); ++at) {
    if (query.step && at->step > *query.step) break;
    const HitRecord& hit = hits_[at->id - 1];
    if (!Matches(hit, query)) continue;
    if (result.hits.size() == limit) {
      result.next_cursor =
          absl::StrCat(at->step, ".", at->order, ".", at->rank, ".", at->id);
      break;
    }
    result.hits.push_back(Render(hit));
  }
  return result;
}

std::vector<model::Hit> HitLog::Newest(size_t limit) const {
  std::vector<model::Hit> newest;
  for (size_t i = hits_.size() - std::min(limit, hits_.size());
       i < hits_.size(); ++i) {
    newest.push_back(Render(hits_[i]));
  }
  return newest;
}

absl::StatusOr<HitLog::Key> HitLog::ParseCursor(const std::string& cursor) {
  std::array<uint64_t, 4> parts{};
  const char* at = cursor.data();
  const char* const end = at + cursor.size();
  bool good = true;
  for (size_t i = 0; i < parts.size() && good; ++i) {
    auto [stop, error] = std::from_chars(at, end, parts[i]);
    good = error == std::errc();
    at = stop;
    if (good && i + 1 < parts.size()) good = at != end && *at++ == '.';
  }
  if (!good || at != end) {
    return WithField(Error(absl::StatusCode::kInvalidArgument, "invalid_cursor",
                           absl::StrCat("cursor \"", cursor, "\" is not ours")),
                     "cursor");
  }
  return Key{parts[0], parts[1], static_cast<uint32_t>(parts[2]), parts[3]};
}

bool HitLog::Matches(const HitRecord& hit, const model::HitQuery& query) const {
  if (query.watchpoint && hit.watchpoint != *query.watchpoint) return false;
  if (query.rank && hit.rank != *query.rank) return false;
  if (query.step && hit.step != *query.step) return false;
  return query.node.empty() ||
         IsOrLiesIn(graph_.node(hit.node).name, query.node);
}

model::Hit HitLog::Render(const HitRecord& hit) const {
  const graph::Node& node = graph_.node(hit.node);
  model::Hit info;
  info.id = hit.id;
  info.watchpoint = hit.watchpoint;
  info.rank = hit.rank;
  info.step = hit.step;
  info.node = node.name;
  info.slot = hit.slot;
  info.op_type = node.op_type;
  info.order = hit.order;
  info.condition = *hit.condition;
  info.actual = hit.actual;
  info.statistics = hit.statistics;
  info.type = hit.type;
  info.origin = hit.origin;
  info.source = hit.source;
  info.error = hit.error;
  info.time_unix_nano = hit.time_unix_nano;
  return info;
}

}  // namespace graphdbg::watch
