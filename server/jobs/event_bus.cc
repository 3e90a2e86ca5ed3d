#include "server/jobs/event_bus.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace graphdbg::jobs {

class EventBus::Subscriber {
 public:
  explicit Subscriber(EventSink sink) : sink_(std::move(sink)) {}

  void Call(const std::shared_ptr<const model::Event>& event) {
    absl::MutexLock lock(&calling_);
    if (cancelled_) return;
    caller_ = std::this_thread::get_id();
    sink_(event);
    caller_ = std::thread::id();
  }

  void Cancel() {
    cancelled_ = true;
    // Called from the sink itself: waiting for the call would deadlock.
    if (caller_ == std::this_thread::get_id()) return;
    absl::MutexLock wait_for_call(&calling_);
  }

 private:
  const EventSink sink_;
  std::atomic<bool> cancelled_ = false;
  // The thread that is in `sink_`.
  std::atomic<std::thread::id> caller_;
  // Held while `sink_` runs.
  absl::Mutex calling_;
};

std::shared_ptr<void> EventBus::Subscribe(EventSink sink) {
  auto subscriber = std::make_shared<Subscriber>(std::move(sink));
  {
    absl::MutexLock lock(&mu_);
    subscribers_.erase(
        std::remove_if(subscribers_.begin(), subscribers_.end(),
                       [](const auto& s) { return s.expired(); }),
        subscribers_.end());
    subscribers_.push_back(subscriber);
  }
  return std::shared_ptr<void>(subscriber.get(), [subscriber](void*) mutable {
    subscriber->Cancel();
    subscriber.reset();
  });
}

void EventBus::Publish(const std::shared_ptr<const model::Event>& event) {
  std::vector<std::shared_ptr<Subscriber>> present;
  {
    absl::MutexLock lock(&mu_);
    present.reserve(subscribers_.size());
    for (const auto& weak : subscribers_) {
      if (auto subscriber = weak.lock()) present.push_back(subscriber);
    }
  }
  for (const auto& subscriber : present) subscriber->Call(event);
}

}  // namespace graphdbg::jobs
