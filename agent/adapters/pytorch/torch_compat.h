#ifndef AGENT_ADAPTERS_PYTORCH_TORCH_COMPAT_H_
#define AGENT_ADAPTERS_PYTORCH_TORCH_COMPAT_H_

// Differences between the versions of PyTorch that the adapter supports (1.13
// to the newest). The rest of the adapter checks for features instead of
// versions.

#include <torch/version.h>

#define GRAPHDBG_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= (major)*100 + (minor))

// torch::autograd::get_current_node.
#define GRAPHDBG_TORCH_HAS_CURRENT_NODE GRAPHDBG_TORCH_SINCE(2, 0)

// torch.uint16, torch.uint32 and torch.uint64.
#define GRAPHDBG_TORCH_HAS_WIDE_UNSIGNED GRAPHDBG_TORCH_SINCE(2, 3)

// at::autocast::get_autocast_dtype.
#define GRAPHDBG_TORCH_HAS_AUTOCAST_OF_DEVICE GRAPHDBG_TORCH_SINCE(2, 4)

#endif  // AGENT_ADAPTERS_PYTORCH_TORCH_COMPAT_H_
