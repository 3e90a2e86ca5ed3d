#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_WAITS_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_WAITS_H_

namespace graphdbg::hooks {

// Called before and after a wait for the user, on the waiting thread. Allows
// other Python threads to run and detects signals that Python handles.
//
// Python runs its signal handlers only between two instructions of the main
// thread, which may be waiting itself or for the waiting thread. During a wait,
// the signals that terminate programs therefore go through a handler that makes
// Interrupted() true and then calls the previous handler. Python's own handler
// then raises in the main thread, immediately after the op if the op waited.
// Signals without a handler are not affected.
void* BeginWait();
void EndWait(void* token);
int Interrupted(void* token);

// Whether a thread waits now.
bool AnyWait();

// Whether the main thread runs Python's pending calls while it waits, by which
// a debugger from outside the process takes graphdbg out again. Handlers of
// other signals than the above then run during a wait, too.
void RunPendingCallsInWaits(bool on);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_WAITS_H_
