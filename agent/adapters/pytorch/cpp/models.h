#ifndef AGENT_ADAPTERS_PYTORCH_CPP_MODELS_H_
#define AGENT_ADAPTERS_PYTORCH_CPP_MODELS_H_

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "agent/adapters/pytorch/hooks_api.h"
#include "agent/base/mutex.h"

namespace graphdbg::cpp {

// The program's modules and their scopes.
//
// The first module with parameters that is added is the model; its path is
// empty. Other top-level modules are named after their class. Thread-safe.
class Models {
 public:
  explicit Models(const graphdbg_torch_adapter* adapter) : adapter_(adapter) {}

  // Assigns scopes to a module and its submodules, unless they have them.
  void Add(const torch::nn::Module& module);

  // The scope of a module. Adds the module if necessary.
  uint32_t ScopeOf(const torch::nn::Module& module);
  // The model's scope.
  uint32_t root() const {
    MutexLock lock(&mu_);
    return root_;
  }

 private:
  struct Known {
    // Empty for a module without an owning shared pointer, which is identified
    // by its address alone.
    std::weak_ptr<const torch::nn::Module> module;
    bool owned;
    uint32_t scope;
  };

  const Known* Find(const torch::nn::Module& module) const
      GRAPHDBG_REQUIRES(mu_);
  void Register(const torch::nn::Module& module, const std::string& path,
                bool now) GRAPHDBG_REQUIRES(mu_);
  std::string UniquePath(const torch::nn::Module& module) const
      GRAPHDBG_REQUIRES(mu_);

  const graphdbg_torch_adapter* const adapter_;
  mutable Mutex mu_;
  // By the address of the complete object.
  std::unordered_map<const void*, Known> known_ GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_set<std::string> paths_ GRAPHDBG_GUARDED_BY(mu_);
  uint32_t root_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

// "Linear" for torch::nn::LinearImpl, "SGD" for torch::optim::SGD.
std::string ClassName(const std::type_info& type);

}  // namespace graphdbg::cpp

#endif  // AGENT_ADAPTERS_PYTORCH_CPP_MODELS_H_
