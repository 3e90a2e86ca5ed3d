#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_WAITS_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_WAITS_H_

namespace graphdbg::hooks {

// Around a wait for the user, on the waiting thread: lets other Python threads
// run, and notices signals that Python would handle.
//
// Python runs its handlers only between two instructions of the main thread,
// which does not get there while it waits, or waits for the thread that does.
// So for as long as somebody waits, the signals that end programs go through a
// handler that first makes Interrupted true and then calls the one before;
// Python's own then raises in the main thread, right after the op if that is
// what waited. Signals without a handler act as they always do.
void* BeginWait();
void EndWait(void* token);
int Interrupted(void* token);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_WAITS_H_
