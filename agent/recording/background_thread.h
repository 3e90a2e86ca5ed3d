// Threads of the recording beside those of the program.
#ifndef AGENT_RECORDING_BACKGROUND_THREAD_H_
#define AGENT_RECORDING_BACKGROUND_THREAD_H_

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace graphdbg::recording {

// The program's signals are for its own threads. These are not interrupted when
// this one wakes; but it has its share of the processors, however many threads
// are busy: with the lowest priority, it would hardly run beside these, and the
// ring would be full.
inline void BecomeBackground() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const sched_param priority = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority);
}

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_BACKGROUND_THREAD_H_
