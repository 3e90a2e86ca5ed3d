#include "agent/adapters/pytorch/ranges.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "agent/base/mutex.h"

namespace graphdbg::pytorch {
namespace {

using Observer = std::unique_ptr<at::ObserverContext>;

OpTracer* range_tracer = nullptr;
CaptureEngine* engine = nullptr;
std::atomic<bool> listens{false};
Mutex ranges_mu;
at::CallbackHandle ranges = at::INVALID_CALLBACK_HANDLE;
at::CallbackHandle backward = at::INVALID_CALLBACK_HANDLE;

void Remove(at::CallbackHandle* callback) {
  if (*callback == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(std::exchange(*callback, at::INVALID_CALLBACK_HANDLE));
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The class in "Optimizer.step#SGD.step"; empty for other ranges.
std::string_view OptimizerClass(std::string_view range) {
  if (!StartsWith(range, "Optimizer.")) return {};
  const size_t mark = range.find('#');
  if (mark == std::string_view::npos) return {};
  const size_t dot = range.rfind('.');
  return range.substr(mark + 1, dot - mark - 1);
}

void EnterOptimizer(std::string_view optimizer) {
  engine->SyncThread();
  CurrentThread().Enter(ContextKind::kOptimizer,
                        range_tracer->graph().OptimizerScope(optimizer));
}

Observer StartRange(const at::RecordFunction& fn) {
  range_tracer->Guarded([&fn] { EnterRange(fn.name()); });
  return nullptr;
}

void EndRange(const at::RecordFunction& fn, at::ObserverContext*) {
  range_tracer->Guarded([&fn] { LeaveRange(KindOfRange(fn.name())); });
}

Observer StartBackward(const at::RecordFunction&) {
  range_tracer->Guarded([] { range_tracer->host().OnTrainingStarted(false); });
  return nullptr;
}

}  // namespace

RangeKind KindOfRange(std::string_view name) {
  if (StartsWith(name, "enumerate(DataLoader)#")) return RangeKind::kLoading;
  if (OptimizerClass(name).empty()) return RangeKind::kOther;
  return StartsWith(name, "Optimizer.step#") ? RangeKind::kOptimizerStep
                                             : RangeKind::kOptimizer;
}

void SetRanges(OpTracer* tracer, CaptureEngine* the_engine) {
  range_tracer = tracer;
  engine = the_engine;
}

RangeKind EnterRange(std::string_view name) {
  const RangeKind kind = KindOfRange(name);
  switch (kind) {
    case RangeKind::kOptimizerStep:
      EnterStepOf(OptimizerClass(name));
      break;
    case RangeKind::kOptimizer:
      EnterOptimizer(OptimizerClass(name));
      break;
    case RangeKind::kLoading:
      CurrentThread().Enter(ContextKind::kIgnored, 0);
      break;
    case RangeKind::kOther:
      break;
  }
  return kind;
}

void EnterStepOf(std::string_view optimizer) {
  range_tracer->host().OnTrainingStarted(true);
  EnterOptimizer(optimizer);
}

void LeaveRange(RangeKind kind) {
  ContextStack& contexts = CurrentThread().contexts;
  switch (kind) {
    case RangeKind::kOptimizerStep:
      range_tracer->step().optimizer_steps.fetch_add(1);
      range_tracer->step().micro_step.store(1);
      contexts.Pop(ContextKind::kOptimizer);
      break;
    case RangeKind::kOptimizer:
      contexts.Pop(ContextKind::kOptimizer);
      break;
    case RangeKind::kLoading:
      contexts.Pop(ContextKind::kIgnored);
      break;
    case RangeKind::kOther:
      break;
  }
}

void ListenToRanges() {
  if (listens.load()) return;
  MutexLock lock(&ranges_mu);
  if (listens.exchange(true)) return;
  using Callback = at::RecordFunctionCallback;
  ranges = at::addGlobalCallback(
      Callback(StartRange, EndRange).scopes({at::RecordScope::USER_SCOPE}));
}

void IgnoreRanges() {
  if (!listens.load()) return;
  MutexLock lock(&ranges_mu);
  if (listens.exchange(false)) Remove(&ranges);
}

void WaitForBackward() {
  StopWaitingForBackward();
  backward =
      at::addGlobalCallback(at::RecordFunctionCallback(StartBackward)
                                .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

void StopWaitingForBackward() { Remove(&backward); }

}  // namespace graphdbg::pytorch
