#include "tests/fuzz/session/session_script.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/directory.h"
#include "server/model/enum_names.h"
#include "tests/fuzz/session/memory_journal.h"
#include "tests/fuzz/session/reference_job.h"

namespace graphdbg::session {
namespace {

using model::ControlVerb;

constexpr char kRequestedId[] = "train";
constexpr size_t kMaxStreams = 8;
constexpr std::chrono::hours kNever(10'000);

// Each call is one byte that selects it, and this many for its arguments.
constexpr size_t kArgumentBytes = 4;

// Reads a script; an empty one yields zeros.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}
  bool empty() const { return next_ == end_; }
  uint8_t Take() { return empty() ? 0 : *next_++; }
  uint8_t Below(size_t limit) { return static_cast<uint8_t>(Take() % limit); }
  Bytes Split(size_t size) {
    const uint8_t* const begin = next_;
    next_ += std::min<size_t>(size, end_ - next_);
    return Bytes(begin, next_ - begin);
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

// Passes commands on to the model.
class WatchedLink final : public jobs::AgentLink {
 public:
  WatchedLink(ReferenceJob& job, uint32_t rank, uint64_t stream)
      : job_(job), rank_(rank), stream_(stream) {}

  void Send(jobs::AgentOrder order) override {
    if (const auto* command = std::get_if<jobs::CommandOrder>(&order)) {
      job_.SawOrder(rank_, stream_, *command);
    }
  }
  void Close(absl::Status) override {}

 private:
  ReferenceJob& job_;
  const uint32_t rank_;
  const uint64_t stream_;
};

struct ModelledJob {
  std::string id;
  // Part of the id, unless it is 1.
  uint32_t run = 1;
  ReferenceJob model;
};

// A stream that its agent has not closed yet.
struct Stream {
  ModelledJob* job = nullptr;
  uint32_t rank = 0;
  uint64_t number = 0;
  std::shared_ptr<jobs::AgentPort> port;
};

class Session {
 public:
  Session(Bytes script, uint8_t configuration)
      : script_(script),
        world_size_(1 + configuration % 16 % 3),
        deadlines_pass_(configuration >= 128),
        journal_(std::make_shared<MemoryJournal>()) {
    StartServer();
  }

  ~Session() {
    streams_.clear();
    StopServer();
  }

  ScriptResult Run() {
    while (!script_.empty() && Violation().empty()) {
      ++result_.calls;
      const uint8_t kind = script_.Take() % 16;
      arguments_ = script_.Split(kArgumentBytes);
      Call(kind);
      CheckDescriptions();
    }
    while (!streams_.empty() && Violation().empty()) CloseStream(0);
    CheckNothingInProgress();
    result_.violation = Violation();
    if (!result_.violation.empty()) {
      absl::StrAppend(&result_.violation, " (call ", result_.calls, ": ",
                      last_call_, ")");
    }
    return result_;
  }

 private:
  void Call(uint8_t kind) {
    switch (kind) {
      case 0:
      case 1:
        return Attach();
      case 2:
      case 3:
        return ReportRunning();
      case 4:
      case 5:
        return ReportPaused();
      case 6:
      case 7:
        return ReportOutcome();
      case 8:
        return ReportExit();
      case 9:
        return CloseAny();
      case 10:
        return ReportGraph();
      case 11:
        return arguments_.Below(4) == 0 ? Restart() : Forget();
      default:
        return Control();
    }
  }

  // --- The server -----------------------------------------------------------
  void StartServer() {
    journal_->BeginGeneration();
    jobs::JobOptions options;
    options.journal = journal_;
    options.now_unix_nano = [] { return int64_t{1}; };
    const auto deadline = deadlines_pass_ ? std::chrono::milliseconds(0)
                                          : std::chrono::milliseconds(kNever);
    options.end_deadline = options.return_deadline = deadline;
    options.max_jobs = 1'000'000;
    directory_ = jobs::MakeDirectory(io_->get_executor(), std::move(options));
    events_ = directory_->Subscribe(
        [this](const std::shared_ptr<const model::Event>& event) {
          if (ModelledJob* job = Find(event->job)) job->model.SawEvent(*event);
        });
  }

  // Ends the server as a kill would: what has not happened never will.
  void StopServer() {
    events_.reset();
    directory_.reset();
    io_ = std::make_unique<boost::asio::io_context>(1);
  }

  void Restart() {
    last_call_ = "restart of the server";
    streams_.clear();
    StopServer();
    OnRestart();
    BeginCall();
    StartServer();
    if (!directory_->Restore().ok()) Fail("the jobs were not restored");
    if (deadlines_pass_) {
      for (const auto& job : jobs_) job->model.LoseAwaited();
      RunUntil([this] {
        for (const auto& job : jobs_) {
          if (!job->model.removed() && !job->model.shows_current_state()) {
            return false;
          }
        }
        return true;
      });
    }
    EndCall();
  }

  // The next server knows only the jobs that are left, and of their processes
  // only the last one of each rank.
  void OnRestart() {
    last_run_ = 0;
    for (const auto& job : jobs_) {
      job->model.OnRestart();
      if (!job->model.removed()) last_run_ = std::max(last_run_, job->run);
    }
    std::erase_if(processes_, [](const auto& each) {
      const auto& [rank, incarnation] = each.first;
      return !each.second->model.IsHolder(rank, incarnation);
    });
  }

  void Forget() {
    if (jobs_.empty()) return;
    ModelledJob& job = *jobs_[arguments_.Below(jobs_.size())];
    last_call_ = absl::StrCat("removal of job ", job.id);
    if (job.model.removed()) return;
    const bool ends = job.model.ended();
    BeginCall();
    if (ends) job.model.OnRemoved();
    const absl::Status removed =
        Await<absl::Status>(directory_->Forget(job.id));
    if (removed.ok() != ends) Fail("a job was removed while it was alive");
    EndCall();
  }

  // --- Agents ---------------------------------------------------------------
  void Attach() {
    if (streams_.size() >= kMaxStreams) return CloseAny();
    jobs::AgentHello hello;
    hello.job = kRequestedId;
    hello.rank = arguments_.Below(world_size_);
    hello.world_size = world_size_;
    const uint8_t process = arguments_.Below(3);
    const bool earlier = arguments_.Below(4) == 0 && !jobs_.empty();
    const uint8_t pick = arguments_.Take();
    hello.incarnation = Incarnation(
        process, earlier ? jobs_[pick % jobs_.size()].get() : NewestJob());
    last_call_ =
        absl::StrCat("attach of rank ", hello.rank, ", ", hello.incarnation);
    BeginCall();
    auto [job, admission] = Admit(hello);
    if (admission == ReferenceJob::Admission::kNeedsNewJob) {
      job = &AddJob();
      // So that later calls find it among the processes of this job.
      if (!earlier) hello.incarnation = Incarnation(process, job);
      admission = job->model.Attach(hello);
    }
    const bool attached = admission == ReferenceJob::Admission::kAttached;
    const uint64_t number = attached ? job->model.StreamOf(hello.rank) : 0;
    auto link = std::make_shared<WatchedLink>(job->model, hello.rank, number);
    std::optional<absl::StatusOr<std::shared_ptr<jobs::AgentPort>>> answer;
    directory_->Attach(hello, link, [&answer](auto port) { answer = port; });
    Settle();
    if (!answer) return Fail("an agent was not answered");
    const std::string reason = answer->ok() ? "" : ReasonOf(answer->status());
    if (reason != (attached ? "" : "rank_taken")) {
      return Fail(absl::StrCat("an agent was answered \"", reason, "\""));
    }
    if (attached) {
      streams_.push_back({job, hello.rank, number, **answer});
      processes_[{hello.rank, hello.incarnation}] = job;
    }
    EndCall();
  }

  // A process belongs to the job that it was in before, even if a newer run has
  // the name by now. If that one does not take it, it is a new process.
  std::pair<ModelledJob*, ReferenceJob::Admission> Admit(
      const jobs::AgentHello& hello) {
    ModelledJob* const newest = NewestJob();
    const auto known = processes_.find({hello.rank, hello.incarnation});
    if (known != processes_.end() && known->second != newest) {
      const auto admission = known->second->model.Attach(hello);
      if (admission != ReferenceJob::Admission::kNeedsNewJob) {
        return {known->second, admission};
      }
    }
    if (newest == nullptr) {
      return {nullptr, ReferenceJob::Admission::kNeedsNewJob};
    }
    return {newest, newest->model.Attach(hello)};
  }

  // A name for the process, which need not have been in that job.
  std::string Incarnation(uint8_t process, const ModelledJob* job) const {
    const auto at =
        std::find_if(jobs_.begin(), jobs_.end(),
                     [job](const auto& each) { return each.get() == job; });
    return absl::StrCat("process ", process, " of job ", at - jobs_.begin());
  }

  void ReportRunning() {
    jobs::RunReport report;
    report.step = arguments_.Below(8);
    if (arguments_.Below(2) == 1) report.pauses_after = report.step + 1;
    Deliver("running", report, [&](ReferenceJob& job, uint32_t rank) {
      job.OnRunReport(rank, report);
    });
  }

  void ReportPaused() {
    constexpr model::PauseReason kReasons[] = {
        model::PauseReason::kStart, model::PauseReason::kStep,
        model::PauseReason::kNode,  model::PauseReason::kWatchpoint,
        model::PauseReason::kUser,  model::PauseReason::kError};
    jobs::RunReport report;
    report.paused = true;
    report.reason = kReasons[arguments_.Below(std::size(kReasons))];
    report.step = arguments_.Below(8);
    // Nodes execute inside of a step.
    if (report.step > 0) report.node_id = arguments_.Below(3);
    if (report.reason == model::PauseReason::kWatchpoint) {
      report.watchpoints = {2, 1};
    }
    Deliver("paused", report, [&](ReferenceJob& job, uint32_t rank) {
      job.OnRunReport(rank, report);
    });
  }

  void ReportOutcome() {
    jobs::CommandOutcome outcome;
    if (arguments_.Below(2) == 1)
      outcome.error = absl::InternalError("refused");
    const uint8_t back = arguments_.Below(4);
    const uint8_t pick = arguments_.Take();
    if (streams_.empty()) return;
    const Stream& stream = streams_[pick % streams_.size()];
    const std::vector<uint64_t>& sent = stream.job->model.SentTo(stream.rank);
    outcome.command_id =
        back < sent.size() ? sent[sent.size() - 1 - back] : back;
    DeliverTo(stream, "outcome", outcome,
              [&](ReferenceJob& job, uint32_t rank) {
                job.OnOutcome(rank, outcome);
              });
  }

  void ReportExit() {
    jobs::ExitReport report;
    report.terminated = arguments_.Below(2) == 1;
    report.steps = arguments_.Below(8);
    Deliver("exit", report, [&](ReferenceJob& job, uint32_t rank) {
      job.OnExit(rank, report);
    });
  }

  void ReportGraph() {
    graph::GraphPatch patch;
    const std::map<uint32_t, std::string> names = {{1, "forward/a"},
                                                   {2, "forward/b"}};
    for (const auto& [id, name] : names) {
      graph::NodeRecord node;
      node.id = id;
      node.name = name;
      patch.nodes.push_back(std::move(node));
    }
    Deliver("graph", patch, [&](ReferenceJob& job, uint32_t rank) {
      job.OnGraph(rank, names);
    });
  }

  // Delivers the report on one of the open streams, old ones included.
  template <class Report, class Model>
  void Deliver(const char* what, const Report& report, const Model& model) {
    const uint8_t pick = arguments_.Take();
    if (streams_.empty()) return;
    DeliverTo(streams_[pick % streams_.size()], what, report, model);
  }

  template <class Report, class Model>
  void DeliverTo(const Stream& stream, const char* what, const Report& report,
                 const Model& model) {
    last_call_ = absl::StrCat(what, " report of rank ", stream.rank,
                              ", stream ", stream.number);
    BeginCall();
    const bool current =
        stream.job->model.IsCurrent(stream.rank, stream.number);
    if (current) model(stream.job->model, stream.rank);
    std::vector<absl::Status> answers;
    stream.port->Deliver(report, [&answers](const absl::Status& status) {
      answers.push_back(status);
    });
    Settle();
    if (answers.size() != 1 || answers[0].ok() != current) {
      Fail("a report was not answered as its stream deserves");
    }
    EndCall();
  }

  void CloseAny() {
    const uint8_t pick = arguments_.Take();
    if (!streams_.empty()) CloseStream(pick % streams_.size());
  }

  void CloseStream(size_t index) {
    const Stream stream = streams_[index];
    streams_.erase(streams_.begin() + static_cast<ptrdiff_t>(index));
    last_call_ =
        absl::StrCat("end of rank ", stream.rank, "'s stream ", stream.number);
    BeginCall();
    if (stream.job->model.IsCurrent(stream.rank, stream.number)) {
      stream.job->model.OnClosed(stream.rank);
    }
    stream.port->Closed();
    Settle();
    EndCall();
  }

  // --- Clients --------------------------------------------------------------
  void Control() {
    constexpr ControlVerb kVerbs[] = {
        ControlVerb::kContinue, ControlVerb::kStep,
        ControlVerb::kNextNode, ControlVerb::kContinueTo,
        ControlVerb::kPause,    ControlVerb::kTerminate,
        ControlVerb::kRecheck,  ControlVerb::kContinue};
    model::ControlRequest request;
    request.verb = kVerbs[arguments_.Below(std::size(kVerbs))];
    const uint8_t options = arguments_.Take();
    request.steps = options % 4;
    request.pending = options & 4;
    request.node = options & 8 ? "forward/a" : "forward/none";
    if (options & 16) request.rank = (options >> 5) % 4;
    ModelledJob* job = NewestJob();
    if (job == nullptr) return;
    last_call_ = absl::StrCat(
        "command ", std::string(model::ToString(request.verb)),
        request.rank ? absl::StrCat(" to rank ", *request.rank) : "");
    BeginCall();
    const std::string expected = job->model.OnControl(request);
    const auto id = Await<absl::StatusOr<std::string>>(
        directory_->Find(job->id)->Control(request));
    job->model.SawControlAnswer(expected, id.ok() ? "" : ReasonOf(id.status()),
                                id.ok() ? *id : "");
    result_.accepted_commands += id.ok();
    if (deadlines_pass_ && job->model.terminate_is_deferred()) {
      RunUntil([job] { return !job->model.terminate_is_deferred(); });
    }
    EndCall();
  }

  // --- Checks ---------------------------------------------------------------
  void BeginCall() {
    for (const auto& job : jobs_) job->model.BeginCall();
  }
  void EndCall() {
    for (const auto& job : jobs_) {
      if (!job->model.removed()) job->model.EndCall();
    }
  }

  void CheckDescriptions() {
    for (const auto& job : jobs_) {
      const std::shared_ptr<jobs::Job> real = directory_->Find(job->id);
      if ((real == nullptr) != job->model.removed()) {
        // A later job may have the id of one that was removed.
        if (job.get() == Find(job->id)) Fail("a job was lost or came back");
        continue;
      }
      if (real == nullptr) continue;
      const auto info = Await<absl::StatusOr<model::Job>>(real->Describe());
      if (info.ok()) job->model.SawDescription(*info);
    }
  }

  void CheckNothingInProgress() {
    for (const auto& job : jobs_) {
      if (!job->model.removed() && job->model.commands_in_progress() != 0) {
        Fail("commands of ranks that have gone never got a result");
      }
    }
  }

  // --- Jobs -----------------------------------------------------------------
  ModelledJob* NewestJob() {
    for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
      if (!(*it)->model.removed()) return it->get();
    }
    return nullptr;
  }
  // The newest one of this id.
  ModelledJob* Find(const std::string& id) {
    for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
      if ((*it)->id == id) return it->get();
    }
    return nullptr;
  }

  // No id is used again while there is another run.
  ModelledJob& AddJob() {
    if (NewestJob() == nullptr) last_run_ = 0;
    auto job = std::make_unique<ModelledJob>();
    job->run = ++last_run_;
    job->id = job->run == 1 ? kRequestedId
                            : absl::StrCat(kRequestedId, "-", job->run);
    job->model.BeginCall();
    jobs_.push_back(std::move(job));
    return *jobs_.back();
  }

  // --- Time -----------------------------------------------------------------
  void Settle() {
    io_->restart();
    io_->poll();
  }

  // Lets deadlines that are due pass.
  void RunUntil(const std::function<bool()>& done) {
    while (!done()) {
      io_->restart();
      if (io_->run_one_for(std::chrono::seconds(10)) == 0) {
        return Fail("a deadline had no effect");
      }
    }
    Settle();
  }

  template <class T>
  T Await(boost::asio::awaitable<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(
        *io_,
        [&result,
         task = std::move(task)]() mutable -> boost::asio::awaitable<void> {
          result.emplace(co_await std::move(task));
        },
        boost::asio::detached);
    Settle();
    if (result) return *std::move(result);
    Fail("a request was not answered");
    return T(absl::InternalError("not answered"));
  }

  void Fail(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }
  std::string Violation() const {
    for (const auto& job : jobs_) {
      if (!job->model.violation().empty()) {
        return absl::StrCat("job ", job->id, ": ", job->model.violation());
      }
    }
    return violation_;
  }

  Bytes script_;
  // The bytes that the current call may consume.
  Bytes arguments_{nullptr, 0};
  const uint32_t world_size_;
  const bool deadlines_pass_;
  std::unique_ptr<boost::asio::io_context> io_ =
      std::make_unique<boost::asio::io_context>(1);
  const std::shared_ptr<MemoryJournal> journal_;
  std::shared_ptr<jobs::JobDirectory> directory_;
  std::shared_ptr<void> events_;
  // Removed ones, too.
  std::vector<std::unique_ptr<ModelledJob>> jobs_;
  // The run with the highest number.
  uint32_t last_run_ = 0;
  // By rank and incarnation, the job that the process was in last.
  std::map<std::pair<uint32_t, std::string>, ModelledJob*> processes_;
  std::vector<Stream> streams_;
  std::string last_call_;
  std::string violation_;
  ScriptResult result_;
};

}  // namespace

ScriptResult RunScript(const uint8_t* data, size_t size) {
  if (size == 0) return {};
  return Session(Bytes(data + 1, size - 1), data[0]).Run();
}

}  // namespace graphdbg::session
