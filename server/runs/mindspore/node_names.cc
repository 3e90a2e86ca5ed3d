#include "server/runs/mindspore/node_names.h"

#include <set>

namespace graphdbg::dumps {
namespace {

constexpr size_t kMaxSameName = 1'000;
// The scope of constants, which their files omit.
constexpr char kTopScope[] = "Default_";

}  // namespace

void NodeNames::Add(uint32_t id, uint32_t graph, const std::string& full_name,
                    const std::string& op_type) {
  const std::string last =
      NormalName(full_name.substr(full_name.rfind('/') + 1));
  std::set<std::string> names = {NormalName(full_name), last};
  if (last.starts_with(kTopScope)) {
    names.insert(last.substr(sizeof kTopScope - 1));
  }
  for (const std::string& name : names) {
    std::vector<Entry>& entries = entries_[name];
    if (entries.size() < kMaxSameName) entries.push_back({id, graph, op_type});
  }
}

uint32_t NodeNames::Find(const DumpName& name, uint32_t graph) const {
  const auto found = entries_.find(NormalName(name.op_name));
  if (found == entries_.end()) return 0;
  uint32_t best = 0;
  int best_fit = -1;
  for (const Entry& entry : found->second) {
    const int fit = (entry.graph == graph ? 2 : 0) +
                    (entry.op_type == name.op_type ? 1 : 0);
    if (fit <= best_fit) continue;
    best = entry.id;
    best_fit = fit;
  }
  return best;
}

}  // namespace graphdbg::dumps
