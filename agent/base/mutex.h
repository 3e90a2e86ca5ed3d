// Annotated locks for code that runs inside the training process.
//
// Clang's thread-safety analysis (`-Wthread-safety`) checks these annotations
// at compile time: a field marked GRAPHDBG_GUARDED_BY(mu_) can only be accessed
// while mu_ is held, and a function marked GRAPHDBG_REQUIRES(mu_) can only be
// called while it is held. Under GCC the annotations expand to nothing.
//
//   class Counter {
//    public:
//     void Add(int n) {
//       MutexLock lock(&mu_);
//       AddLocked(n);
//     }
//
//    private:
//     void AddLocked(int n) GRAPHDBG_REQUIRES(mu_) { count_ += n; }
//
//     Mutex mu_;
//     int count_ GRAPHDBG_GUARDED_BY(mu_) = 0;
//   };
//
// The server uses absl::Mutex. The agent keeps std::mutex, because it is a
// guest in a process that belongs to someone else:
//  - Framework adapters are separate shared objects that use the C API only.
//    Abseil is linked statically and with hidden symbols into libgraphdbg.so,
//    where adapters cannot reach it, and the process may contain other copies.
//  - absl::Mutex keeps state for each thread that ever waited, and a hook that
//    runs when the thread exits. The threads are the program's, and may outlive
//    the library's use; a forked child would inherit that state. std::mutex has
//    no state outside the object.
//
// The macros carry a prefix because Abseil and PyTorch define the plain names.
#ifndef AGENT_BASE_MUTEX_H_
#define AGENT_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define GRAPHDBG_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GRAPHDBG_THREAD_ANNOTATION(x)
#endif

// The class is a lock.
#define GRAPHDBG_CAPABILITY(name) GRAPHDBG_THREAD_ANNOTATION(capability(name))

// The class holds a lock from its constructor to its destructor.
#define GRAPHDBG_SCOPED_CAPABILITY GRAPHDBG_THREAD_ANNOTATION(scoped_lockable)

// The field is accessed only while the lock is held.
#define GRAPHDBG_GUARDED_BY(mu) GRAPHDBG_THREAD_ANNOTATION(guarded_by(mu))

// The value that the pointer refers to is accessed only while the lock is held.
#define GRAPHDBG_PT_GUARDED_BY(mu) GRAPHDBG_THREAD_ANNOTATION(pt_guarded_by(mu))

// Documents the order in which two locks are taken.
#define GRAPHDBG_ACQUIRED_BEFORE(...) \
  GRAPHDBG_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define GRAPHDBG_ACQUIRED_AFTER(...) \
  GRAPHDBG_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// The caller holds the lock.
#define GRAPHDBG_REQUIRES(...) \
  GRAPHDBG_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

// The caller does not hold the lock; the function may take it.
#define GRAPHDBG_EXCLUDES(...) \
  GRAPHDBG_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// The function takes or releases the lock.
#define GRAPHDBG_ACQUIRE(...) \
  GRAPHDBG_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GRAPHDBG_TRY_ACQUIRE(...) \
  GRAPHDBG_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define GRAPHDBG_RELEASE(...) \
  GRAPHDBG_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

// The caller holds the lock in a way that the analysis cannot follow.
#define GRAPHDBG_ASSERT_CAPABILITY(x) \
  GRAPHDBG_THREAD_ANNOTATION(assert_capability(x))

// The function returns a reference to the lock.
#define GRAPHDBG_LOCK_RETURNED(x) GRAPHDBG_THREAD_ANNOTATION(lock_returned(x))

// The function's body is not checked. Each use explains why it is correct.
#define GRAPHDBG_NO_THREAD_SAFETY_ANALYSIS \
  GRAPHDBG_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace graphdbg {

class CondVar;

class GRAPHDBG_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() GRAPHDBG_ACQUIRE() { mu_.lock(); }
  void Unlock() GRAPHDBG_RELEASE() { mu_.unlock(); }
  bool TryLock() GRAPHDBG_TRY_ACQUIRE(true) { return mu_.try_lock(); }

  // Tells the analysis, without a check at run time, that the caller holds the
  // lock.
  void AssertHeld() const GRAPHDBG_ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;

  std::mutex mu_;
};

// Selects the MutexLock constructor that takes over a lock already held.
struct AdoptLock {};

// Holds a mutex while it is in scope. May release it early, and take it again.
class GRAPHDBG_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mu) GRAPHDBG_ACQUIRE(mu) : mu_(mu) { mu_->Lock(); }

  // Releases `mu`, which the caller has locked, at the end of the scope.
  MutexLock(Mutex* mu, AdoptLock) GRAPHDBG_REQUIRES(mu) : mu_(mu) {}

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  ~MutexLock() GRAPHDBG_RELEASE() {
    if (held_) {
      mu_->Unlock();
    }
  }

  void Unlock() GRAPHDBG_RELEASE() {
    held_ = false;
    mu_->Unlock();
  }

  void Lock() GRAPHDBG_ACQUIRE() {
    mu_->Lock();
    held_ = true;
  }

 private:
  Mutex* const mu_;
  bool held_ = true;
};

// A condition variable. Waits may wake up spuriously, so callers wait in a
// loop, which also lets the analysis see that the condition is evaluated under
// the lock:
//
//   MutexLock lock(&mu_);
//   while (queue_.empty()) {
//     not_empty_.Wait(&mu_);
//   }
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases `mu`, blocks until notified, and takes `mu` again.
  void Wait(Mutex* mu) GRAPHDBG_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // Like Wait(), but returns false once `timeout` has elapsed.
  template <typename Rep, typename Period>
  bool WaitFor(Mutex* mu, std::chrono::duration<Rep, Period> timeout)
      GRAPHDBG_REQUIRES(mu) {
    return WaitUntil(mu, std::chrono::steady_clock::now() + timeout);
  }

  // Like Wait(), but returns false once `deadline` has passed.
  template <typename Clock, typename Duration>
  bool WaitUntil(Mutex* mu, std::chrono::time_point<Clock, Duration> deadline)
      GRAPHDBG_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    const bool notified =
        cv_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }

  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace graphdbg

#endif  // AGENT_BASE_MUTEX_H_
