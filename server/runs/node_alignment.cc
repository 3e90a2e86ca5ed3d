#include "server/runs/node_alignment.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/runs/updates.h"

namespace graphdbg::recorded {
namespace {

// Of a gap that would take a larger table, nodes are aligned by their names
// alone: 64 MB.
constexpr size_t kMaxCells = 16 << 20;

// The kind of a node and its op type.
using Type = std::pair<model::NodeKind, std::string>;

struct Node {
  uint32_t id = 0;
  // Of the gradient of a parameter, that of the parameter: the order of
  // gradients is of no consequence.
  std::string name;
  // The name without the number that tells it from others with the same name.
  std::string stem;
  // What both of a pair must have in common unless they have the same name.
  Type type;
  std::vector<std::vector<int64_t>> shapes;
  std::string text;
  std::vector<Type> before;
  std::vector<Type> behind;
  // The names of the nodes that it reads.
  std::vector<std::string> reads;
  // The name is not its own, or not that of its own parameter, but a given one.
  bool renamed = false;

  // Of each fact a number, so that many pairs can be compared quickly.
  std::array<uint32_t, 8> codes = {};

  auto Facts() const { return std::tie(type, shapes, text, before, behind); }
};

// Places in the sequences of both sides.
using Pair = std::pair<size_t, size_t>;

Type TypeOf(const ComparedNode& node) { return {node.kind, node.op_type}; }

std::string StemOf(const std::string& name) {
  size_t end = name.size();
  while (end > 0 &&
         absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) {
    --end;
  }
  const bool numbered = end < name.size() && end > 0 && name[end - 1] == '_';
  return numbered ? name.substr(0, end - 1) : name;
}

using Rename = std::function<std::string(const std::string&)>;

// The nodes whose name no other one has, in order of execution; first those
// that are not executed. `given` are names that nodes of the other graph were
// given.
std::vector<Node> UniqueNodes(const ComparedNodes& nodes, const Rename& rename,
                              const absl::flat_hash_set<std::string>& given) {
  const Updates updates = FindUpdates(nodes);
  // The parameter by whose name a gradient is known; null for other nodes.
  const auto parameter_of = [&](uint32_t id, const ComparedNode& node) {
    const auto parameter = updates.parameter_of.find(id);
    const bool by_parameter =
        parameter != updates.parameter_of.end() &&
        updates.gradients_of.at(parameter->second).size() == 1 &&
        rename(node.name) == node.name && !given.contains(node.name);
    return by_parameter ? &nodes.at(parameter->second) : nullptr;
  };
  const auto name_of = [&](uint32_t id, const ComparedNode& node) {
    const ComparedNode* const parameter = parameter_of(id, node);
    // No node has a name with this character.
    return parameter == nullptr ? rename(node.name)
                                : rename(parameter->name) + '\0';
  };
  absl::flat_hash_map<uint32_t, std::vector<Type>> behind;
  absl::flat_hash_map<std::string, int> counts;
  std::vector<std::tuple<bool, uint64_t, uint64_t, uint32_t>> order;
  for (const auto& [id, node] : nodes) {
    const bool executed = node.order != 0;
    order.emplace_back(executed, executed ? node.first_step : 0, node.order,
                       id);
    ++counts[name_of(id, node)];
    for (const auto& input : node.inputs) {
      behind[input.node].push_back(TypeOf(node));
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<Node> found;
  for (const auto& place : order) {
    const uint32_t id = std::get<3>(place);
    const ComparedNode& node = nodes.at(id);
    std::string name = name_of(id, node);
    if (counts[name] > 1) continue;
    Node& copy = found.emplace_back();
    copy.id = id;
    copy.stem = StemOf(name);
    const ComparedNode* const parameter = parameter_of(id, node);
    const std::string& own = parameter == nullptr ? node.name : parameter->name;
    copy.renamed = rename(own) != own;
    copy.name = std::move(name);
    copy.type = TypeOf(node);
    for (const auto& each : node.outputs)
      copy.shapes.push_back(each.type.shape);
    copy.text = node.text;
    for (const auto& input : node.inputs) {
      const ComparedNode& producer = nodes.at(input.node);
      copy.before.push_back(TypeOf(producer));
      copy.reads.push_back(rename(producer.name));
    }
    copy.behind = std::move(behind[id]);
    std::sort(copy.before.begin(), copy.before.end());
    std::sort(copy.behind.begin(), copy.behind.end());
  }
  return found;
}

// The longest part of pairs, which ascend in the first place, that also ascends
// in the second one.
std::vector<Pair> Ascending(const std::vector<Pair>& pairs) {
  constexpr size_t kNone = SIZE_MAX;
  // For each length the second place and the index of its last pair.
  std::vector<size_t> ends;
  std::vector<size_t> last;
  std::vector<size_t> previous;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto end =
        std::lower_bound(ends.begin(), ends.end(), pairs[i].second);
    const auto length = static_cast<size_t>(end - ends.begin());
    previous.push_back(length > 0 ? last[length - 1] : kNone);
    if (end == ends.end()) {
      ends.push_back(pairs[i].second);
      last.push_back(i);
    } else {
      *end = pairs[i].second;
      last[length] = i;
    }
  }
  std::vector<Pair> chosen;
  for (size_t at = last.empty() ? kNone : last.back(); at != kNone;
       at = previous[at]) {
    chosen.push_back(pairs[at]);
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

// Names are numbered in order of execution, so that those of different ops may
// be equal by accident.
bool MayBeSame(const Node& node, const Node& namesake) {
  return (node.type == namesake.type && node.shapes == namesake.shapes) ||
         node.reads == namesake.reads;
}

enum Fact { kName, kStem, kType, kShapes, kText, kBefore, kBehind, kReads };

template <class T>
void NumberFact(std::vector<Node>& here, std::vector<Node>& there,
                T Node::*field, Fact fact) {
  std::map<T, uint32_t> numbers;
  for (std::vector<Node>* side : {&here, &there}) {
    for (Node& node : *side) {
      const auto next = static_cast<uint32_t>(numbers.size());
      node.codes[fact] = numbers.try_emplace(node.*field, next).first->second;
    }
  }
}

void NumberFacts(std::vector<Node>& here, std::vector<Node>& there) {
  NumberFact(here, there, &Node::name, kName);
  NumberFact(here, there, &Node::stem, kStem);
  NumberFact(here, there, &Node::type, kType);
  NumberFact(here, there, &Node::shapes, kShapes);
  NumberFact(here, there, &Node::text, kText);
  NumberFact(here, there, &Node::before, kBefore);
  NumberFact(here, there, &Node::behind, kBehind);
  NumberFact(here, there, &Node::reads, kReads);
}

int Score(const Node& a, const Node& b) {
  const auto same = [&](Fact fact) { return a.codes[fact] == b.codes[fact]; };
  const bool text = !a.text.empty() && same(kText);
  const bool has_around = !(a.before.empty() && a.behind.empty());
  const bool around = has_around && same(kBefore) && same(kBehind);
  const bool alike = same(kType) && same(kShapes);
  const bool is_namesake = same(kName) && (alike || same(kReads));
  if (!is_namesake && !(alike && (same(kStem) || text || around))) return 0;
  return 1 + same(kName) +
         2 * (same(kStem) + text + same(kBefore) + same(kBehind) +
              same(kShapes));
}

// The pairs with the largest sum of scores that keep the order of both sides.
void AddBest(const std::vector<Node>& here, const std::vector<Node>& there,
             const std::vector<size_t>& places,
             const std::vector<size_t>& others, std::vector<Pair>& pairs) {
  const size_t width = others.size() + 1;
  if (places.empty() || others.empty() ||
      (places.size() + 1) * width > kMaxCells) {
    return;
  }
  // The largest sum of what lies behind each place.
  std::vector<int32_t> sums((places.size() + 1) * width);
  std::vector<int8_t> scores((places.size() + 1) * width);
  for (size_t i = places.size(); i-- > 0;) {
    for (size_t j = others.size(); j-- > 0;) {
      const size_t at = i * width + j;
      const int score = Score(here[places[i]], there[others[j]]);
      scores[at] = static_cast<int8_t>(score);
      sums[at] = std::max(sums[at + width], sums[at + 1]);
      if (score > 0) {
        sums[at] = std::max(sums[at], score + sums[at + width + 1]);
      }
    }
  }
  for (size_t i = 0, j = 0; i < places.size() && j < others.size();) {
    const size_t at = i * width + j;
    if (scores[at] > 0 && sums[at] == scores[at] + sums[at + width + 1]) {
      pairs.emplace_back(places[i++], others[j++]);
    } else if (sums[at] == sums[at + width]) {
      ++i;
    } else {
      ++j;
    }
  }
}

std::vector<Pair> Align(const std::vector<Node>& here,
                        const std::vector<Node>& there) {
  absl::flat_hash_map<std::string, size_t> place_of;
  for (size_t j = 0; j < there.size(); ++j) place_of[there[j].name] = j;
  std::vector<Pair> pairs;
  std::vector<bool> paired(here.size());
  std::vector<bool> taken(there.size());
  for (size_t i = 0; i < here.size(); ++i) {
    const auto other = place_of.find(here[i].name);
    if (other == place_of.end()) continue;
    if (!here[i].renamed && here[i].Facts() != there[other->second].Facts()) {
      continue;
    }
    pairs.emplace_back(i, other->second);
    paired[i] = taken[other->second] = true;
  }
  std::vector<Pair> anchors = Ascending(pairs);
  anchors.emplace_back(here.size(), there.size());
  size_t i = 0;
  size_t j = 0;
  for (const auto& [end, other_end] : anchors) {
    std::vector<size_t> places;
    std::vector<size_t> others;
    for (; i < end; ++i) {
      if (!paired[i]) places.push_back(i);
    }
    for (; j < other_end; ++j) {
      if (!taken[j]) others.push_back(j);
    }
    AddBest(here, there, places, others, pairs);
    i = end + 1;
    j = other_end + 1;
  }
  for (const auto& [place, other] : pairs) paired[place] = taken[other] = true;
  for (size_t place = 0; place < here.size(); ++place) {
    const auto other = place_of.find(here[place].name);
    if (paired[place] || other == place_of.end() || taken[other->second] ||
        !MayBeSame(here[place], there[other->second])) {
      continue;
    }
    pairs.emplace_back(place, other->second);
  }
  return pairs;
}

// The shortest ends of scopes in which names differ, in order of the names
// here.
class Renamings {
 public:
  void Add(const std::string& from, const std::string& to) {
    if (from == to) return;
    std::vector<std::string> before = absl::StrSplit(from, '/');
    std::vector<std::string> behind = absl::StrSplit(to, '/');
    while (before.size() > 1 && behind.size() > 1 &&
           before.back() == behind.back()) {
      before.pop_back();
      behind.pop_back();
    }
    ++counts_[{absl::StrJoin(before, "/"), absl::StrJoin(behind, "/")}];
  }
  std::vector<model::InferredRenaming> List() const {
    std::vector<model::InferredRenaming> list;
    for (const auto& [names, nodes] : counts_) {
      list.push_back({names.first, names.second, nodes});
    }
    return list;
  }

 private:
  std::map<std::pair<std::string, std::string>, uint64_t> counts_;
};

}  // namespace

NodeAlignment AlignNodes(const ComparedNodes& here, const ComparedNodes& there,
                         const Rename& name_there) {
  absl::flat_hash_set<std::string> given;
  for (const auto& [id, node] : here) {
    std::string name = name_there(node.name);
    if (name != node.name) given.insert(std::move(name));
  }
  std::vector<Node> ours = UniqueNodes(here, name_there, {});
  std::vector<Node> theirs = UniqueNodes(
      there, [](const std::string& name) { return name; }, given);
  NumberFacts(ours, theirs);
  absl::flat_hash_set<std::string> taken;
  for (const Node& node : ours) taken.insert(name_there(here.at(node.id).name));
  absl::flat_hash_map<uint32_t, uint32_t> partner_of;
  for (const auto& [i, j] : Align(ours, theirs)) {
    partner_of[theirs[j].id] = ours[i].id;
  }
  NodeAlignment alignment;
  Renamings renamings;
  for (const Node& node : theirs) {
    const std::string& name = there.at(node.id).name;
    const auto partner = partner_of.find(node.id);
    // Without an entry, nodes are the same if their names are.
    if (partner == partner_of.end()) {
      if (taken.contains(name)) alignment.here_of[node.id] = std::nullopt;
      continue;
    }
    const std::string& own = here.at(partner->second).name;
    if (name_there(own) == name) continue;
    alignment.here_of[node.id] = partner->second;
    renamings.Add(own, name);
  }
  alignment.renamings = renamings.List();
  return alignment;
}

}  // namespace graphdbg::recorded
