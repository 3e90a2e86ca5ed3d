// Doubles for what surrounds the parts of a job: agents, journal and strand.
#ifndef SERVER_JOBS_TESTING_FAKES_H_
#define SERVER_JOBS_TESTING_FAKES_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/task_runner.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/journal.h"

namespace graphdbg::jobs {

// Keeps the orders that an agent would receive.
class FakeAgentLink final : public AgentLink {
 public:
  void Send(AgentOrder order) override { orders.push_back(std::move(order)); }
  void Close(absl::Status status) override {
    if (closed.ok()) closed = std::move(status);
  }

  // The orders of one type.
  template <class Order>
  std::vector<Order> OrdersOf() const {
    std::vector<Order> found;
    for (const AgentOrder& order : orders) {
      if (const auto* typed = std::get_if<Order>(&order)) {
        found.push_back(*typed);
      }
    }
    return found;
  }

  std::vector<AgentOrder> orders;
  // OK until the link is closed.
  absl::Status closed;
};

// Runs tasks when the test calls for it.
class FakeTaskRunner final : public TaskRunner {
 public:
  std::function<void(Closure)> Poster() override {
    return [this](Closure task) { posted_.push_back(std::move(task)); };
  }

  void RunInBackground(Closure task) override {
    background_.push_back(std::move(task));
  }

  std::shared_ptr<void> RunAfter(std::chrono::milliseconds delay,
                                 Closure task) override {
    auto timer = std::make_shared<Timer>(Timer{delay, std::move(task)});
    timers_.push_back(timer);
    return timer;
  }

  // Runs posted tasks, including those that they post.
  void RunPosted() {
    while (!posted_.empty()) {
      const Closure task = std::move(posted_.front());
      posted_.erase(posted_.begin());
      task();
    }
  }

  void RunBackground() {
    for (const Closure& task : std::exchange(background_, {})) task();
  }

  // Fires all timers that have not been cancelled, and returns their delays.
  std::vector<std::chrono::milliseconds> FireTimers() {
    std::vector<std::chrono::milliseconds> delays;
    for (const std::weak_ptr<Timer>& weak : std::exchange(timers_, {})) {
      const auto timer = weak.lock();
      if (timer == nullptr) continue;
      delays.push_back(timer->delay);
      timer->task();
    }
    return delays;
  }

  size_t background() const { return background_.size(); }

 private:
  struct Timer {
    std::chrono::milliseconds delay;
    Closure task;
  };

  std::vector<Closure> posted_;
  std::vector<Closure> background_;
  std::vector<std::weak_ptr<Timer>> timers_;
};

// The records of a FakeJobJournal. Outlives the journal.
struct JournalRecords {
  // One line per call, for example "hit 1 number 7 stored".
  std::vector<std::string> lines;
  struct Waiting {
    std::function<void(absl::Status)> then;
    // Waits until writing does not fail any more.
    bool patient = false;
  };
  std::vector<Waiting> waiting;
  bool forgotten = false;
  // The state that the journal reports.
  absl::Status status;
  bool full = false;

  // Whether Flush would complete anything.
  bool HasWaiting(const absl::Status& result) const {
    return std::any_of(waiting.begin(), waiting.end(), [&](const Waiting& w) {
      return result.ok() || !w.patient;
    });
  }

  // Completes everything that waits for durability; with an error, only what
  // does not wait for the end of a failure.
  void Flush(const absl::Status& result = absl::OkStatus()) {
    for (Waiting& each : std::exchange(waiting, {})) {
      if (!result.ok() && each.patient) {
        waiting.push_back(std::move(each));
      } else {
        each.then(result);
      }
    }
  }

  bool Contains(const std::string& line) const {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
};

class FakeJobJournal final : public JobJournal {
 public:
  explicit FakeJobJournal(JournalRecords& records) : records_(records) {}

  void RecordHello(uint32_t rank, const AgentHello&,
                   bool same_process) override {
    Add("hello ", rank, same_process ? " again" : " new");
  }
  void RecordState(uint32_t rank, const RunState& run,
                   const ExitReport* exit_report, int64_t) override {
    Add("state ", rank, " step ", run.step, exit_report ? " exit" : "");
  }
  void RecordGraph(uint32_t rank, const graph::GraphStore&,
                   const graph::GraphChanges& changes) override {
    Add("graph ", rank, " nodes ", changes.nodes.size());
  }
  void RecordLastSteps(const graph::GraphStore&) override { Add("last steps"); }
  void RecordWatchpoint(uint32_t id, uint32_t revision,
                        const model::WatchpointSpec* spec) override {
    Add("watchpoint ", id, " revision ", revision, spec ? "" : " removed");
  }
  void RecordRules(const model::KeptRules& rules) override {
    Add("rules of ", rules.run);
  }
  void EraseRevision(uint32_t id, uint32_t revision) override {
    Add("watchpoint ", id, " revision ", revision, " erased");
  }
  void RecordHit(const watch::HitRecord& hit, uint64_t number,
                 bool kept) override {
    Add("hit ", hit.hit.id, " number ", number, kept ? " stored" : " counted");
  }
  void RecordStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                        uint64_t step, const model::Statistics&) override {
    Add("statistics ", rank, " ", node, ":", slot, " step ", step);
  }
  void EraseStatistics(uint32_t rank, graph::NodeIndex node, uint32_t slot,
                       uint64_t step) override {
    Add("erase ", rank, " ", node, ":", slot, " step ", step);
  }
  void RecordOrigin(const SavedOrigin& origin) override {
    Add("origin ", origin.rank, " ", origin.node, ":", origin.slot, " step ",
        origin.step);
  }
  void EraseOrigins(uint64_t step) override { Add("erase origins ", step); }
  void Forget() override { records_.forgotten = true; }
  void WhenDurable(std::function<void(absl::Status)> then) override {
    records_.waiting.push_back({std::move(then), false});
  }
  void OnceDurable(std::function<void(absl::Status)> then) override {
    records_.waiting.push_back({std::move(then), true});
  }
  absl::Status status() const override { return records_.status; }
  bool full() const override { return records_.full; }

 private:
  template <class... Parts>
  void Add(const Parts&... parts) {
    records_.lines.push_back(absl::StrCat(parts...));
  }

  JournalRecords& records_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_TESTING_FAKES_H_
