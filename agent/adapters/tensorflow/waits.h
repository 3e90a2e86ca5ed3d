#ifndef AGENT_ADAPTERS_TENSORFLOW_WAITS_H_
#define AGENT_ADAPTERS_TENSORFLOW_WAITS_H_

namespace graphdbg::tensorflow {

// Called before and after a wait for the user, on the waiting thread, which
// does not hold the interpreter's lock.
//
// Python runs its signal handlers only between two instructions of the main
// thread, which waits for the op's function to return. During a wait, the
// signals that terminate programs therefore go through a handler that makes
// Interrupted() true and then calls the previous handler: the function goes on,
// and Python's own handler raises after it. Signals without a handler are not
// affected.
void* BeginWait();
void EndWait(void* token);
int Interrupted(void* token);

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_WAITS_H_
