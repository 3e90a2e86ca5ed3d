#include "server/api/event_buffer.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/api/json.h"
#include "server/api/testing/fake_jobs.h"

namespace graphdbg::api {
namespace {

using model::Event;

class EventBufferTest : public ::testing::Test {
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
  std::vector<uint64_t> Seqs(const EventBuffer::Page& page) {
    std::vector<uint64_t> seqs;
    for (const auto& record : page.records) {
      seqs.push_back(record->event().seq);
    }
    return seqs;
  }
  using SeqList = std::vector<uint64_t>;

  testing::FakeDirectory directory_;
  EventBuffer buffer_{
      directory_, {.events_per_job = 4, .texts_per_job = 2, .deleted_jobs = 1}};
};

TEST_F(EventBufferTest, ReadersGoOnWhereTheyWere) {
  for (int i = 0; i < 3; ++i) Emit("a", Event::Type::kGraph);
  EventBuffer::Page page = buffer_.After("a", 0, 2);
  EXPECT_TRUE(page.gapless);
  EXPECT_EQ(Seqs(page), (SeqList{1, 2}));
  EXPECT_EQ(page.next, 2u);
  page = buffer_.After("a", page.next, 2);
  EXPECT_EQ(Seqs(page), (SeqList{3}));
  page = buffer_.After("a", page.next, 2);
  EXPECT_TRUE(page.gapless);
  EXPECT_EQ(Seqs(page), SeqList());
  EXPECT_EQ(page.next, 3u);
}

TEST_F(EventBufferTest, IsWrittenOutOnceWhileItIsNew) {
  for (int i = 0; i < 3; ++i) Emit("a", Event::Type::kGraph);
  const auto records = buffer_.After("a", 0, 3).records;
  const auto text = records[1]->Text();
  EXPECT_EQ(Json::parse(*text)["seq"], 2);
  EXPECT_EQ(buffer_.After("a", 1, 1).records[0]->Text(), text);
  // The texts of two events are cached. Older ones are encoded again.
  Emit("a", Event::Type::kGraph);
  const auto again = buffer_.After("a", 1, 1).records[0]->Text();
  EXPECT_NE(again, text);
  EXPECT_EQ(*again, *text);
}

TEST_F(EventBufferTest, AReaderThatFellBehindIsToldOfTheGap) {
  for (int i = 0; i < 6; ++i) Emit("a", Event::Type::kGraph);
  EXPECT_FALSE(buffer_.After("a", 1, 9).gapless);
  EXPECT_EQ(Seqs(buffer_.After("a", 2, 9)), (SeqList{3, 4, 5, 6}));
}

TEST_F(EventBufferTest, APlaceThatWasNeverReachedIsAGap) {
  Emit("a", Event::Type::kGraph);
  EXPECT_FALSE(buffer_.After("a", 2, 9).gapless);
  EXPECT_FALSE(buffer_.After("unknown", 1, 9).gapless);
  EXPECT_TRUE(buffer_.After("unknown", 0, 9).gapless);
}

TEST_F(EventBufferTest, JobsDoNotPushEachOthersEventsOut) {
  Emit("a", Event::Type::kGraph);
  for (int i = 0; i < 9; ++i) Emit("b", Event::Type::kGraph);
  EXPECT_EQ(Seqs(buffer_.After("a", 0, 9)), (SeqList{1}));
}

TEST_F(EventBufferTest, StatesOfAllJobsHaveOneOrder) {
  Emit("a", Event::Type::kState);
  Emit("b", Event::Type::kGraph);
  Emit("b", Event::Type::kJob);
  EventBuffer::Page page = buffer_.StatesAfter(0, 9);
  ASSERT_EQ(page.records.size(), 2u);
  EXPECT_EQ(page.records[0]->event().job, "a");
  EXPECT_EQ(page.records[1]->event().job, "b");
  EXPECT_EQ(page.next, buffer_.LastPosition());
}

TEST_F(EventBufferTest, OfAForgottenJobOnlyTheLastEventStays) {
  Emit("a", Event::Type::kHit);
  Event deletion;
  deletion.type = Event::Type::kJob;
  deletion.job = "a";
  directory_.Emit(deletion);
  EXPECT_TRUE(buffer_.IsDeleted("a"));
  EXPECT_EQ(Seqs(buffer_.After("a", 1, 9)), (SeqList{2}));
  // The limit is one deleted job.
  deletion.job = "b";
  directory_.Emit(deletion);
  EXPECT_EQ(buffer_.LastSeq("a"), 0u);
  EXPECT_EQ(buffer_.LastSeq("b"), 1u);
}

TEST_F(EventBufferTest, AJobMayComeBack) {
  Emit("a", Event::Type::kGraph);
  Event deletion;
  deletion.type = Event::Type::kJob;
  deletion.job = "a";
  directory_.Emit(deletion);
  Emit("a", Event::Type::kGraph);
  EXPECT_FALSE(buffer_.IsDeleted("a"));
  EXPECT_EQ(Seqs(buffer_.After("a", 2, 9)), (SeqList{3}));
}

TEST_F(EventBufferTest, ListenersAreWokenUntilTheyLeave) {
  int woken = 0;
  auto handle = buffer_.Listen([&] { ++woken; });
  Emit("a", Event::Type::kGraph);
  EXPECT_EQ(woken, 1);
  handle.reset();
  Emit("a", Event::Type::kGraph);
  EXPECT_EQ(woken, 1);
}

// Messages of a job may be long.
TEST(EventBufferMemoryTest, LimitsAndCountsTheBytesOfAJobsEvents) {
  testing::FakeDirectory directory;
  const auto memory = std::make_shared<MemoryBudget>(uint64_t{100} << 20);
  EventBuffer::Limits limits;
  limits.bytes_per_job = 1 << 20;
  limits.bytes_per_job_when_short = 300'000;
  limits.memory = memory;
  std::optional<EventBuffer> buffer(std::in_place, directory, limits);
  const auto emit = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Event event;
      event.job = "a";
      event.type = Event::Type::kLog;
      event.message = std::string(60'000, 'x');
      directory.Emit(event);
    }
  };
  emit(100);
  EXPECT_LE(memory->used(MemoryAccount::kEvents), limits.bytes_per_job);
  // Readers of earlier events start over with a snapshot.
  EXPECT_FALSE(buffer->After("a", 50, 10).gapless);
  EXPECT_TRUE(buffer->After("a", 95, 10).gapless);
  const auto full = memory->Count(MemoryAccount::kJobs, uint64_t{95} << 20);
  emit(1);
  EXPECT_LE(memory->used(MemoryAccount::kEvents),
            limits.bytes_per_job_when_short);
  EXPECT_TRUE(buffer->After("a", 100, 10).gapless);
  buffer.reset();
  EXPECT_EQ(memory->used(MemoryAccount::kEvents), 0u);
}

}  // namespace
}  // namespace graphdbg::api
