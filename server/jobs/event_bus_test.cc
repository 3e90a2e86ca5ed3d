#include "server/jobs/event_bus.h"

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

TEST(EventBusTest, CallsEverySubscriberWhileItsHandleExists) {
  EventBus bus;
  std::vector<uint64_t> first;
  std::vector<uint64_t> second;
  auto one = bus.Subscribe([&](const auto& e) { first.push_back(e->seq); });
  bus.Publish(Numbered(1));
  auto two = bus.Subscribe([&](const auto& e) { second.push_back(e->seq); });
  bus.Publish(Numbered(2));
  one.reset();
  bus.Publish(Numbered(3));
  EXPECT_EQ(first, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(second, (std::vector<uint64_t>{2, 3}));
}

TEST(EventBusTest, LetsASinkDestroyItsOwnHandle) {
  EventBus bus;
  int calls = 0;
  std::shared_ptr<void> handle;
  handle = bus.Subscribe([&](const auto&) {
    ++calls;
    handle.reset();
  });
  bus.Publish(Numbered(1));
  bus.Publish(Numbered(2));
  EXPECT_EQ(calls, 1);
}

TEST(EventBusTest, DestroysTheSinkWithItsHandle) {
  EventBus bus;
  auto held = std::make_shared<int>(1);
  auto handle = bus.Subscribe([held](const auto&) {});
  bus.Publish(Numbered(1));
  handle.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(EventBusTest, MayBeDestroyedBeforeItsSubscribers) {
  auto bus = std::make_unique<EventBus>();
  auto handle = bus->Subscribe([](const auto&) {});
  bus.reset();
  handle.reset();
}

}  // namespace
}  // namespace graphdbg::jobs
