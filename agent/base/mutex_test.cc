#include "agent/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace graphdbg {
namespace {

class Mailbox {
 public:
  void Put(int value) {
    MutexLock lock(&mu_);
    value_ = value;
    filled_ = true;
    changed_.NotifyAll();
  }

  int Take() {
    MutexLock lock(&mu_);
    while (!filled_) {
      changed_.Wait(&mu_);
    }
    filled_ = false;
    return value_;
  }

  // Returns false if nothing arrives within `timeout`.
  bool WaitUntilFilled(std::chrono::milliseconds timeout) {
    MutexLock lock(&mu_);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!filled_) {
      if (!changed_.WaitUntil(&mu_, deadline)) {
        return filled_;
      }
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool filled_ GRAPHDBG_GUARDED_BY(mu_) = false;
  int value_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

bool IsFree(Mutex* mu) {
  if (!mu->TryLock()) {
    return false;
  }
  mu->Unlock();
  return true;
}

TEST(MutexTest, WaitReturnsWhenAnotherThreadNotifies) {
  Mailbox mailbox;
  std::thread sender([&] { mailbox.Put(7); });
  EXPECT_EQ(mailbox.Take(), 7);
  sender.join();
}

TEST(MutexTest, WaitUntilReturnsFalseAtItsDeadline) {
  Mailbox mailbox;
  EXPECT_FALSE(mailbox.WaitUntilFilled(std::chrono::milliseconds(1)));
  mailbox.Put(1);
  EXPECT_TRUE(mailbox.WaitUntilFilled(std::chrono::milliseconds(0)));
}

TEST(MutexTest, LockCanBeReleasedEarlyAndTakenAgain) {
  Mutex mu;
  {
    MutexLock lock(&mu);
    lock.Unlock();
    EXPECT_TRUE(IsFree(&mu));
    lock.Lock();
  }
  EXPECT_TRUE(IsFree(&mu));
}

TEST(MutexTest, LockReleasesAnAdoptedMutex) {
  Mutex mu;
  mu.Lock();
  { MutexLock lock(&mu, AdoptLock{}); }
  EXPECT_TRUE(IsFree(&mu));
}

}  // namespace
}  // namespace graphdbg
