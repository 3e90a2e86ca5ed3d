#include "server/runs/compared_side.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::recorded {
namespace {

using model::DivergenceMethod;
using runs::Kind;
using runs::Record;

}  // namespace

std::string NameOf(const ComparedRank& rank, uint32_t node) {
  const auto found = rank.nodes.find(node);
  return found == rank.nodes.end() ? absl::StrCat("#", node)
                                   : found->second.name;
}

std::string Renamed(const std::string& name,
                    const std::vector<model::Renaming>& renamings) {
  const model::Renaming* longest = nullptr;
  for (const model::Renaming& each : renamings) {
    const bool fits =
        name == each.from || absl::StartsWith(name, each.from + "/");
    if (fits &&
        (longest == nullptr || each.from.size() > longest->from.size())) {
      longest = &each;
    }
  }
  if (longest == nullptr) return name;
  return longest->to + name.substr(longest->from.size());
}

SharedNames::SharedNames(const ComparedRank& here, const ComparedRank& there,
                         const std::vector<model::Renaming>& renamings)
    : here_(here),
      there_(there),
      renamings_(renamings),
      alignment_(AlignNodes(here.nodes, there.nodes,
                            [&renamings](const std::string& name) {
                              return Renamed(name, renamings);
                            })) {}

std::string SharedNames::OfHere(uint32_t node) const {
  return Renamed(NameOf(here_, node), renamings_);
}

std::string SharedNames::OfThere(uint32_t node) const {
  const auto found = alignment_.here_of.find(node);
  if (found == alignment_.here_of.end()) return NameOf(there_, node);
  if (found->second) return OfHere(*found->second);
  // No node has a name with this character.
  return absl::StrCat(std::string(1, '\0'), node);
}

std::vector<std::pair<uint32_t, uint32_t>> SharedNames::Pairs() const {
  absl::flat_hash_map<std::string, uint32_t> here;
  for (const auto& [id, node] : here_.nodes) {
    // Of nodes that were given the same name, the last one.
    uint32_t& named = here[OfHere(id)];
    named = std::max(named, id);
  }
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const auto& [id, node] : there_.nodes) {
    const auto partner = here.find(OfThere(id));
    if (partner != here.end()) pairs.emplace_back(partner->second, id);
  }
  return pairs;
}

void ComparedSide::Read(uint64_t step, std::span<const StepEntry> entries,
                        DivergenceMethod method) {
  records_ = ReadRecords(rank_.log, entries);
  const Kind kind =
      method == DivergenceMethod::kDigest ? Kind::kChange : Kind::kStatistics;
  std::erase_if(records_, [step, kind](const Record& record) {
    return record.known_kind() != kind || record.step != step ||
           (kind == Kind::kChange && record.change.digest == 0);
  });
  // 0 - 1 is the largest number: records without a place come last.
  std::stable_sort(records_.begin(), records_.end(),
                   [](const Record& a, const Record& b) {
                     return a.exec_order - 1 < b.exec_order - 1;
                   });
  executions_.clear();
  for (const Record& record : records_) {
    executions_.push_back({TensorOf(NumberOf(record.node), record.slot),
                           record.iteration, record.pass, record.mode, 0});
  }
}

void ComparedSide::NumberOccurrences() {
  absl::flat_hash_map<Execution, uint32_t> counts;
  for (Execution& each : executions_) {
    each.occurrence = 0;
    each.occurrence = counts[each]++;
  }
}

void ComparedSide::AddSeen() {
  for (size_t i = 0; i < records_.size(); ++i) {
    seen_.try_emplace(TensorOf(records_[i].node, records_[i].slot),
                      executions_[i].tensor);
  }
}

std::string ComparedSide::NodeName(uint32_t node) const {
  return NameOf(rank_, node);
}

std::string ComparedSide::TensorName(uint64_t own) const {
  return absl::StrCat(NodeName(static_cast<uint32_t>(own >> 16)), ":",
                      own & 0xffff);
}

const ComparedNode* ComparedSide::FindNode(uint32_t node) const {
  const auto found = rank_.nodes.find(node);
  return found == rank_.nodes.end() ? nullptr : &found->second;
}

uint32_t ComparedSide::NumberOf(uint32_t node) {
  const auto [known, is_new] = number_of_.try_emplace(node, 0);
  if (is_new) {
    known->second =
        numbers_
            .try_emplace(name_of_(node), static_cast<uint32_t>(numbers_.size()))
            .first->second;
  }
  return known->second;
}

std::vector<Matched> Match(ComparedSide& here, ComparedSide& there) {
  std::vector<Matched> matched;
  // Most steps have the same executions in the same order on both sides.
  if (here.executions() == there.executions()) {
    for (size_t i = 0; i < here.records().size(); ++i) {
      matched.push_back({&here.records()[i], &there.records()[i], i});
    }
    return matched;
  }
  here.NumberOccurrences();
  there.NumberOccurrences();
  absl::flat_hash_map<Execution, size_t> places;
  for (size_t i = 0; i < there.executions().size(); ++i) {
    places[there.executions()[i]] = i;
  }
  for (size_t i = 0; i < here.records().size(); ++i) {
    const auto place = places.find(here.executions()[i]);
    if (place == places.end()) continue;
    matched.push_back({&here.records()[i], &there.records()[place->second], i});
  }
  return matched;
}

}  // namespace graphdbg::recorded
