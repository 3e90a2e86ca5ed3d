#include "server/api/event_hub.h"

#include <gtest/gtest.h>

#include "server/api/json.h"
#include "server/api/testing/fake_jobs.h"

namespace graphdbg::api {
namespace {

using model::Event;

class EventHubTest : public ::testing::Test {
 protected:
  void Emit(const std::string& job, Event::Type type) {
    Event event;
    event.job = job;
    event.type = type;
    if (type == Event::Type::kJob || type == Event::Type::kState) {
      event.job_info.emplace();
    }
    if (type == Event::Type::kHit) event.hit.emplace();
    directory_.Emit(event);
  }
  std::vector<uint64_t> Seqs(const EventHub::Page& page) {
    std::vector<uint64_t> seqs;
    for (const auto& record : page.records) {
      seqs.push_back(record->event().seq);
    }
    return seqs;
  }
  using SeqList = std::vector<uint64_t>;

  testing::FakeDirectory directory_;
  EventHub hub_{directory_,
                {.events_per_job = 4, .texts_per_job = 2, .farewells = 1}};
};

TEST_F(EventHubTest, ReadersGoOnWhereTheyWere) {
  for (int i = 0; i < 3; ++i) Emit("a", Event::Type::kGraph);
  EventHub::Page page = hub_.After("a", 0, 2);
  EXPECT_TRUE(page.gapless);
  EXPECT_EQ(Seqs(page), (SeqList{1, 2}));
  EXPECT_EQ(page.next, 2u);
  page = hub_.After("a", page.next, 2);
  EXPECT_EQ(Seqs(page), (SeqList{3}));
  page = hub_.After("a", page.next, 2);
  EXPECT_TRUE(page.gapless);
  EXPECT_EQ(Seqs(page), SeqList());
  EXPECT_EQ(page.next, 3u);
}

TEST_F(EventHubTest, IsWrittenOutOnceWhileItIsNew) {
  for (int i = 0; i < 3; ++i) Emit("a", Event::Type::kGraph);
  const auto records = hub_.After("a", 0, 3).records;
  const auto text = records[1]->Text();
  EXPECT_EQ(Json::parse(*text)["seq"], 2);
  EXPECT_EQ(hub_.After("a", 1, 1).records[0]->Text(), text);
  // Two are kept; older ones are still to be had.
  Emit("a", Event::Type::kGraph);
  const auto again = hub_.After("a", 1, 1).records[0]->Text();
  EXPECT_NE(again, text);
  EXPECT_EQ(*again, *text);
}

TEST_F(EventHubTest, AReaderThatFellBehindIsToldOfTheGap) {
  for (int i = 0; i < 6; ++i) Emit("a", Event::Type::kGraph);
  EXPECT_FALSE(hub_.After("a", 1, 9).gapless);
  EXPECT_EQ(Seqs(hub_.After("a", 2, 9)), (SeqList{3, 4, 5, 6}));
}

TEST_F(EventHubTest, APlaceThatWasNeverReachedIsAGap) {
  Emit("a", Event::Type::kGraph);
  EXPECT_FALSE(hub_.After("a", 2, 9).gapless);
  EXPECT_FALSE(hub_.After("unknown", 1, 9).gapless);
  EXPECT_TRUE(hub_.After("unknown", 0, 9).gapless);
}

TEST_F(EventHubTest, JobsDoNotPushEachOthersEventsOut) {
  Emit("a", Event::Type::kGraph);
  for (int i = 0; i < 9; ++i) Emit("b", Event::Type::kGraph);
  EXPECT_EQ(Seqs(hub_.After("a", 0, 9)), (SeqList{1}));
}

TEST_F(EventHubTest, StatesOfAllJobsHaveOneOrder) {
  Emit("a", Event::Type::kState);
  Emit("b", Event::Type::kGraph);
  Emit("b", Event::Type::kJob);
  EventHub::Page page = hub_.StatesAfter(0, 9);
  ASSERT_EQ(page.records.size(), 2u);
  EXPECT_EQ(page.records[0]->event().job, "a");
  EXPECT_EQ(page.records[1]->event().job, "b");
  EXPECT_EQ(page.next, hub_.LastPosition());
}

TEST_F(EventHubTest, OfAForgottenJobOnlyTheFarewellStays) {
  Emit("a", Event::Type::kHit);
  Event farewell;
  farewell.type = Event::Type::kJob;
  farewell.job = "a";
  directory_.Emit(farewell);
  EXPECT_TRUE(hub_.IsForgotten("a"));
  EXPECT_EQ(Seqs(hub_.After("a", 1, 9)), (SeqList{2}));
  // The next one pushes it out.
  farewell.job = "b";
  directory_.Emit(farewell);
  EXPECT_EQ(hub_.LastSeq("a"), 0u);
  EXPECT_EQ(hub_.LastSeq("b"), 1u);
}

TEST_F(EventHubTest, AJobMayComeBack) {
  Emit("a", Event::Type::kGraph);
  Event farewell;
  farewell.type = Event::Type::kJob;
  farewell.job = "a";
  directory_.Emit(farewell);
  Emit("a", Event::Type::kGraph);
  EXPECT_FALSE(hub_.IsForgotten("a"));
  EXPECT_EQ(Seqs(hub_.After("a", 2, 9)), (SeqList{3}));
}

TEST_F(EventHubTest, ListenersAreWokenUntilTheyLeave) {
  int woken = 0;
  auto handle = hub_.Listen([&] { ++woken; });
  Emit("a", Event::Type::kGraph);
  EXPECT_EQ(woken, 1);
  handle.reset();
  Emit("a", Event::Type::kGraph);
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace graphdbg::api
