// Reports of ThreadSanitizer that concern the instrumented Abseil itself, in
// every program that contains it.

// A thread that blocks in a Mutex hands its semaphore to the thread that wakes
// it. Abseil 2022 does so where ThreadSanitizer was told to ignore the
// synchronization; later versions ignore these accesses, too.
extern "C" const char* __tsan_default_suppressions() {
  return "race:*synchronization_internal::Waiter::*\n"
         "race:AbslInternalPerThreadSem*\n";
}
