#include "agent/adapters/pytorch/cpp/models.h"

#include <c10/util/Type.h>

#include <algorithm>

namespace graphdbg::cpp {
namespace {

const void* AddressOf(const torch::nn::Module& module) {
  return dynamic_cast<const void*>(&module);
}

std::string WithSlashes(std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

}  // namespace

std::string ClassName(const std::type_info& type) {
  std::string name = c10::demangle(type.name());
  name = name.substr(0, name.find('<'));
  const size_t colon = name.rfind(':');
  if (colon != std::string::npos) name = name.substr(colon + 1);
  constexpr size_t kImpl = 4;
  if (name.size() > kImpl && name.substr(name.size() - kImpl) == "Impl") {
    name.resize(name.size() - kImpl);
  }
  return name;
}

const Models::Known* Models::Find(const torch::nn::Module& module) const {
  const auto found = known_.find(AddressOf(module));
  if (found == known_.end()) return nullptr;
  const Known& known = found->second;
  return known.owned && known.module.expired() ? nullptr : &known;
}

std::string Models::UniquePath(const torch::nn::Module& module) const {
  // The model has parameters, unlike a loss, which may be called first.
  const bool first = paths_.count("") == 0 && !module.parameters().empty();
  const std::string base = first ? "" : ClassName(typeid(module));
  std::string path = base;
  for (int number = 1; paths_.count(path) > 0; ++number) {
    path = base + '_' + std::to_string(number);
  }
  return path;
}

void Models::Add(const torch::nn::Module& module) {
  MutexLock lock(&mu_);
  const Known* const known = Find(module);
  const std::string path = known == nullptr ? UniquePath(module) : "";
  if (known == nullptr) {
    const bool now = !module.parameters().empty();
    Register(module, path, now);
    const std::string prefix = path.empty() ? path : path + '/';
    for (const auto& child : module.named_modules("", /*include_self=*/false)) {
      if (Find(*child.value()) != nullptr) continue;
      Register(*child.value(), prefix + WithSlashes(child.key()), now);
    }
  }
}

void Models::Register(const torch::nn::Module& module, const std::string& path,
                      bool now) {
  paths_.insert(path);
  const uint32_t scope = adapter_->declare_scope(
      path.c_str(), ClassName(typeid(module)).c_str(), now ? 1 : 0);
  if (path.empty()) root_ = scope;
  const std::weak_ptr<const torch::nn::Module> weak = module.weak_from_this();
  known_[AddressOf(module)] = {weak, !weak.expired(), scope};
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
    adapter_->bind_tensor(scope, parameter.key().c_str(), GRAPHDBG_PARAMETER,
                          parameter.value().unsafeGetTensorImpl());
  }
  for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
    adapter_->bind_tensor(scope, buffer.key().c_str(), GRAPHDBG_BUFFER,
                          buffer.value().unsafeGetTensorImpl());
  }
}

uint32_t Models::ScopeOf(const torch::nn::Module& module) {
  {
    MutexLock lock(&mu_);
    const Known* const known = Find(module);
    if (known != nullptr) return known->scope;
  }
  Add(module);
  MutexLock lock(&mu_);
  return Find(module)->scope;
}

}  // namespace graphdbg::cpp
