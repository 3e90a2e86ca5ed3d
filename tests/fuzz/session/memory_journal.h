// A journal in memory, which keeps what a restarted server needs to know about
// the states of ranks.
#ifndef TESTS_FUZZ_SESSION_MEMORY_JOURNAL_H_
#define TESTS_FUZZ_SESSION_MEMORY_JOURNAL_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "server/jobs/journal.h"

namespace graphdbg::session {

// Outlives the servers that use it. Everything is durable at once.
class MemoryJournal final : public jobs::Journal {
 public:
  uint64_t generation() const override { return generation_; }
  // The next server begins.
  void BeginGeneration() { ++generation_; }

  absl::Status Load(const std::function<void(jobs::SavedJob)>& each) override {
    for (Record& record : records_) {
      jobs::SavedJob saved;
      saved.id = record.id;
      saved.requested_id = record.requested_id;
      saved.ranks = record.ranks;
      saved.journal = std::make_unique<Recorder>(*this, record);
      each(std::move(saved));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<jobs::JobJournal> Open(const std::string& id,
                                         const std::string& requested_id,
                                         int64_t) override {
    records_.push_back({id, requested_id, {}});
    return std::make_unique<Recorder>(*this, records_.back());
  }

  void Close() override {}
  bool over_limit() const override { return false; }
  bool full() const override { return false; }
  model::Storage storage() const override { return {}; }
  void Listen(std::function<void()>) override {}

 private:
  struct Record {
    std::string id;
    std::string requested_id;
    std::map<uint32_t, jobs::SavedRank> ranks;
  };

  class Recorder final : public jobs::JobJournal {
   public:
    Recorder(MemoryJournal& journal, Record& record)
        : journal_(journal), record_(record) {}

    void RecordHello(uint32_t rank, const jobs::AgentHello& hello,
                     bool same_process) override {
      if (!same_process) record_.ranks[rank] = {};
      record_.ranks[rank].hello = hello;
    }
    void RecordState(uint32_t rank, const jobs::RunState& run,
                     const jobs::ExitReport* exit_report,
                     int64_t now_unix_nano) override {
      record_.ranks[rank].run = run;
      record_.ranks[rank].changed_at_unix_nano = now_unix_nano;
      if (exit_report) record_.ranks[rank].exit_report = *exit_report;
    }
    void RecordGraph(uint32_t, const graph::GraphStore&,
                     const graph::GraphChanges&) override {}
    void RecordLastSteps(const graph::GraphStore&) override {}
    void RecordWatchpoint(uint32_t, uint32_t,
                          const model::WatchpointSpec*) override {}
    void RecordRules(const model::KeptRules&) override {}
    void EraseRevision(uint32_t, uint32_t) override {}
    void RecordHit(const watch::HitRecord&, uint64_t, bool) override {}
    void RecordStatistics(uint32_t, graph::NodeIndex, uint32_t, uint64_t,
                          const model::Statistics&) override {}
    void EraseStatistics(uint32_t, graph::NodeIndex, uint32_t,
                         uint64_t) override {}
    void RecordOrigin(const jobs::SavedOrigin&) override {}
    void EraseOrigins(uint64_t) override {}
    void Forget() override {
      journal_.records_.remove_if(
          [this](const Record& each) { return &each == &record_; });
    }
    void WhenDurable(std::function<void(absl::Status)> then) override {
      then(absl::OkStatus());
    }
    void OnceDurable(std::function<void(absl::Status)> then) override {
      then(absl::OkStatus());
    }
    absl::Status status() const override { return absl::OkStatus(); }
    bool full() const override { return false; }

   private:
    MemoryJournal& journal_;
    Record& record_;
  };

  uint64_t generation_ = 0;
  // References to records stay valid.
  std::list<Record> records_;
};

}  // namespace graphdbg::session

#endif  // TESTS_FUZZ_SESSION_MEMORY_JOURNAL_H_
