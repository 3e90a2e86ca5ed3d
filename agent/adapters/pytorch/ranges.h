#ifndef AGENT_ADAPTERS_PYTORCH_RANGES_H_
#define AGENT_ADAPTERS_PYTORCH_RANGES_H_

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_follower.h"

namespace graphdbg::pytorch {

// Follows the ranges that PyTorch itself marks: the calls of optimizers, the
// loading of data, and the first backward pass. Costs nothing in between.
//
// Once per process; all must outlive it.
void FollowRanges(OpFollower* follower, CaptureEngine* engine);

// The first backward pass is not looked for any more.
void FirstBackwardSeen();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_RANGES_H_
