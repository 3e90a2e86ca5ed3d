// Uses real files: one server records jobs, the next one loads them.
#include "server/store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/store/sqlite.h"

namespace graphdbg::store {
namespace {

namespace fs = std::filesystem;
using jobs::Journal;
using jobs::SavedJob;

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    dir_ = fs::path(testing::TempDir()) /
           testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }

  std::string file() const { return (dir_ / "graphdbg.db").string(); }

  std::shared_ptr<Journal> Open(StoreOptions options = {}) {
    auto journal = OpenStore(dir_.string(), std::move(options));
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *journal : nullptr;
  }
  // The message of the error with which the store refuses to open.
  std::string Refusal() {
    auto journal = OpenStore(dir_.string());
    EXPECT_FALSE(journal.ok());
    return std::string(journal.status().message());
  }

  static std::map<std::string, SavedJob> Load(Journal& journal) {
    std::map<std::string, SavedJob> jobs;
    auto loaded = journal.Load([&](SavedJob job) {
      const std::string id = job.id;
      jobs.emplace(id, std::move(job));
    });
    EXPECT_TRUE(loaded.ok()) << loaded;
    return jobs;
  }

  static absl::Status Kept(jobs::JobJournal& job) {
    auto kept = std::make_shared<std::promise<absl::Status>>();
    job.WhenDurable([kept](absl::Status status) { kept->set_value(status); });
    return kept->get_future().get();
  }

  // What the next server would find if this one was killed now.
  std::map<std::string, SavedJob> Crash() {
    const fs::path copy = dir_.string() + ".copy";
    fs::remove_all(copy);
    fs::copy(dir_, copy);
    auto journal = OpenStore(copy.string());
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? Load(**journal) : std::map<std::string, SavedJob>();
  }

  static std::string Content(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path dir_;
};

jobs::AgentHello HelloOf(const std::string& incarnation) {
  jobs::AgentHello hello;
  hello.job = "train";
  hello.rank = 3;
  hello.job_name = "train.py";
  hello.world_size = 4;
  hello.pid = 1234;
  hello.incarnation = incarnation;
  return hello;
}

// Adds nodes a and b to the graph; b reads a.
graph::GraphPatch Patch(const std::string& graph, const std::string& scope) {
  graph::GraphPatch patch;
  patch.graph = graph;
  graph::NodeRecord a;
  a.id = 11;
  a.name = scope + "/a";
  a.kind = model::NodeKind::kParameter;
  a.category = model::Category::kWeight;
  a.outputs = {{0, {DType::kFloat32, {2, 3}}}};
  graph::NodeRecord b;
  b.id = 12;
  b.name = scope + "/b";
  b.op_type = "relu";
  b.inputs = {{11, 0, false}};
  b.outputs = {{1, {DType::kFloat16, {}}}};
  b.stack = {{"train.py", 7, "main", "b = relu(a)", true},
             {"lib.py", 8, "run", "", false}};
  b.attributes = {{"inplace", "true"}};
  b.order = 5;
  b.first_step = 1;
  b.last_step = 2;
  b.forward_node_id = 11;
  patch.nodes = {a, b};
  patch.scope_types = {{scope, "ReLU"}};
  return patch;
}

TEST_F(StoreTest, CountsTheServersThatUsedIt) {
  for (uint64_t life : {0, 1, 2}) {
    auto journal = Open();
    EXPECT_EQ(journal->generation(), life);
    Load(*journal);
  }
}

TEST_F(StoreTest, KeepsJobsInTheirOrderWithTheirRanks) {
  {
    auto journal = Open();
    auto second = journal->Open("train-2", "train", 22);
    auto first = journal->Open("a", "a", 11);
    second->RecordHello(3, HelloOf("x"), false);
    jobs::RunState run;
    run.state = model::JobState::kFinished;
    run.step = 9;
    run.node = "forward/log";
    run.stopped_by = {1, 4};
    jobs::ExitReport farewell;
    farewell.exit_code = 1;
    farewell.exception = {"ValueError", "no", "trace", "forward/log"};
    second->RecordState(3, run, &farewell);
    EXPECT_TRUE(Kept(*second).ok());
  }
  auto journal = Open();
  std::vector<std::string> ids;
  ASSERT_TRUE(journal->Load([&](SavedJob job) { ids.push_back(job.id); }).ok());
  EXPECT_EQ(ids, (std::vector<std::string>{"train-2", "a"}));
  const SavedJob job = std::move(Load(*journal).at("train-2"));
  EXPECT_EQ(job.requested_id, "train");
  EXPECT_EQ(job.created_at_unix_nano, 22);
  ASSERT_EQ(job.ranks.count(3), 1u);
  const jobs::SavedRank& rank = job.ranks.at(3);
  EXPECT_EQ(rank.hello.job, "train");
  EXPECT_EQ(rank.hello.rank, 3u);
  EXPECT_EQ(rank.hello.incarnation, "x");
  EXPECT_EQ(rank.hello.pid, 1234u);
  EXPECT_EQ(rank.run.state, model::JobState::kFinished);
  EXPECT_EQ(rank.run.stopped_by, (std::vector<uint32_t>{1, 4}));
  ASSERT_TRUE(rank.exit_report.has_value());
  EXPECT_EQ(rank.exit_report->exit_code, 1);
  EXPECT_EQ(rank.exit_report->exception->type, "ValueError");
}

TEST_F(StoreTest, KeepsAGraphWithTheSameIndices) {
  graph::GraphStore graph;
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    job->RecordHello(0, HelloOf("x"), false);
    graph::AgentIds ids;
    for (const auto& patch :
         {Patch("", "forward/one"), Patch("other", "two")}) {
      graph::GraphChanges changes;
      graph::AgentIds& sender = ids;
      sender = {};
      ASSERT_TRUE(graph.Apply(patch, sender, &changes).ok());
      job->RecordGraph(0, graph, changes);
    }
    job->RecordLastSteps(graph);
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  SavedJob job = std::move(Load(*journal).at("train"));
  EXPECT_EQ(job.ranks.at(0).ids.Find(12), 3u);
  graph::GraphStore again;
  again.RestoreFrames(job.frames);
  graph::AgentIds ids;
  for (const auto& patch : job.patches) {
    ASSERT_TRUE(again.Apply(patch, ids).ok());
  }
  again.RestoreLastSteps(job.last_steps);
  ASSERT_EQ(again.node_count(), graph.node_count());
  ASSERT_EQ(again.frame_count(), graph.frame_count());
  for (graph::NodeIndex i = 0; i < graph.node_count(); ++i) {
    EXPECT_EQ(again.node(i).name, graph.node(i).name);
    EXPECT_EQ(again.node(i).kind, graph.node(i).kind);
    EXPECT_EQ(again.node(i).category, graph.node(i).category);
    EXPECT_EQ(again.node(i).op_type, graph.node(i).op_type);
    EXPECT_EQ(again.node(i).graph, graph.node(i).graph);
    EXPECT_EQ(again.node(i).inputs, graph.node(i).inputs);
    EXPECT_EQ(again.node(i).outputs, graph.node(i).outputs);
    EXPECT_EQ(again.node(i).stack, graph.node(i).stack);
    EXPECT_EQ(again.node(i).attributes, graph.node(i).attributes);
    EXPECT_EQ(again.node(i).forward, graph.node(i).forward);
    EXPECT_EQ(again.node(i).order, graph.node(i).order);
    EXPECT_EQ(again.node(i).last_step, graph.node(i).last_step);
  }
  EXPECT_EQ(again.scope(*again.FindScope("other", "two")).type, "ReLU");
}

TEST_F(StoreTest, ANodeThatComesAgainUnchangedIsNotWrittenAgain) {
  graph::GraphStore graph;
  graph::AgentIds ids;
  graph::GraphChanges first;
  ASSERT_TRUE(graph.Apply(Patch("", "s"), ids, &first).ok());
  EXPECT_EQ(first.nodes.size(), 2u);
  EXPECT_EQ(first.ids.size(), 2u);
  graph::GraphChanges again;
  ASSERT_TRUE(graph.Apply(Patch("", "s"), ids, &again).ok());
  EXPECT_TRUE(again.nodes.empty());
  EXPECT_TRUE(again.scopes.empty());
  EXPECT_TRUE(again.ids.empty());
}

TEST_F(StoreTest, KeepsWatchpointsWithAllTheirRevisions) {
  model::WatchpointSpec spec;
  spec.condition.id = "expression";
  spec.condition.params = {{"value", 0.5}};
  spec.condition.text_params = {{"expression", "max > 1"}};
  spec.selection.nodes = {"a", "b"};
  spec.selection.scopes = {"s"};
  spec.selection.patterns = {"**"};
  spec.selection.categories = {model::Category::kGradient};
  spec.pause = model::PauseMode::kStep;
  spec.enabled = false;
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    job->RecordWatchpoint(2, 1, &spec);
    job->RecordWatchpoint(1, 1, &spec);
    job->RecordWatchpoint(1, 2, nullptr);
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  const SavedJob job = std::move(Load(*journal).at("train"));
  ASSERT_EQ(job.watchpoints.size(), 3u);
  EXPECT_EQ(job.watchpoints[0].id, 1u);
  EXPECT_FALSE(job.watchpoints[1].spec.has_value());
  EXPECT_EQ(job.watchpoints[2].id, 2u);
  const model::WatchpointSpec& again = *job.watchpoints[2].spec;
  EXPECT_EQ(again.condition.params, spec.condition.params);
  EXPECT_EQ(again.condition.text_params, spec.condition.text_params);
  EXPECT_EQ(again.selection.nodes, spec.selection.nodes);
  EXPECT_EQ(again.selection.scopes, spec.selection.scopes);
  EXPECT_EQ(again.selection.patterns, spec.selection.patterns);
  EXPECT_EQ(again.selection.categories, spec.selection.categories);
  EXPECT_EQ(again.pause, model::PauseMode::kStep);
  EXPECT_FALSE(again.enabled);
}

TEST_F(StoreTest, KeepsHitsWithTheirValuesAndTheProcessesNumbers) {
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    job->RecordHello(0, HelloOf("x"), false);
    watch::HitRecord record;
    record.node = 0;
    model::Hit& hit = record.hit;
    hit.id = 1;
    hit.watchpoint = 7;
    hit.revision = 2;
    hit.step = 5;
    hit.actual = {{"max", 3.5}};
    hit.statistics.count = 6;
    hit.statistics.max = 3.5;
    hit.type = {DType::kFloat32, {2, 3}};
    hit.origin = model::Origin::kOrigin;
    hit.source = std::make_shared<const model::SourceLine>(
        model::SourceLine{"train.py", 3, "f", "x", true});
    hit.error = "no previous value";
    hit.time_unix_nano = 99;
    job->RecordHit(record, 41, true);
    hit.id = 2;
    job->RecordHit(record, 42, false);
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  const SavedJob job = std::move(Load(*journal).at("train"));
  EXPECT_EQ(job.hit_total, 2u);
  EXPECT_EQ(job.ranks.at(0).last_hit, 42u);
  ASSERT_EQ(job.hits.size(), 1u);
  const model::Hit& hit = job.hits[0].hit;
  EXPECT_EQ(hit.id, 1u);
  EXPECT_EQ(hit.revision, 2u);
  EXPECT_EQ(hit.actual.at("max"), 3.5);
  EXPECT_EQ(hit.statistics.count, 6u);
  EXPECT_EQ(hit.statistics.max, 3.5);
  EXPECT_FALSE(hit.statistics.min.has_value());
  EXPECT_EQ(hit.type.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(hit.origin, model::Origin::kOrigin);
  EXPECT_EQ(hit.source->line, 3u);
  EXPECT_EQ(hit.error, "no previous value");
  EXPECT_EQ(hit.time_unix_nano, 99);
}

TEST_F(StoreTest, KeepsStatisticsByStepUntilTheyAreDropped) {
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    model::Statistics statistics;
    for (uint64_t step : {9, 2, 5}) {
      statistics.count = 10 * step;
      job->RecordStatistics(1, 7, 2, step, statistics);
    }
    statistics.count = 99;
    job->RecordStatistics(1, 7, 2, 9, statistics);
    job->EraseStatistics(1, 7, 2, 2);
    // Another tensor, and a step that has no record.
    job->EraseStatistics(1, 7, 1, 5);
    job->EraseStatistics(1, 7, 2, 4);
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  const SavedJob job = std::move(Load(*journal).at("train"));
  ASSERT_EQ(job.statistics.size(), 2u);
  EXPECT_EQ(job.statistics[0].step, 5u);
  EXPECT_EQ(job.statistics[1].step, 9u);
  EXPECT_EQ(job.statistics[1].rank, 1u);
  EXPECT_EQ(job.statistics[1].node, 7u);
  EXPECT_EQ(job.statistics[1].slot, 2u);
  EXPECT_EQ(job.statistics[1].statistics.count, 99u);
}

TEST_F(StoreTest, AnotherProcessStartsItsNumbersAnew) {
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    job->RecordHello(0, HelloOf("x"), false);
    graph::GraphStore graph;
    graph::AgentIds ids;
    graph::GraphChanges changes;
    ASSERT_TRUE(graph.Apply(Patch("", "s"), ids, &changes).ok());
    job->RecordGraph(0, graph, changes);
    watch::HitRecord record;
    record.hit.id = 1;
    job->RecordHit(record, 41, true);
    // The same process reconnects: nothing changes.
    job->RecordHello(0, HelloOf("x"), true);
    EXPECT_TRUE(Kept(*job).ok());
    EXPECT_EQ(Load(*journal).at("train").ranks.at(0).last_hit, 41u);
    job->RecordHello(0, HelloOf("y"), false);
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  const SavedJob job = std::move(Load(*journal).at("train"));
  EXPECT_EQ(job.ranks.at(0).last_hit, 0u);
  EXPECT_EQ(job.ranks.at(0).hello.incarnation, "y");
  EXPECT_TRUE(job.ranks.at(0).ids.nodes.empty());
}

TEST_F(StoreTest, AForgottenJobIsGoneWithItsRowsAndItsIdIsFree) {
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 1);
    job->RecordHello(0, HelloOf("x"), false);
    job->RecordStatistics(0, 0, 0, 5, {});
    job->Forget();
    journal->Open("train", "train", 2);
  }
  auto journal = Open();
  const auto jobs = Load(*journal);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs.at("train").created_at_unix_nano, 2);
  EXPECT_TRUE(jobs.at("train").ranks.empty());
  journal.reset();
  auto db = Database::Open(file());
  ASSERT_TRUE(db.ok());
  EXPECT_EQ(*db->Number("SELECT count(*) FROM rank"), 0);
  EXPECT_EQ(*db->Number("SELECT count(*) FROM statistics"), 0);
}

TEST_F(StoreTest, ARestoredJobGoesOnWhereItWas) {
  Open()->Open("train", "train", 1);
  {
    auto journal = Open();
    auto jobs = Load(*journal);
    jobs.at("train").journal->RecordHello(0, HelloOf("x"), false);
    // A new job does not overwrite it.
    journal->Open("next", "next", 2);
  }
  auto journal = Open();
  const auto jobs = Load(*journal);
  EXPECT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs.at("train").ranks.size(), 1u);
}

TEST_F(StoreTest, TellsWhenMoreIsKeptThanWasAllowed) {
  StoreOptions small;
  small.max_bytes = 256 << 10;
  auto journal = Open(small);
  auto job = journal->Open("train", "train", 1);
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_FALSE(journal->over_limit());
  jobs::AgentHello hello = HelloOf("x");
  hello.peer = std::string(512 << 10, 'x');
  job->RecordHello(0, hello, false);
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_TRUE(journal->over_limit());
  job->Forget();
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_FALSE(journal->over_limit());
}

TEST_F(StoreTest, RefusesASecondServer) {
  auto journal = Open();
  const std::string line = Refusal();
  EXPECT_NE(line.find("another server"), std::string::npos) << line;
  EXPECT_NE(line.find(std::to_string(getpid())), std::string::npos) << line;
  journal.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(StoreTest, LeavesADamagedFileAlone) {
  Open()->Open("train", "train", 1);
  std::string content = Content(file());
  // Damages everything after the header.
  for (size_t i = 4096; i < content.size(); ++i) content[i] = 'x';
  std::ofstream(file(), std::ios::binary) << content;
  auto journal = OpenStore(dir_.string());
  absl::Status status = journal.status();
  if (journal.ok()) {
    status = (*journal)->Load([](const SavedJob&) {});
    journal->reset();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find(file()), std::string::npos) << status;
  EXPECT_EQ(Content(file()), content);

  std::ofstream(file(), std::ios::binary) << "no database, but a long text";
  EXPECT_NE(Refusal().find(file()), std::string::npos);
  EXPECT_EQ(Content(file()), "no database, but a long text");
}

TEST_F(StoreTest, LeavesAFileOfANewerVersionAlone) {
  Open();
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->Run("PRAGMA user_version = 1000").ok());
  }
  const std::string content = Content(file());
  const std::string line = Refusal();
  EXPECT_NE(line.find("newer"), std::string::npos) << line;
  EXPECT_NE(line.find(file()), std::string::npos) << line;
  EXPECT_EQ(Content(file()), content);
}

TEST_F(StoreTest, LeavesAnotherProgramsDatabaseAlone) {
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->Run("CREATE TABLE theirs (x)").ok());
  }
  EXPECT_NE(Refusal().find("another program"), std::string::npos);
}

TEST_F(StoreTest, AnIdCanBeUsedAgainAtOnce) {
  auto journal = Open();
  auto first = journal->Open("train", "train", 1);
  first->Forget();
  auto second = journal->Open("train", "train", 2);
  // What still arrives for the forgotten job changes nothing.
  first->RecordHello(0, HelloOf("x"), false);
  EXPECT_TRUE(Kept(*first).ok());
  EXPECT_TRUE(Kept(*second).ok());
  EXPECT_EQ(Crash().at("train").created_at_unix_nano, 2);
}

TEST_F(StoreTest, KeepsOnlyTheConditionOfEarlierRevisions) {
  model::WatchpointSpec spec;
  spec.condition = {"max_gt", {{"value", 1.0}}};
  spec.selection.nodes = {std::string(100'000, 'x')};
  auto journal = Open();
  auto job = journal->Open("train", "train", 0);
  for (uint32_t revision = 1; revision <= 3; ++revision) {
    job->RecordWatchpoint(1, revision, &spec);
  }
  job->EraseRevision(1, 2);
  EXPECT_TRUE(Kept(*job).ok());
  const SavedJob saved = std::move(Crash().at("train"));
  ASSERT_EQ(saved.watchpoints.size(), 2u);
  EXPECT_EQ(saved.watchpoints[0].revision, 1u);
  EXPECT_EQ(saved.watchpoints[0].spec->condition.id, "max_gt");
  EXPECT_EQ(saved.watchpoints[0].spec->condition.params.at("value"), 1.0);
  EXPECT_TRUE(saved.watchpoints[0].spec->selection.nodes.empty());
  EXPECT_EQ(saved.watchpoints[1].revision, 3u);
  EXPECT_EQ(saved.watchpoints[1].spec->selection.nodes.size(), 1u);
}

TEST_F(StoreTest, ARowThatCannotBeReadConcernsItsJobAlone) {
  {
    auto journal = Open();
    model::WatchpointSpec spec;
    spec.condition.id = "nan";
    for (const char* id : {"bad", "good"}) {
      auto job = journal->Open(id, id, 1);
      job->RecordHello(0, HelloOf("x"), false);
      job->RecordWatchpoint(1, 1, &spec);
      job->RecordStatistics(0, 0, 0, 5, {});
    }
  }
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(
        db->Run("UPDATE watchpoint SET record = x'ff' WHERE job = 1").ok());
  }
  auto journal = Open();
  auto jobs = Load(*journal);
  EXPECT_EQ(jobs.at("good").damage, "");
  EXPECT_EQ(jobs.at("good").watchpoints.size(), 1u);
  EXPECT_NE(jobs.at("bad").damage.find("table watchpoint"), std::string::npos);
  EXPECT_EQ(jobs.at("bad").ranks.size(), 1u);
  EXPECT_EQ(jobs.at("bad").statistics.size(), 1u);
  // It can be removed.
  jobs.at("bad").journal->Forget();
  EXPECT_TRUE(Kept(*jobs.at("bad").journal).ok());
  EXPECT_EQ(Crash().count("bad"), 0u);
}

TEST_F(StoreTest, ARecordThatIsNotAcceptedConcernsItsJobAlone) {
  std::vector<std::string> lines;
  StoreOptions options;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  auto journal = Open(options);
  auto job = journal->Open("train", "train", 1);
  // A second row with the same id violates a constraint.
  auto twin = journal->Open("train", "train", 2);
  job->RecordHello(0, HelloOf("x"), false);
  twin->RecordHello(0, HelloOf("y"), false);
  EXPECT_FALSE(Kept(*twin).ok());
  EXPECT_FALSE(twin->status().ok());
  EXPECT_TRUE(Kept(*job).ok());
  EXPECT_TRUE(job->status().ok());
  EXPECT_FALSE(journal->storage().failing);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(file()), std::string::npos);
  EXPECT_EQ(Crash().at("train").ranks.at(0).hello.incarnation, "x");
}

// A disk that takes nothing more, not even a test's output if that is a file.
// Removing the limit is what happens when a user makes room.
class FullDisk {
 public:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { MakeRoom(); }
  void MakeRoom() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class FailingStoreTest : public StoreTest {
 protected:
  FailingStoreTest() {
    options_.log = [this](std::string_view line) { lines_.emplace_back(line); };
    options_.first_pause = std::chrono::milliseconds(1);
    options_.longest_pause = std::chrono::milliseconds(4);
    journal_ = Open(options_);
    journal_->Listen(
        [this] { changes_.push_back(journal_->storage().failing); });
    job_ = journal_->Open("train", "train", 1);
    EXPECT_TRUE(Kept(*job_).ok());
  }

  void Hello(const std::string& incarnation) {
    job_->RecordHello(0, HelloOf(incarnation), false);
  }

  // Returns when everything recorded so far is durable, however long it takes.
  void AwaitRecovery() {
    std::promise<absl::Status> durable;
    job_->OnceDurable(
        [&](absl::Status status) { durable.set_value(std::move(status)); });
    EXPECT_TRUE(durable.get_future().get().ok());
  }

  StoreOptions options_;
  std::vector<std::string> lines_;
  std::vector<bool> changes_;
  std::shared_ptr<Journal> journal_;
  std::unique_ptr<jobs::JobJournal> job_;
};

TEST_F(FailingStoreTest, NothingIsAcknowledgedUntilThereIsRoomAgain) {
  bool durable = false;
  {
    FullDisk disk;
    Hello("x");
    job_->OnceDurable([&](const absl::Status&) { durable = true; });
    EXPECT_FALSE(Kept(*job_).ok());
    EXPECT_FALSE(job_->status().ok());
    const model::Storage storage = journal_->storage();
    EXPECT_TRUE(storage.failing);
    EXPECT_NE(storage.reason.find(file()), std::string::npos);
    EXPECT_GT(storage.since_unix_nano, 0);
    // Not even what is recorded now, and at once.
    job_->RecordStatistics(0, 7, 2, 5, {});
    EXPECT_FALSE(Kept(*job_).ok());
    EXPECT_FALSE(durable);
  }
  AwaitRecovery();
  EXPECT_TRUE(durable);
  EXPECT_TRUE(Kept(*job_).ok());
  EXPECT_FALSE(journal_->storage().failing);
  const SavedJob saved = std::move(Crash().at("train"));
  EXPECT_EQ(saved.ranks.at(0).hello.incarnation, "x");
  EXPECT_EQ(saved.statistics.size(), 1u);
  // One line and one call when it begins, and one when it ends.
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_EQ(changes_, (std::vector<bool>{true, false}));
}

TEST_F(FailingStoreTest, StatisticsAreDroppedBeforeMemoryIsFull) {
  journal_.reset();
  options_.max_waiting_bytes = 100'000;
  journal_ = Open(options_);
  Load(*journal_);
  job_ = journal_->Open("next", "next", 1);
  EXPECT_TRUE(Kept(*job_).ok());
  FullDisk disk;
  Hello("x");
  EXPECT_FALSE(Kept(*job_).ok());
  for (uint64_t step = 0; step < 2'000; ++step) {
    job_->RecordStatistics(0, 7, 2, step, {});
  }
  EXPECT_FALSE(journal_->full());
  EXPECT_GT(journal_->storage().dropped_statistics, 1'000u);
  jobs::RunState run;
  run.node = std::string(100'000, 'x');
  job_->RecordState(0, run, nullptr);
  EXPECT_TRUE(journal_->full());
  EXPECT_TRUE(job_->full());
  disk.MakeRoom();
  AwaitRecovery();
  EXPECT_FALSE(journal_->full());
  EXPECT_EQ(journal_->storage().waiting_bytes, 0u);
  const SavedJob saved = std::move(Crash().at("next"));
  EXPECT_EQ(saved.ranks.at(0).run.node.size(), 100'000u);
  EXPECT_GT(saved.statistics.size(), 10u);
}

TEST_F(FailingStoreTest, ADirectoryThatWasTakenAwayCountsAsFailure) {
  const fs::path elsewhere = dir_.string() + ".elsewhere";
  fs::remove_all(elsewhere);
  fs::rename(dir_, elsewhere);
  Hello("x");
  const absl::Status kept = Kept(*job_);
  EXPECT_NE(kept.message().find("removed"), absl::string_view::npos) << kept;
  fs::rename(elsewhere, dir_);
  AwaitRecovery();
  EXPECT_EQ(Crash().at("train").ranks.size(), 1u);
}

TEST_F(FailingStoreTest, EndsWhileItFails) {
  FullDisk disk;
  Hello("x");
  EXPECT_FALSE(Kept(*job_).ok());
  journal_->Close();
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_[1].find("lost"), std::string::npos) << lines_[1];
}

TEST_F(StoreTest, DoesNotWriteThroughALink) {
  const fs::path target = dir_ / "precious";
  for (const char* name : {"lock", "graphdbg.db"}) {
    std::ofstream(target) << "precious";
    fs::create_symlink(target, dir_ / name);
    EXPECT_NE(Refusal().find("link"), std::string::npos);
    fs::remove(dir_ / name);
    EXPECT_EQ(Content(target), "precious");
  }
  fs::remove(dir_ / "lock");
  fs::create_hard_link(target, dir_ / "lock");
  EXPECT_NE(Refusal().find("lock"), std::string::npos);
  EXPECT_EQ(Content(target), "precious");
  fs::remove(dir_ / "lock");
  ASSERT_EQ(mkfifo((dir_ / "lock").c_str(), 0600), 0);
  EXPECT_NE(Refusal().find("lock"), std::string::npos);
}

TEST_F(StoreTest, RefusesADirectoryThatOthersMayWrite) {
  fs::permissions(dir_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(Refusal().find("chmod go-w"), std::string::npos);
  fs::permissions(dir_, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_NE(Open(), nullptr);
}

}  // namespace
}  // namespace graphdbg::store
