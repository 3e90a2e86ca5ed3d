// Tests that the next server finds what was recorded.
#include "server/store/store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/store/sqlite.h"
#include "server/store/testing/store_fixture.h"

namespace graphdbg::store {
namespace {

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
    farewell.metrics = {{"accuracy", 0.75}};
    second->RecordState(3, run, &farewell, 33);
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
  EXPECT_EQ(rank.changed_at_unix_nano, 33);
  EXPECT_EQ(rank.run.stopped_by, (std::vector<uint32_t>{1, 4}));
  ASSERT_TRUE(rank.exit_report.has_value());
  EXPECT_EQ(rank.exit_report->exit_code, 1);
  EXPECT_EQ(rank.exit_report->exception->type, "ValueError");
  EXPECT_EQ(rank.exit_report->metrics.at("accuracy"), 0.75);
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
    graph::GraphPatch source;
    source.files = {{"train.py", "import torch\n"}};
    graph::GraphChanges changes;
    ASSERT_TRUE(graph.Apply(source, ids, &changes).ok());
    job->RecordGraph(0, graph, changes);
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
    EXPECT_TRUE(again.node(i).digest == graph.node(i).digest);
    EXPECT_EQ(again.node(i).order, graph.node(i).order);
    EXPECT_EQ(again.node(i).last_step, graph.node(i).last_step);
  }
  EXPECT_EQ(again.FindDigest(503), again.FindNode("two/b"));
  EXPECT_EQ(again.scope(*again.FindScope("other", "two")).type, "ReLU");
  ASSERT_NE(again.FileText("train.py"), nullptr);
  EXPECT_EQ(*again.FileText("train.py"), "import torch\n");
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
  spec.selection.regexes = {"a|b"};
  spec.selection.op_types = {"addmm"};
  spec.selection.sources = {"model.py:3"};
  spec.selection.dtypes = {DType::kFloat16};
  spec.selection.ranks = {0, 7};
  spec.selection.exclude.scopes = {"aux"};
  spec.pause = model::PauseMode::kStep;
  spec.enabled = false;
  spec.once = true;
  spec.ignore_count = 3;
  spec.muted_until_step = 9;
  spec.group = "loss";
  spec.actions = {
      model::PauseAction(), model::StopAction(), model::LogAction(),
      model::CaptureAction(),
      model::RecordAction{model::RecordLevel::kStatistics, {"weights"}, 7}};
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
  EXPECT_EQ(again.selection, spec.selection);
  EXPECT_EQ(again.pause, model::PauseMode::kStep);
  EXPECT_FALSE(again.enabled);
  EXPECT_TRUE(again.once);
  EXPECT_EQ(again.ignore_count, 3u);
  EXPECT_EQ(again.muted_until_step, 9u);
  EXPECT_EQ(again.group, "loss");
  EXPECT_EQ(again.actions, spec.actions);
}

TEST_F(StoreTest, KeepsTheRulesThatWereRecordedLast) {
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    job->RecordRules({"train", "{}"});
    job->RecordRules({"train.2", R"({"rules": []})"});
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  const SavedJob job = std::move(Load(*journal).at("train"));
  EXPECT_EQ(job.rules.run, "train.2");
  EXPECT_EQ(job.rules.json, R"({"rules": []})");
}

TEST_F(StoreTest, KeepsOriginsOfValuesThatAreNotFinite) {
  {
    auto journal = Open();
    auto job = journal->Open("train", "train", 0);
    job->RecordOrigin({3, 0, 1, 0, 40, true});
    job->RecordOrigin({5, 0, 1, 0, 41, true});
    job->RecordOrigin({5, 2, 7, 1, 8, false});
    job->RecordOrigin({5, 2, 7, 1, 9, false});
    job->EraseOrigins(3);
    EXPECT_TRUE(Kept(*job).ok());
  }
  auto journal = Open();
  const SavedJob job = std::move(Load(*journal).at("train"));
  ASSERT_EQ(job.origins.size(), 2u);
  EXPECT_TRUE(job.origins[0].received);
  const jobs::SavedOrigin& sender = job.origins[1];
  EXPECT_EQ(sender.step, 5u);
  EXPECT_EQ(sender.rank, 2u);
  EXPECT_EQ(sender.node, 7u);
  EXPECT_EQ(sender.slot, 1u);
  EXPECT_EQ(sender.order, 9u);
  EXPECT_FALSE(sender.received);
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
    hit.inputs = {{3, {DType::kFloat16, {4}}, hit.statistics}};
    hit.origin = model::Origin::kOrigin;
    hit.source = std::make_shared<const model::SourceLine>(
        model::SourceLine{"train.py", 3, "f", "x", true});
    hit.error = "no previous value";
    hit.absorbed = true;
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
  ASSERT_EQ(hit.inputs.size(), 1u);
  EXPECT_EQ(hit.inputs[0].position, 3u);
  EXPECT_EQ(hit.inputs[0].type.dtype, DType::kFloat16);
  EXPECT_EQ(hit.inputs[0].statistics.max, 3.5);
  EXPECT_EQ(hit.origin, model::Origin::kOrigin);
  EXPECT_EQ(hit.source->line, 3u);
  EXPECT_EQ(hit.error, "no previous value");
  EXPECT_TRUE(hit.absorbed);
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

TEST_F(StoreTest, AnIdCanBeUsedAgainAtOnce) {
  auto journal = Open();
  auto first = journal->Open("train", "train", 1);
  first->Forget();
  auto second = journal->Open("train", "train", 2);
  // Reports that still arrive for the forgotten job change nothing.
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

TEST_F(StoreTest, RemembersTheNewestRunOfANameThatHasOthers) {
  {
    auto journal = Open();
    journal->Open("train", "train", 1);
    journal->Open("train-2", "train", 2)->Forget();
    journal->Open("other", "other", 3)->Forget();
  }
  auto journal = Open();
  EXPECT_EQ(Load(*journal).at("train").newest_id, "train-2");
  journal.reset();
  auto db = Database::Open(file());
  ASSERT_TRUE(db.ok());
  EXPECT_EQ(*db->Number("SELECT count(*) FROM newest_run"), 1);
}

TEST_F(StoreTest, ReadsFilesOfTheFirstVersion) {
  {
    auto journal = Open();
    journal->Open("train", "train", 1);
    journal->Open("train-2", "train", 2);
  }
  {
    auto db = Database::Open(file());
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->Run("DROP TABLE newest_run; DROP TABLE rules; "
                        "DROP TABLE origin; DROP TABLE source_file; "
                        "PRAGMA user_version = 1")
                    .ok());
  }
  auto journal = Open();
  const auto jobs = Load(*journal);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs.at("train").newest_id, "train-2");
}

}  // namespace
}  // namespace graphdbg::store
