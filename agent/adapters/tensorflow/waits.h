#ifndef AGENT_ADAPTERS_TENSORFLOW_WAITS_H_
#define AGENT_ADAPTERS_TENSORFLOW_WAITS_H_

namespace graphdbg::tensorflow {

// Called before and after a wait for the user, on the waiting thread, which
// does not hold the interpreter's lock. A signal that terminates programs makes
// Interrupted() true: the op's function goes on, and Python's own handler
// raises after it.
void* BeginWait();
void EndWait(void* token);
int Interrupted(void* token);

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_WAITS_H_
