// A store in a directory of its own: one server records jobs, the next one
// loads them.
#ifndef SERVER_STORE_TESTING_STORE_FIXTURE_H_
#define SERVER_STORE_TESTING_STORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "server/store/store.h"

namespace graphdbg::store {

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

  // The contents that the next server would find if this one were killed now.
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

inline jobs::AgentHello HelloOf(const std::string& incarnation) {
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
inline graph::GraphPatch Patch(const std::string& graph,
                               const std::string& scope) {
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
  b.digest = 500 + scope.size();
  patch.nodes = {a, b};
  patch.scope_types = {{scope, "ReLU"}};
  return patch;
}

}  // namespace graphdbg::store

#endif  // SERVER_STORE_TESTING_STORE_FIXTURE_H_
