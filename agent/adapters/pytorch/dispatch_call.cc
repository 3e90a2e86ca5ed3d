#include "agent/adapters/pytorch/dispatch_call.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <exception>

#include "agent/adapters/pytorch/range_ops.h"
#include "agent/adapters/pytorch/tensor_view.h"

namespace graphdbg::pytorch {
namespace {

// Modes and subclasses of tensors that are written in Python.
constexpr c10::DispatchKeySet kPythonKeys(
    {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot});

}  // namespace

bool TracesThisThread() {
  const bool disabled = dispatch_tracing.tracer->disabled();
  if (!disabled && dispatch_tracing.on.load(std::memory_order_relaxed)) {
    return true;
  }
  if (disabled || !InRangeOfOp()) {
    c10::impl::tls_set_dispatch_key_included(kDebuggerKey, false);
  }
  return false;
}

Route RouteOf(const OpInfo& op, c10::DispatchKeySet keys) {
  if (!TracesThisThread()) return Route::kPassed;
  if (!HasWrapperKeys(keys) && op.IsLeaf(keys) && !at::in_parallel_region()) {
    return Route::kLeaf;
  }
  // PyTorch excludes all keys above Python's while Python handles the op.
  return keys.has_any(kPythonKeys) ? Route::kPython : Route::kPassed;
}

LeafCall::LeafCall(const OpInfo& op, OpValues arguments,
                   ArgumentLifetime lifetime) {
  dispatch_tracing.tracer->Guarded([&] {
    traced_ = dispatch_tracing.tracer->Begin(thread_, op, arguments, lifetime);
  });
}

void LeafCall::End(OpValues results) {
  dispatch_tracing.tracer->Guarded(
      [&] { dispatch_tracing.tracer->End(thread_, results); });
}

void LeafCall::Fail(OpValues arguments) {
  const auto report = [&](const char* message) {
    dispatch_tracing.tracer->Guarded(
        [&] { dispatch_tracing.tracer->Fail(thread_, arguments, message); });
  };
  try {
    throw;
  } catch (const c10::Error& error) {
    report(error.what_without_backtrace());
  } catch (const std::exception& error) {
    report(error.what());
  } catch (...) {
    report("");
  }
}

}  // namespace graphdbg::pytorch
