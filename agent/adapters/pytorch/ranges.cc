#include "agent/adapters/pytorch/ranges.h"

#include <ATen/record_function.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "agent/base/mutex.h"

namespace graphdbg::pytorch {
namespace {

using Observer = std::unique_ptr<at::ObserverContext>;

OpTracer* range_tracer = nullptr;
CaptureEngine* engine = nullptr;
std::atomic<bool> traces_ranges{false};
Mutex ranges_mu;
at::CallbackHandle ranges = at::INVALID_CALLBACK_HANDLE;
at::CallbackHandle backward = at::INVALID_CALLBACK_HANDLE;

void Remove(at::CallbackHandle* callback) {
  if (*callback == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(std::exchange(*callback, at::INVALID_CALLBACK_HANDLE));
}

bool StartsWith(const char* text, std::string_view prefix) {
  return std::strncmp(text, prefix.data(), prefix.size()) == 0;
}

// The class in "Optimizer.step#SGD.step"; empty for other ranges.
std::string_view OptimizerClass(std::string_view range) {
  constexpr std::string_view kPrefix = "Optimizer.";
  if (range.substr(0, kPrefix.size()) != kPrefix) return {};
  const size_t mark = range.find('#');
  if (mark == std::string_view::npos) return {};
  const size_t dot = range.rfind('.');
  return range.substr(mark + 1, dot - mark - 1);
}

bool IsDataLoading(const char* range) {
  return StartsWith(range, "enumerate(DataLoader)#");
}

Observer StartRange(const at::RecordFunction& fn) {
  range_tracer->Guarded([&fn] {
    ThreadState& thread = CurrentThread();
    const std::string_view optimizer = OptimizerClass(fn.name());
    if (!optimizer.empty()) {
      if (StartsWith(fn.name(), "Optimizer.step#")) {
        range_tracer->host().OnTrainingStarted(true);
      }
      engine->SyncThread();
      thread.Enter(ContextKind::kOptimizer,
                   range_tracer->graph().OptimizerScope(optimizer));
    } else if (IsDataLoading(fn.name())) {
      thread.Enter(ContextKind::kIgnored, 0);
    }
  });
  return nullptr;
}

void EndRange(const at::RecordFunction& fn, at::ObserverContext*) {
  range_tracer->Guarded([&fn] {
    ThreadState& thread = CurrentThread();
    if (!OptimizerClass(fn.name()).empty()) {
      if (StartsWith(fn.name(), "Optimizer.step#")) {
        range_tracer->step().optimizer_steps.fetch_add(1);
        range_tracer->step().micro_step.store(1);
      }
      thread.contexts.Pop(ContextKind::kOptimizer);
    } else if (IsDataLoading(fn.name())) {
      thread.contexts.Pop(ContextKind::kIgnored);
    }
  });
}

Observer StartBackward(const at::RecordFunction&) {
  range_tracer->Guarded([] { range_tracer->host().OnTrainingStarted(false); });
  return nullptr;
}

}  // namespace

void TraceRanges(OpTracer* tracer, CaptureEngine* the_engine) {
  if (traces_ranges.load()) return;
  MutexLock lock(&ranges_mu);
  if (traces_ranges.exchange(true)) return;
  range_tracer = tracer;
  engine = the_engine;
  using Callback = at::RecordFunctionCallback;
  ranges = at::addGlobalCallback(
      Callback(StartRange, EndRange).scopes({at::RecordScope::USER_SCOPE}));
}

void StopTracingRanges() {
  if (!traces_ranges.load()) return;
  MutexLock lock(&ranges_mu);
  if (traces_ranges.exchange(false)) Remove(&ranges);
}

void WaitForBackward() {
  StopWaitingForBackward();
  backward =
      at::addGlobalCallback(at::RecordFunctionCallback(StartBackward)
                                .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

void StopWaitingForBackward() { Remove(&backward); }

}  // namespace graphdbg::pytorch
