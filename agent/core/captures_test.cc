#include "agent/core/captures.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "proto/wire/error.h"

namespace graphdbg::agent {
namespace {

namespace fs = std::filesystem;

// A program with one op, whose tape has 4 bytes of memory.
struct Program {
  std::string error;
  std::string reason;
  std::vector<uint32_t> asked;
  bool whole_step = false;
  const char* why_not_step = nullptr;
  // As it was set last, with its budget.
  graphdbg_tape_mode mode = GRAPHDBG_TAPE_OFF;
  uint64_t budget = 0;
  const unsigned char memory[4] = {'l', 'e', 'a', 'f'};
};

void Capture(void* user, uint32_t node, uint32_t, uint32_t,
             void (*take)(void* context, const graphdbg_tape* tape),
             void* context) {
  auto& program = *static_cast<Program*>(user);
  program.asked.push_back(node);
  const int64_t size = sizeof(program.memory);
  graphdbg_tensor leaf = {};
  leaf.struct_size = sizeof(leaf);
  leaf.dtype = GRAPHDBG_UINT8;
  leaf.data = program.memory;
  leaf.ndim = 1;
  leaf.shape = &size;
  const char* const name = "s0";
  graphdbg_tape tape = {};
  tape.struct_size = sizeof(tape);
  tape.text = R"({"ops":[{"node":"forward/log"}],"storages":[{"leaf":"s0",)"
              R"("after":{"op":"c10d::allreduce_","node":"backward/sum"}}]})";
  const char* const state_name = "r4";
  tape.whole_step = program.whole_step ? 1 : 0;
  tape.why_not_step = program.why_not_step;
  tape.random = &leaf;
  tape.random_names = &state_name;
  tape.random_count = 1;
  tape.leaves = &leaf;
  tape.leaf_names = &name;
  tape.leaf_count = 1;
  if (!program.error.empty()) {
    tape.error = program.error.c_str();
    tape.reason = program.reason.c_str();
  }
  take(context, &tape);
}

const char* Environment(void*) { return R"({"python":"3.11"})"; }

void SetTape(void* user, graphdbg_tape_mode mode, uint64_t budget) {
  static_cast<Program*>(user)->mode = mode;
  static_cast<Program*>(user)->budget = budget;
}

const char* Training(void*) {
  return R"({"optimizers":[{"class":"SGD"}],"random":{"python":[7,8]}})";
}

class CapturesTest : public testing::Test {
 protected:
  CapturesTest()
      : host_(MakeHost(&program_)),
        devices_(&host_, [](const std::string&) {}),
        writer_({&host_, &devices_, &nodes_}),
        captures_(
            {&config_, &host_, &nodes_, &writer_,
             [this](const std::string& line) { lines_.push_back(line); }}) {
    std::string directory = testing::TempDir() + "/bundles-XXXXXX";
    directory_ = mkdtemp(directory.data());
    config_.job = "train/1";
    config_.bundles.directory = directory_ + "/new/deep";
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = "forward/log";
    info.kind = GRAPHDBG_OP;
    info.op_type = "aten::log";
    node_ = *nodes_.Declare(info);
  }
  ~CapturesTest() override { fs::remove_all(directory_); }

  static Host MakeHost(Program* program) {
    graphdbg_host host = {};
    host.struct_size = sizeof(host);
    host.user = program;
    host.capture = Capture;
    host.environment = Environment;
    host.set_tape = SetTape;
    host.training = Training;
    return Host(&host);
  }

  void Watch(uint32_t id, bool capture) {
    v1::SetWatchpoint watchpoint;
    watchpoint.set_id(id);
    watchpoint.set_enabled(true);
    watchpoint.set_capture(capture);
    watchpoint.mutable_condition()->set_id("nan");
    captures_.Set(watchpoint);
  }

  v1::Hit Hit(uint32_t watchpoint, uint64_t step) const {
    v1::Hit hit;
    hit.set_watchpoint(watchpoint);
    hit.set_node_id(node_);
    hit.set_step(step);
    hit.mutable_statistics()->set_nan_count(3);
    return hit;
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    if (!fs::exists(config_.bundles.directory)) return files;
    for (const auto& entry :
         fs::directory_iterator(config_.bundles.directory)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  static std::string Content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  Program program_;
  Host host_;
  Config config_;
  NodeTable nodes_;
  Devices devices_;
  BundleWriter writer_;
  std::vector<std::string> lines_;
  Captures captures_;
  std::string directory_;
  uint32_t node_ = 0;
};

TEST_F(CapturesTest, WritesAHitOfAWatchpointWithTheAction) {
  Watch(1, true);
  Watch(2, false);
  captures_.OnHit(Hit(1, 7));
  captures_.OnHit(Hit(2, 7));
  captures_.WriteDue(7);
  const std::vector<fs::path> files = Files();
  ASSERT_EQ(files.size(), 1);
  EXPECT_EQ(files[0].filename(),
            "train_1-rank0-step000007-forward_log.0.graphdbg");
  struct stat status;
  ASSERT_EQ(stat(files[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
  const std::string content = Content(files[0]);
  for (const char* part :
       {"tape.json", "repro.py", "leaves.safetensors", "expected.safetensors",
        "graph.json", "environment.json", "manifest.json", "leaf",
        R"("python": "3.11")", R"("condition": "nan")", R"("nan_count": 3)",
        "# nan at forward/log:0, step 7 of the job train/1"}) {
    EXPECT_NE(content.find(part), std::string::npos) << part;
  }
  ASSERT_EQ(lines_.size(), 1);
  EXPECT_EQ(lines_[0], "wrote " + files[0].string());
}

TEST_F(CapturesTest, WritesAtMostTheNumberOfTheSettingsAndReplacesNoFile) {
  Watch(1, true);
  config_.bundles.keep = 2;
  for (uint64_t i = 0; i < 4; ++i) {
    captures_.OnHit(Hit(1, 7));
    captures_.WriteDue(7);
  }
  EXPECT_EQ(Files().size(), 2);
}

TEST_F(CapturesTest, HitsThatDoNotCountAreNotWritten) {
  Watch(1, true);
  v1::Hit absorbed = Hit(1, 7);
  absorbed.set_absorbed(true);
  captures_.OnHit(absorbed);
  v1::Hit told = Hit(1, 7);
  told.set_message("a finding about the training");
  captures_.OnHit(told);
  captures_.Remove(1);
  captures_.OnHit(Hit(1, 7));
  captures_.WriteDue(7);
  EXPECT_TRUE(program_.asked.empty());
}

TEST_F(CapturesTest, AFailureLeavesNoFileAndIsTold) {
  Watch(1, true);
  program_.error = "input of forward/log was overwritten by the op itself";
  program_.reason = "input_overwritten";
  captures_.OnHit(Hit(1, 7));
  captures_.WriteDue(7);
  EXPECT_TRUE(Files().empty());
  ASSERT_EQ(lines_.size(), 1);
  EXPECT_NE(lines_[0].find("overwritten by the op itself"), std::string::npos);
  // The step has ended.
  program_.error.clear();
  captures_.OnHit(Hit(1, 7));
  captures_.WriteDue(8);
  EXPECT_TRUE(Files().empty());
}

TEST_F(CapturesTest, CapturesTheNextExecutionForARule) {
  captures_.CaptureNext(node_, "rule 'spike'");
  captures_.Executed(node_ + 1, 3);
  captures_.WriteDue(3);
  EXPECT_TRUE(Files().empty());
  captures_.Executed(node_, 4);
  captures_.WriteDue(4);
  captures_.Executed(node_, 5);
  captures_.WriteDue(5);
  ASSERT_EQ(Files().size(), 1);
  EXPECT_NE(Content(Files()[0]).find("rule 'spike' at forward/log:0"),
            std::string::npos);
}

TEST_F(CapturesTest, ABundleOfAWholeStepHasItsStatesAndBoundaries) {
  Watch(1, true);
  program_.whole_step = true;
  captures_.OnHit(Hit(1, 7));
  captures_.WriteDue(7);
  ASSERT_EQ(Files().size(), 1);
  const std::string content = Content(Files()[0]);
  for (const char* part :
       {R"("level": "step")", "random.safetensors", R"("r4":{"dtype":"U8")",
        R"("python":{"dtype":"I64","shape":[2])", "training.json",
        R"("class": "SGD")", R"("op": "c10d::allreduce_")"}) {
    EXPECT_NE(content.find(part), std::string::npos) << part;
  }
}

TEST_F(CapturesTest, WhyABundleHasTheOpAloneIsInTheManifest) {
  Watch(1, true);
  program_.why_not_step = "the step needs more";
  captures_.OnHit(Hit(1, 7));
  captures_.WriteDue(7);
  ASSERT_EQ(Files().size(), 1);
  const std::string content = Content(Files()[0]);
  EXPECT_NE(content.find(R"("why_not_step": "the step needs more")"),
            std::string::npos);
  EXPECT_EQ(content.find("random.safetensors"), std::string::npos);
}

TEST_F(CapturesTest, TheTapeIsWhatTheWatchpointsNeed) {
  config_.bundles.tape_budget = 100;
  captures_.Start();
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_OFF);
  Watch(1, false);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_OFF);
  v1::SetWatchpoint gradients;
  gradients.set_id(2);
  gradients.set_enabled(true);
  gradients.set_capture(true);
  gradients.mutable_selection()->add_patterns("backward/**");
  captures_.Set(gradients);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_FORWARD_BACKWARD);
  EXPECT_EQ(program_.budget, 100);
  // All nodes, so those of the optimizer as well.
  Watch(1, true);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_WHOLE_STEP);
  captures_.Remove(1);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_FORWARD_BACKWARD);
  captures_.Remove(2);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_OFF);
}

TEST_F(CapturesTest, NoTapeIsKeptOnceAllBundlesAreWritten) {
  config_.bundles.keep = 1;
  Watch(1, true);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_WHOLE_STEP);
  captures_.OnHit(Hit(1, 7));
  captures_.WriteDue(7);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_OFF);
}

TEST_F(CapturesTest, TheConfigurationHasPrecedenceOverWatchpoints) {
  config_.bundles.tape = TapeSetting::kForwardBackward;
  captures_.Start();
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_FORWARD_BACKWARD);
  Watch(1, true);
  EXPECT_EQ(program_.mode, GRAPHDBG_TAPE_FORWARD_BACKWARD);
}

TEST_F(CapturesTest, AProgramThatCannotCaptureIsNotAsked) {
  graphdbg_host host = {};
  host.struct_size = sizeof(host);
  host_ = Host(&host);
  const absl::Status status =
      writer_.Write(captures_.SubjectOf(node_, 0, 1), {}, -1);
  EXPECT_EQ(wire::ReasonOf(status), "unsupported");
}

}  // namespace
}  // namespace graphdbg::agent
