#include "server/jobs/event_hub.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace graphdbg::jobs {
namespace {

std::shared_ptr<const model::Event> Numbered(uint64_t seq) {
  auto event = std::make_shared<model::Event>();
  event->seq = seq;
  return event;
}

TEST(EventHubTest, TellsEverySubscriberWhileItsHandleLives) {
  EventHub hub;
  std::vector<uint64_t> first;
  std::vector<uint64_t> second;
  auto one = hub.Subscribe([&](const auto& e) { first.push_back(e->seq); });
  hub.Publish(Numbered(1));
  auto two = hub.Subscribe([&](const auto& e) { second.push_back(e->seq); });
  hub.Publish(Numbered(2));
  one.reset();
  hub.Publish(Numbered(3));
  EXPECT_EQ(first, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(second, (std::vector<uint64_t>{2, 3}));
}

TEST(EventHubTest, LetsASinkDropItself) {
  EventHub hub;
  int calls = 0;
  std::shared_ptr<void> handle;
  handle = hub.Subscribe([&](const auto&) {
    ++calls;
    handle.reset();
  });
  hub.Publish(Numbered(1));
  hub.Publish(Numbered(2));
  EXPECT_EQ(calls, 1);
}

TEST(EventHubTest, LetsGoOfWhatASinkHolds) {
  EventHub hub;
  auto held = std::make_shared<int>(1);
  auto handle = hub.Subscribe([held](const auto&) {});
  hub.Publish(Numbered(1));
  handle.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(EventHubTest, MayOutliveItsSubscribersAndTheyIt) {
  auto hub = std::make_unique<EventHub>();
  auto handle = hub->Subscribe([](const auto&) {});
  hub.reset();
  handle.reset();
}

}  // namespace
}  // namespace graphdbg::jobs
