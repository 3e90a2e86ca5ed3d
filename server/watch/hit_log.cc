#include "server/watch/hit_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"

namespace graphdbg::watch {
namespace {

constexpr uint32_t kMaxLimit = 1'000;

bool IsOrIsInScope(std::string_view name, std::string_view scope) {
  if (!name.starts_with(scope)) return false;
  return name.size() == scope.size() || name[scope.size()] == '/';
}

}  // namespace

model::Hit HitLog::Add(HitRecord record) {
  model::Hit& hit = record.hit;
  if (hit.id == 0) hit.id = Reserve();
  Count(record);
  ShareSource(record);
  model::Hit resolved = Resolve(record);
  if (Keeps(hit.id)) {
    by_execution_.insert({hit.step, hit.order, hit.rank, hit.id});
    by_node_[record.node].push_back(hit.id);
    hits_.push_back(std::move(record));
  }
  return resolved;
}

void HitLog::Count(const HitRecord& record) {
  ++total_;
  if (record.hit.absorbed) {
    ++absorbed_;
    return;
  }
  ++watchpoint_counts_[record.hit.watchpoint];
  ++counts_[{false, record.node}];
  for (graph::ScopeIndex s = graph_.node(record.node).scope;;
       s = graph_.scope(s).parent) {
    ++counts_[{true, s}];
    if (graph_.scope(s).parent == s) break;
  }
}

void HitLog::ShareSource(HitRecord& record) const {
  const model::SourceLine* source = record.hit.source
                                        ? record.hit.source.get()
                                        : graph_.SourceOf(record.node);
  if (source == nullptr) return;
  if (const auto it = by_node_.find(record.node); it != by_node_.end()) {
    const auto& earlier = hits_[it->second.back() - 1].hit.source;
    if (earlier && *earlier == *source) {
      record.hit.source = earlier;
      return;
    }
  }
  if (record.hit.source) return;
  record.hit.source = std::make_shared<const model::SourceLine>(*source);
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

HitLog::TensorHits HitLog::OnTensor(graph::NodeIndex node, uint32_t slot,
                                    size_t limit) const {
  TensorHits hits;
  const auto it = by_node_.find(node);
  if (it == by_node_.end()) return hits;
  for (auto id = it->second.rbegin(); id != it->second.rend(); ++id) {
    const HitRecord& record = hits_[*id - 1];
    if (record.hit.slot != slot) continue;
    ++hits.count;
    if (hits.newest.size() < limit) hits.newest.push_back(Resolve(record));
  }
  return hits;
}

absl::StatusOr<model::HitPage> HitLog::Query(
    const model::HitQuery& query, const IncidentOf& incident_of) const {
  auto at = by_execution_.begin();
  if (!query.cursor.empty()) {
    ASSIGN_OR_RETURN(const Key key, ParseCursor(query.cursor));
    at = by_execution_.lower_bound(key);
  } else if (query.step) {
    at = by_execution_.lower_bound(Key{*query.step, 0, 0, 0});
  }
  const uint32_t limit = std::clamp<uint32_t>(query.limit, 1, kMaxLimit);
  model::HitPage result;
  if (query.id) {
    if (*query.id == 0 || *query.id > hits_.size()) return result;
    const HitRecord& record = hits_[*query.id - 1];
    if (Matches(record, query)) result.hits.push_back(Resolve(record));
    return result;
  }
  for (; at != by_execution_.end(); ++at) {
    if (query.step && at->step > *query.step) break;
    const HitRecord& record = hits_[at->id - 1];
    if (!Matches(record, query)) continue;
    if (query.incident && incident_of(at->id) != *query.incident) continue;
    if (result.hits.size() == limit) {
      result.next_cursor =
          absl::StrCat(at->step, ".", at->order, ".", at->rank, ".", at->id);
      break;
    }
    result.hits.push_back(Resolve(record));
  }
  return result;
}

absl::StatusOr<model::Hit> HitLog::Get(uint64_t id) const {
  if (id == 0 || id > hits_.size()) {
    return Error(absl::StatusCode::kNotFound, "unknown_hit",
                 absl::StrCat("there is no hit ", id));
  }
  return Resolve(hits_[id - 1]);
}

std::vector<model::Hit> HitLog::Newest(size_t limit) const {
  std::vector<model::Hit> newest;
  for (size_t i = hits_.size() - std::min(limit, hits_.size());
       i < hits_.size(); ++i) {
    newest.push_back(Resolve(hits_[i]));
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
                           absl::StrCat("cursor \"", cursor,
                                        "\" does not come from this server")),
                     "cursor");
  }
  return Key{parts[0], parts[1], static_cast<uint32_t>(parts[2]), parts[3]};
}

bool HitLog::Matches(const HitRecord& record,
                     const model::HitQuery& query) const {
  const model::Hit& hit = record.hit;
  if (query.watchpoint && hit.watchpoint != *query.watchpoint) return false;
  if (query.rank && hit.rank != *query.rank) return false;
  if (query.step && hit.step != *query.step) return false;
  return query.node.empty() ||
         IsOrIsInScope(graph_.node(record.node).name, query.node);
}

model::Hit HitLog::Resolve(const HitRecord& record) const {
  const graph::Node& node = graph_.node(record.node);
  model::Hit hit = record.hit;
  hit.node = node.name;
  hit.op_type = node.op_type;
  return hit;
}

}  // namespace graphdbg::watch
