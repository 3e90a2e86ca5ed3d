#include "tests/fuzz/trial/recorded_jobs.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "server/jobs/directory.h"
#include "server/store/store.h"

namespace graphdbg::trial {
namespace {

class NullLink final : public jobs::AgentLink {
 public:
  void Send(jobs::AgentOrder) override {}
  void Close(absl::Status) override {}
};

// The jobs of one store, on one thread.
class Jobs {
 public:
  explicit Jobs(std::shared_ptr<jobs::Journal> journal)
      : journal_(std::move(journal)) {
    jobs::JobOptions options;
    options.journal = journal_;
    directory_ = jobs::MakeDirectory(io_.get_executor(), std::move(options));
    thread_ = std::thread([this] { io_.run(); });
  }

  ~Jobs() {
    io_.stop();
    thread_.join();
    directory_.reset();
    journal_->Close();
  }

  jobs::JobDirectory& directory() { return *directory_; }

  template <class T>
  T Await(boost::asio::awaitable<T> task) {
    return boost::asio::co_spawn(io_, std::move(task), boost::asio::use_future)
        .get();
  }

  std::shared_ptr<jobs::AgentPort> Attach(jobs::AgentHello hello) {
    std::promise<std::shared_ptr<jobs::AgentPort>> attached;
    directory_->Attach(std::move(hello), std::make_shared<NullLink>(),
                       [&attached](auto port) {
                         if (!port.ok()) std::abort();
                         attached.set_value(*port);
                       });
    return attached.get_future().get();
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work_{io_.get_executor()};
  const std::shared_ptr<jobs::Journal> journal_;
  std::shared_ptr<jobs::JobDirectory> directory_;
  std::thread thread_;
};

void Deliver(jobs::AgentPort& port, jobs::AgentReport report) {
  std::promise<void> taken;
  port.Deliver(std::move(report), [&taken](const absl::Status& status) {
    if (!status.ok()) std::abort();
    taken.set_value();
  });
  taken.get_future().wait();
}

graph::GraphPatch Graph() {
  graph::GraphPatch patch;
  patch.scope_types = {{"forward", "Net"}};
  for (uint32_t id = 1; id <= 3; ++id) {
    graph::NodeRecord node;
    node.id = id;
    node.name = std::string("forward/n") + std::to_string(id);
    node.op_type = "aten::relu";
    node.outputs = {{0, {DType::kFloat32, {2, 3}}}};
    if (id > 1) node.inputs = {{id - 1, 0, false}};
    node.stack = {{"train.py", 10 + id, "forward", "x = relu(x)", true}};
    node.attributes = {{"inplace", "False"}};
    node.order = id;
    patch.nodes.push_back(std::move(node));
  }
  return patch;
}

model::WatchpointSpec Watchpoint() {
  model::WatchpointSpec spec;
  spec.condition.id = "inf";
  spec.selection.patterns = {"forward/*"};
  return spec;
}

jobs::HitReport Hit(uint64_t number) {
  jobs::HitReport report;
  report.number = number;
  report.node_id = 2;
  report.hit.watchpoint = 1;
  report.hit.revision = 1;
  report.hit.step = number;
  report.hit.statistics.count = 6;
  report.hit.actual = {{"inf_count", 1}};
  return report;
}

void RecordJob(Jobs& jobs, const std::string& id, bool finishes) {
  jobs::AgentHello hello;
  hello.job = id;
  hello.job_name = "train.py";
  hello.incarnation = id;
  const std::shared_ptr<jobs::AgentPort> port = jobs.Attach(hello);
  const std::shared_ptr<jobs::Job> job = jobs.directory().Find(id);
  Deliver(*port, Graph());
  (void)jobs.Await(job->AddWatchpoint(Watchpoint()));
  model::WatchpointChange change;
  change.enabled = true;
  (void)jobs.Await(job->ChangeWatchpoint(1, std::move(change)));
  jobs::RunReport running;
  running.step = 2;
  Deliver(*port, running);
  for (uint64_t number = 1; number <= 2; ++number) Deliver(*port, Hit(number));
  jobs::ExitReport exit;
  exit.steps = 2;
  exit.exception = model::Exception{"ValueError", "bad", "traceback", ""};
  if (finishes) Deliver(*port, exit);
  port->Closed();
  // The last record is durable once a later request is.
  (void)jobs.Await(job->AddWatchpoint(Watchpoint()));
}

void ReadJob(Jobs& jobs, jobs::Job& job) {
  const auto description = jobs.Await(job.Describe());
  if (!description.ok()) std::abort();
  (void)jobs.Await(job.Watchpoints());
  (void)jobs.Await(job.Hits({}));
  (void)jobs.Await(job.NewestHits(10));
  const auto graphs = jobs.Await(job.Graphs());
  if (!graphs.ok()) std::abort();
  for (const model::GraphSummary& graph : *graphs) {
    (void)jobs.Await(job.Scope(graph.id, "", 10));
    const auto page = jobs.Await(job.Export(graph.id, 0));
    if (!page.ok()) continue;
    for (const model::ExportNode& node : page->nodes) {
      (void)jobs.Await(job.Node(node.node.name));
      (void)jobs.Await(job.History(node.node.name, 0, 0));
    }
  }
}

}  // namespace

std::string RecordJobs(const std::string& directory) {
  auto journal = store::OpenStore(directory);
  if (!journal.ok()) std::abort();
  {
    Jobs jobs(*journal);
    if (!jobs.directory().Restore().ok()) std::abort();
    RecordJob(jobs, "finished", true);
    RecordJob(jobs, "lost", false);
  }
  journal->reset();
  std::ifstream file(directory + "/graphdbg.db", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ReadJobs(const std::string& directory) {
  auto journal = store::OpenStore(directory);
  if (!journal.ok()) return std::string(journal.status().message());
  Jobs jobs(*std::move(journal));
  const absl::Status restored = jobs.directory().Restore();
  for (const auto& job : jobs.directory().Jobs()) ReadJob(jobs, *job);
  return std::string(restored.message());
}

}  // namespace graphdbg::trial
