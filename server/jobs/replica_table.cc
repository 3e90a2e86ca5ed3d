#include "server/jobs/replica_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphdbg::jobs {
namespace {

// Ranks that a message names.
constexpr size_t kMaxNamed = 8;

using Ranks = std::vector<uint32_t>;

// "rank 2", "ranks 0, 1 and 3", "ranks 0, 1, 2 and 5 others".
std::string TextOf(const Ranks& ranks) {
  if (ranks.size() == 1) return absl::StrCat("rank ", ranks[0]);
  const bool all = ranks.size() <= kMaxNamed;
  const size_t listed = all ? ranks.size() - 1 : kMaxNamed;
  return absl::StrCat(
      "ranks ", absl::StrJoin(ranks.begin(), ranks.begin() + listed, ", "),
      " and ",
      all ? absl::StrCat(ranks.back())
          : absl::StrCat(ranks.size() - listed, " others"));
}

std::string AndOthers(const std::string& name, size_t others) {
  if (others == 0) return name;
  return absl::StrCat(name, " and ", others,
                      others == 1 ? " other parameter" : " other parameters");
}

// The ranks that have each value, those of the most frequent one first.
std::vector<Ranks> Classes(const std::map<uint64_t, Ranks>& by_digest) {
  std::vector<Ranks> classes;
  for (const auto& [digest, ranks] : by_digest) classes.push_back(ranks);
  std::sort(classes.begin(), classes.end(), [](const Ranks& a, const Ranks& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  return classes;
}

// The ranks that agree with each other, if they are more than half of all.
std::optional<Ranks> Majority(const std::vector<Ranks>& classes) {
  size_t all = 0;
  for (const Ranks& ranks : classes) all += ranks.size();
  if (2 * classes[0].size() <= all) return std::nullopt;
  return classes[0];
}

std::string MessageOf(uint32_t rank, const std::vector<Ranks>& classes,
                      const std::string& tensors) {
  if (const auto majority = Majority(classes)) {
    return absl::StrCat("rank ", rank, " differs from ", TextOf(*majority),
                        " in ", tensors);
  }
  // In the order of ranks.
  std::vector<Ranks> ordered = classes;
  std::sort(ordered.begin(), ordered.end());
  const bool single = std::all_of(ordered.begin(), ordered.end(),
                                  [](const Ranks& r) { return r.size() == 1; });
  if (single) {
    Ranks all;
    for (const Ranks& ranks : ordered) all.push_back(ranks[0]);
    return absl::StrCat(TextOf(all), " differ from each other in ", tensors);
  }
  return absl::StrCat(absl::StrJoin(ordered, " and ",
                                    [](std::string* out, const Ranks& ranks) {
                                      absl::StrAppend(out, TextOf(ranks));
                                    }),
                      " differ in ", tensors);
}

}  // namespace

std::vector<ReplicaTable::Difference> ReplicaTable::Add(
    const Rank& rank, const ReplicaReport& report) {
  if (groups_.size() >= kMaxGroups && !groups_.contains(report.group)) {
    return {};
  }
  Group& group = groups_[report.group];
  const uint32_t number = rank.hello.rank;
  if (const auto newest = group.newest.find(number);
      newest != group.newest.end() && report.moment <= newest->second) {
    while (!group.moments.empty()) Drop(group, group.moments.begin());
    group = Group();
  }
  group.newest[number] = report.moment;

  Report& added = group.moments[report.moment][number];
  added.step = report.step;
  for (const ReplicaReport::Replica& replica : report.replicas) {
    const graph::NodeIndex node = rank.ids.Find(replica.node_id);
    if (node == graph::kNoNode) continue;
    added.replicas.push_back({node, replica.node_id, replica.digest});
  }
  std::sort(added.replicas.begin(), added.replicas.end(),
            [](const Replica& a, const Replica& b) { return a.node < b.node; });
  digests_ += added.replicas.size();

  std::vector<Difference> found;
  const auto moment = group.moments.find(report.moment);
  if (moment->second.size() >= report.group_size) {
    found = Compare(moment->second, group);
    // Ranks report in order: what is earlier will not be completed.
    const auto end = std::next(moment);
    while (group.moments.begin() != end) Drop(group, group.moments.begin());
  }
  MakeRoom(group);
  return found;
}

void ReplicaTable::Drop(Group& group,
                        std::map<uint64_t, Moment>::iterator moment) {
  for (const auto& [rank, report] : moment->second) {
    digests_ -= report.replicas.size();
  }
  group.moments.erase(moment);
}

void ReplicaTable::MakeRoom(Group& group) {
  while (group.moments.size() > kMaxMoments ||
         (digests_ > kMaxDigests && !group.moments.empty())) {
    Drop(group, group.moments.begin());
  }
}

const ReplicaTable::Replica* ReplicaTable::Find(const Report& report,
                                                graph::NodeIndex node) {
  const auto it = std::lower_bound(
      report.replicas.begin(), report.replicas.end(), node,
      [](const Replica& r, graph::NodeIndex n) { return r.node < n; });
  return it != report.replicas.end() && it->node == node ? &*it : nullptr;
}

bool ReplicaTable::AllEqual(const Moment& moment) {
  const std::vector<Replica>& first = moment.begin()->second.replicas;
  return std::all_of(moment.begin(), moment.end(), [&](const auto& entry) {
    const std::vector<Replica>& other = entry.second.replicas;
    return std::equal(first.begin(), first.end(), other.begin(), other.end(),
                      [](const Replica& a, const Replica& b) {
                        return a.node == b.node && a.digest == b.digest;
                      });
  });
}

std::map<uint64_t, Ranks> ReplicaTable::RanksByDigest(const Moment& moment,
                                                      graph::NodeIndex node) {
  std::map<uint64_t, Ranks> ranks;
  for (const auto& [rank, report] : moment) {
    const Replica* const replica = Find(report, node);
    if (replica == nullptr) return {};
    ranks[replica->digest].push_back(rank);
  }
  return ranks;
}

std::vector<ReplicaTable::Difference> ReplicaTable::Compare(
    const Moment& moment, Group& group) const {
  struct Parting {
    // The first tensor that has not been found before, and who has which value.
    graph::NodeIndex first = graph::kNoNode;
    std::vector<Ranks> classes;
    size_t tensors = 0;
  };
  const auto before = std::exchange(group.differing, {});
  if (AllEqual(moment)) return {};
  std::map<uint32_t, Parting> parting;
  for (const Replica& replica : moment.begin()->second.replicas) {
    const auto by_digest = RanksByDigest(moment, replica.node);
    if (by_digest.size() < 2) continue;
    const auto known = before.find(replica.node);
    const std::vector<Ranks> classes = Classes(by_digest);
    for (size_t i = Majority(classes) ? 1 : 0; i < classes.size(); ++i) {
      for (const uint32_t rank : classes[i]) {
        Parting& here = parting[rank];
        ++here.tensors;
        group.differing[replica.node].insert(rank);
        const bool is_new =
            known == before.end() || !known->second.contains(rank);
        if (!is_new || here.first != graph::kNoNode) continue;
        here.first = replica.node;
        here.classes = classes;
      }
    }
  }
  std::vector<Difference> found;
  for (const auto& [rank, here] : parting) {
    if (here.first == graph::kNoNode) continue;
    const Report& report = moment.at(rank);
    const std::string tensors =
        AndOthers(graph_.node(here.first).name, here.tensors - 1);
    found.push_back({rank, report.step, Find(report, here.first)->node_id,
                     MessageOf(rank, here.classes, tensors)});
  }
  return found;
}

}  // namespace graphdbg::jobs
