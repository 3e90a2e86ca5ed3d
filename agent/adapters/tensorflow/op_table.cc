#include "agent/adapters/tensorflow/op_table.h"

#include <cstdlib>
#include <utility>

namespace graphdbg::tensorflow {

void OpTable::Add(const std::string& function, const std::string& op,
                  OpEntry entry) {
  MutexLock lock(&mu_);
  std::shared_ptr<Function>& ops = functions_[function];
  if (ops == nullptr) ops = std::make_shared<Function>();
  std::unique_ptr<OpEntry>& known = (*ops)[op];
  // Kernels refer to entries.
  if (known != nullptr) return;
  known = std::make_unique<OpEntry>(std::move(entry));
  by_name_[op] = known.get();
  version_.fetch_add(1, std::memory_order_release);
}

void OpTable::AddCopy(const std::string& function, const std::string& copy) {
  MutexLock lock(&mu_);
  const auto it = functions_.find(function);
  if (it == functions_.end()) return;
  const std::shared_ptr<Function> ops = it->second;
  functions_[copy] = ops;
  version_.fetch_add(1, std::memory_order_release);
}

const OpEntry* OpTable::Find(const ::tensorflow::NodeDef& node) const {
  MutexLock lock(&mu_);
  const auto& info = node.experimental_debug_info();
  if (info.original_func_names_size() == 0 ||
      info.original_node_names_size() == 0) {
    return FindByName(node.name());
  }
  const auto function = functions_.find(info.original_func_names(0));
  if (function == functions_.end()) return nullptr;
  const auto op = function->second->find(info.original_node_names(0));
  return op == function->second->end() ? nullptr : op->second.get();
}

const OpEntry* OpTable::FindByName(const std::string& name) const {
  size_t start = 0;
  while (true) {
    const auto op = by_name_.find(start == 0 ? name : name.substr(start));
    if (op != by_name_.end()) return op->second;
    start = name.find('/', start);
    if (start == std::string::npos) return nullptr;
    ++start;
  }
}

Producer OpTable::FindProducer(const ::tensorflow::NodeDef& node,
                               const std::string& input) const {
  if (input.empty() || input[0] == '^') return {};
  const size_t colon = input.rfind(':');
  const std::string name = input.substr(0, colon);
  const size_t slot =
      colon == std::string::npos
          ? 0
          : std::strtoul(input.c_str() + colon + 1, nullptr, 10);
  const auto& info = node.experimental_debug_info();
  MutexLock lock(&mu_);
  const OpEntry* entry = nullptr;
  // Names are unique only in a function. An input from the same function has
  // the same calls before its name.
  if (info.original_func_names_size() > 0 &&
      info.original_node_names_size() > 0) {
    const std::string& own = info.original_node_names(0);
    const std::string& full = node.name();
    const auto function = functions_.find(info.original_func_names(0));
    if (function != functions_.end() && full.size() >= own.size()) {
      const size_t calls = full.size() - own.size();
      if (name.compare(0, calls, full, 0, calls) == 0) {
        const auto op = function->second->find(name.substr(calls));
        if (op != function->second->end()) entry = op->second.get();
      }
    }
  }
  if (entry == nullptr) entry = FindByName(name);
  if (entry == nullptr || slot >= entry->outputs.size()) return {};
  return entry->outputs[slot];
}

}  // namespace graphdbg::tensorflow
