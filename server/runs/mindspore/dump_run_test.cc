// Whole dumps.
#include "server/runs/mindspore/dump_run.h"

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "proto/mindspore/graph.pb.h"
#include "server/base/error.h"
#include "server/runs/check.h"

namespace graphdbg::dumps {
namespace {

constexpr char kFirst[] = "Default/net/Conv2D-op1";
constexpr char kSecond[] = "Default/net/ReLU-op2";

std::string Npy(const std::vector<float>& values) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
      std::to_string(values.size()) + ",), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()),
              values.size() * sizeof(float));
  return file;
}

class DumpRunTest : public ::testing::Test {
 protected:
  DumpRunTest()
      : path_(::testing::TempDir() + "/dump_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~DumpRunTest() override { std::filesystem::remove_all(path_); }

  void Write(const std::string& file, const std::string& bytes) {
    const std::filesystem::path path = path_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // Conv2D-op1 reads a parameter, and ReLU-op2 reads Conv2D-op1.
  void WriteGraph(int rank = 0) {
    debugger::ModelProto model;
    debugger::GraphProto& graph = *model.mutable_graph();
    graph.set_name("kernel_graph_0");
    graph.add_parameters()->set_name("conv1.weight");
    const auto add = [&](const char* name, const char* op, const char* full,
                         const char* input) {
      auto& node = *graph.add_node();
      node.set_name(name);
      node.set_op_type(op);
      node.set_full_name(full);
      node.add_input()->set_name(input);
      auto& type = *node.mutable_output_type();
      type.set_data_type(debugger::DT_TENSOR);
      type.mutable_tensor_type()->set_elem_type(debugger::DT_FLOAT32);
      type.mutable_tensor_type()->mutable_shape()->add_dim()->set_size(2);
    };
    add("1", "Conv2D", kFirst, "conv1.weight");
    add("2", "ReLU", kSecond, "1");
    Write("rank_" + std::to_string(rank) +
              "/graphs/ms_output_trace_code_graph_0.pb",
          model.SerializeAsString());
  }
  void WriteNpy(int iteration, const std::string& name,
                const std::vector<float>& values, int rank = 0) {
    Write("rank_" + std::to_string(rank) + "/Net/0/" +
              std::to_string(iteration) + "/" + name + ".DefaultFormat.npy",
          Npy(values));
  }

  std::unique_ptr<DumpRun> Open() {
    auto run = std::make_unique<DumpRun>("dump", *recorded::Folder::Open(path_),
                                         nullptr);
    run->Refresh();
    return run;
  }
  static std::vector<float> ValuesOf(DumpRun& run, const std::string& node,
                                     uint64_t step) {
    model::TensorQuery query;
    query.node = node;
    const auto value = run.Tensor(query, step);
    EXPECT_TRUE(value.ok()) << value.status();
    if (!value.ok()) return {};
    std::vector<float> values(value->data.size() / sizeof(float));
    std::memcpy(values.data(), value->data.data(), value->data.size());
    return values;
  }
  static model::CheckReport Check(DumpRun& run, const std::string& condition) {
    model::CheckSpec spec;
    spec.watchpoint.condition.id = condition;
    const auto check = run.PrepareCheck(spec);
    EXPECT_TRUE(check.ok()) << check.status();
    boost::asio::thread_pool threads(2);
    (*check)->Start(threads.get_executor());
    threads.join();
    return (*check)->Report();
  }

  const std::string path_;
};

TEST_F(DumpRunTest, RecognizesDumps) {
  EXPECT_FALSE(IsDump(*recorded::Folder::Open(path_)));
  Write("2024/notes.txt", "");
  EXPECT_FALSE(IsDump(*recorded::Folder::Open(path_)));
  WriteGraph();
  EXPECT_TRUE(IsDump(*recorded::Folder::Open(path_)));
  std::filesystem::create_directories(path_ + "/rank_0/.dump_metadata");
  EXPECT_TRUE(IsDump(*recorded::Folder::Open(path_ + "/rank_0")));
  std::filesystem::remove_all(path_ + "/rank_0");
  Write("Net/device_1/iteration_4/notes.txt", "");
  EXPECT_TRUE(IsDump(*recorded::Folder::Open(path_)));
}

TEST_F(DumpRunTest, AsynchronousDumpsOfOldReleases) {
  WriteNpy(0, "ReLU.ReLU-op2.0.0.16.output.0", {1, 2});
  std::filesystem::rename(path_ + "/rank_0", path_ + "/3");
  std::filesystem::rename(path_ + "/3/Net", path_ + "/3/Net_graph_0");
  const auto run = Open();
  const model::Run description = run->Describe();
  ASSERT_EQ(description.job.ranks.size(), 1u);
  EXPECT_EQ(description.job.ranks[0].rank, 3u);
  EXPECT_EQ(description.last_step, 1u);
}

TEST_F(DumpRunTest, TheLastExecutionOfAnOpCounts) {
  WriteGraph();
  WriteNpy(0, "ReLU.ReLU-op2.0.0.20.output.0", {3, 4});
  WriteNpy(0, "ReLU.ReLU-op2.0.0.19.output.0", {1, 2});
  const auto run = Open();
  EXPECT_EQ(ValuesOf(*run, kSecond, 1), (std::vector<float>{3, 4}));
}

TEST_F(DumpRunTest, AnInputHasTheValuesOfItsProducer) {
  WriteGraph();
  WriteNpy(0, "ReLU.ReLU-op2.0.0.20.input.0", {3, 4});
  WriteNpy(0, "Conv2D.Conv2D-op1.0.0.10.input.0", {5, NAN});
  const auto run = Open();
  EXPECT_EQ(ValuesOf(*run, kFirst, 1), (std::vector<float>{3, 4}));
  const model::CheckReport report = Check(*run, "nan");
  ASSERT_EQ(report.hits.size(), 1u);
  EXPECT_EQ(report.hits[0].hit.node, "Default/net/conv1.weight");
}

TEST_F(DumpRunTest, ParametersAndConstants) {
  WriteGraph();
  WriteNpy(1, "Parameter.conv1_weight.0.0.9.output.0", {7, 8});
  const auto run = Open();
  EXPECT_EQ(ValuesOf(*run, "Default/net/conv1.weight", 2),
            (std::vector<float>{7, 8}));
}

TEST_F(DumpRunTest, StepsAreIterationsFromOne) {
  WriteGraph();
  WriteNpy(8, "ReLU.ReLU-op2.0.0.2000000.output.0", {1, 2});
  WriteNpy(9, "ReLU.ReLU-op2.0.0.4000000.output.0", {3, 4});
  WriteNpy(9, "Conv2D.Conv2D-op1.0.0.3000000.output.0", {3, 4});
  Write("rank_0/execution_order/ms_global_execution_order_graph_0.csv",
        "7\n8\n9\n9\n");
  const auto run = Open();
  const auto page = run->Steps({});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->steps.size(), 2u);
  EXPECT_EQ(page->steps[0].step, 9u);
  EXPECT_EQ(page->steps[0].passes, 1u);
  EXPECT_EQ(page->steps[1].step, 10u);
  EXPECT_EQ(page->steps[1].passes, 2u);
  EXPECT_EQ(page->steps[1].records, 2u);
  EXPECT_EQ(page->steps[1].begin_unix_nano, 3'000'000'000);
  EXPECT_EQ(page->steps[1].seconds, 1);
}

TEST_F(DumpRunTest, TheExecutionOrderIsThatOfItsFile) {
  WriteGraph();
  Write("rank_0/execution_order/ms_execution_order_graph_0.csv",
        std::string("NodeName\n") + kSecond + "\n" + kFirst + "\n");
  WriteNpy(0, "ReLU.ReLU-op2.0.0.20.output.0", {NAN, 1});
  WriteNpy(0, "Conv2D.Conv2D-op1.0.0.10.output.0", {NAN, 1});
  const auto run = Open();
  const model::CheckReport report = Check(*run, "nan");
  ASSERT_EQ(report.hits.size(), 2u);
  EXPECT_EQ(report.hits[0].hit.node, kSecond);
}

TEST_F(DumpRunTest, OverflowsOfTheDeviceAreHits) {
  WriteGraph();
  WriteNpy(0, "ReLU.ReLU-op2.5.7.20.output.0", {1, 2});
  Write("rank_0/Net/0/0/Opdebug.Node_OpDebug.9.7.21.output.0.json",
        R"({"AI Core": {"status": 1, "task_id": 5, "stream_id": 7}})");
  const auto run = Open();
  const auto hits = run->hits().Query({});
  ASSERT_TRUE(hits.ok());
  ASSERT_EQ(hits->hits.size(), 1u);
  EXPECT_EQ(hits->hits[0].node, kSecond);
  EXPECT_EQ(hits->hits[0].step, 1u);
  EXPECT_EQ(hits->hits[0].condition->id, "operator_overflow");
}

TEST_F(DumpRunTest, ARankThatAppearsLaterIsRead) {
  WriteGraph();
  WriteNpy(0, "ReLU.ReLU-op2.0.0.20.output.0", {1, 2});
  const auto run = Open();
  EXPECT_EQ(ValuesOf(*run, kSecond, 1), (std::vector<float>{1, 2}));
  WriteGraph(1);
  WriteNpy(1, "ReLU.ReLU-op2.0.0.20.output.0", {5, 6}, 1);
  WriteNpy(1, "ReLU.ReLU-op2.0.0.20.output.0", {3, 4});
  run->Refresh();
  EXPECT_EQ(ValuesOf(*run, kSecond, 2), (std::vector<float>{3, 4}));
  EXPECT_EQ(run->Describe().job.world_size, 2u);
}

TEST_F(DumpRunTest, LinksAreRefusedAndNamed) {
  WriteGraph();
  WriteNpy(0, "ReLU.ReLU-op2.0.0.20.output.0", {1, 2});
  const std::string file =
      path_ + "/rank_0/Net/0/0/Conv2D.Conv2D-op1.0.0.1.output.0.F.npy";
  std::filesystem::create_symlink("/etc/passwd", file);
  const auto run = Open();
  model::TensorQuery query;
  query.node = kFirst;
  const auto value = run->Tensor(query, 1);
  EXPECT_TRUE(absl::IsDataLoss(value.status())) << value.status();
  EXPECT_TRUE(run->Describe().damage.contains(file));
}

TEST_F(DumpRunTest, ValuesThatWereNotDumpedNameTheNearestStep) {
  WriteGraph();
  WriteNpy(0, "ReLU.ReLU-op2.0.0.20.output.0", {1, 2});
  WriteNpy(4, "Conv2D.Conv2D-op1.0.0.20.output.0", {1, 2});
  const auto run = Open();
  model::TensorQuery query;
  query.node = kSecond;
  const auto value = run->Tensor(query, 5);
  EXPECT_EQ(ReasonOf(value.status()), "not_recorded");
  EXPECT_NE(value.status().message().find("step is 1"), std::string::npos)
      << value.status();
}

TEST_F(DumpRunTest, CannotBeSearchedForADivergence) {
  WriteGraph();
  EXPECT_EQ(ReasonOf(Open()->CopyForComparison(0).status()), "not_comparable");
}

}  // namespace
}  // namespace graphdbg::dumps
