#ifndef AGENT_ADAPTERS_PYTORCH_CPP_MODELS_H_
#define AGENT_ADAPTERS_PYTORCH_CPP_MODELS_H_

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "agent/adapters/pytorch/hooks_api.h"

namespace graphdbg::cpp {

// The modules that the program has shown so far, and their scopes.
//
// The first that is shown with parameters is the model; its path is empty.
// Others are named by their class. Any thread.
class Models {
 public:
  explicit Models(const graphdbg_torch_adapter* adapter) : adapter_(adapter) {}

  // Gives a module and those inside it their scopes, unless they have them.
  void Show(const torch::nn::Module& module);

  // The scope of a module that is called, which is shown now if it was not.
  uint32_t ScopeOf(const torch::nn::Module& module);
  // The model's scope.
  uint32_t root() const { return root_; }

 private:
  struct Known {
    // Empty for a module that no shared pointer owns: its address is all that
    // tells it from others.
    std::weak_ptr<const torch::nn::Module> module;
    bool owned;
    uint32_t scope;
  };

  const Known* Find(const torch::nn::Module& module) const;
  void Register(const torch::nn::Module& module, const std::string& path,
                bool now);
  std::string FreePath(const torch::nn::Module& module);

  const graphdbg_torch_adapter* const adapter_;
  std::mutex mu_;
  // By the address of the complete object.
  std::unordered_map<const void*, Known> known_;
  std::unordered_set<std::string> paths_;
  uint32_t root_ = 0;
};

// "Linear" for torch::nn::LinearImpl, "SGD" for torch::optim::SGD.
std::string ClassName(const std::type_info& type);

}  // namespace graphdbg::cpp

#endif  // AGENT_ADAPTERS_PYTORCH_CPP_MODELS_H_
