#ifndef AGENT_ADAPTERS_PYTORCH_RANGES_H_
#define AGENT_ADAPTERS_PYTORCH_RANGES_H_

#include <cstdint>
#include <string_view>

#include "agent/adapters/pytorch/capture_engine.h"
#include "agent/adapters/pytorch/op_tracer.h"

namespace graphdbg::pytorch {

// Ranges that PyTorch itself marks: calls of optimizers and loading of data.
enum class RangeKind : uint8_t { kOther, kOptimizer, kOptimizerStep, kLoading };
// Returns the kind of a range by its name, such as "Optimizer.step#SGD.step".
RangeKind KindOfRange(std::string_view name);

// Must be called before the functions below. The arguments must outlive the
// process's use of PyTorch.
void SetRanges(OpTracer* tracer, CaptureEngine* engine);

// Enters a range on this thread, and leaves it.
RangeKind EnterRange(std::string_view name);
void LeaveRange(RangeKind kind);
// The same as EnterRange of the step of an optimizer of this class.
void EnterStepOf(std::string_view optimizer);

// Has PyTorch call back at ranges from now on, until IgnoreRanges(); a range
// that is entered by then is still left. Every node of a backward pass costs a
// few hundred nanoseconds more meanwhile, because PyTorch sorts out its
// callbacks for each. Any thread.
void ListenToRanges();
void IgnoreRanges();

// Detects the first backward pass from now on, until StopWaitingForBackward().
void WaitForBackward();
void StopWaitingForBackward();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_RANGES_H_
