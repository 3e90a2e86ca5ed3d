#include "server/jobs/event_hub.h"

#include <algorithm>
#include <utility>

namespace graphdbg::jobs {

std::shared_ptr<void> EventHub::Subscribe(EventSink sink) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->sink = std::move(sink);
  {
    std::lock_guard lock(mu_);
    subscribers_.erase(
        std::remove_if(subscribers_.begin(), subscribers_.end(),
                       [](const auto& s) { return s.expired(); }),
        subscribers_.end());
    subscribers_.push_back(subscriber);
  }
  return std::shared_ptr<void>(subscriber.get(), [subscriber](void*) mutable {
    {
      std::lock_guard lock(subscriber->mu);
      subscriber->gone = true;
    }
    subscriber.reset();
  });
}

void EventHub::Publish(const std::shared_ptr<const model::Event>& event) {
  std::vector<std::shared_ptr<Subscriber>> present;
  {
    std::lock_guard lock(mu_);
    present.reserve(subscribers_.size());
    for (const auto& weak : subscribers_) {
      if (auto subscriber = weak.lock()) present.push_back(subscriber);
    }
  }
  for (const auto& subscriber : present) {
    std::lock_guard lock(subscriber->mu);
    if (!subscriber->gone) subscriber->sink(event);
  }
}

}  // namespace graphdbg::jobs
