#include "agent/recording/last_ops.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "agent/recording/testing/recovered_rank.h"

namespace graphdbg::recording {
namespace {

agent::StartedOp Op(uint32_t node, uint64_t step = 1) {
  agent::StartedOp op;
  op.node = node;
  op.step = step;
  op.exec_order = node;
  return op;
}

class LastOpsTest : public testing::Test {
 protected:
  LastOpsTest() { unlink(path_.c_str()); }

  std::shared_ptr<LastOps> Create() {
    auto ops = LastOps::Create(path_, RingOwner());
    EXPECT_TRUE(ops.ok()) << ops.status();
    return *std::move(ops);
  }

  std::vector<runs::LastOp> Read() const {
    const auto ops = runs::ReadLastOps(ReadFile(path_));
    EXPECT_TRUE(ops.ok()) << ops.status();
    return *ops;
  }

  const std::string path_ = testing::TempDir() + "/ring.gdbr.ops";
};

TEST_F(LastOpsTest, AnOpIsUnfinishedUntilItEnds) {
  const auto ops = Create();
  EXPECT_TRUE(Read().empty());
  ops->Begin(Op(7, 3));
  ASSERT_EQ(Read().size(), 1u);
  EXPECT_TRUE(Read()[0].unfinished);
  EXPECT_EQ(Read()[0].node, 7u);
  EXPECT_EQ(Read()[0].step, 3u);
  EXPECT_EQ(Read()[0].exec_order, 7u);
  EXPECT_GT(Read()[0].begin_unix_ns, 0u);
  ops->End();
  EXPECT_FALSE(Read()[0].unfinished);
  // An end without a beginning has no effect.
  ops->End();
  EXPECT_FALSE(Read()[0].unfinished);
  ops->Begin(Op(8));
  EXPECT_TRUE(Read()[0].unfinished);
}

TEST_F(LastOpsTest, KeepsTheNameOfANewNodeUntilAnotherOneBegins) {
  const auto ops = Create();
  const std::string name = "forward/conv1";
  agent::StartedOp op = Op(7);
  op.name = name;
  op.file = "/home/user/train.py";
  op.line = 12;
  ops->Begin(op);
  EXPECT_EQ(Read()[0].name, name);
  EXPECT_EQ(Read()[0].file, "/home/user/train.py");
  EXPECT_EQ(Read()[0].line, 12u);
  ops->End();
  ops->Begin(Op(8));
  EXPECT_EQ(Read()[0].name, "");
  ops->End();
  ops->Begin(Op(7));
  EXPECT_EQ(Read()[0].name, "");
}

TEST_F(LastOpsTest, CutsLongNamesAndLeavesOutLongPaths) {
  const auto ops = Create();
  const std::string name(4096, 'n');
  agent::StartedOp op = Op(7);
  op.name = name;
  op.file = "a.py";
  op.line = 1;
  ops->Begin(op);
  EXPECT_EQ(Read()[0].name, std::string(464, 'n'));
  EXPECT_EQ(Read()[0].file, "");
  EXPECT_EQ(Read()[0].line, 0u);
}

TEST_F(LastOpsTest, EachThreadHasASlotUntilItEnds) {
  const auto ops = Create();
  ops->Begin(Op(1));
  for (uint32_t i = 0; i < 2 * runs::kLastOpSlots; ++i) {
    std::thread([&] {
      ops->Begin(Op(100 + i));
      EXPECT_EQ(Read().size(), 2u);
      EXPECT_TRUE(ops->OthersRun());
    }).join();
  }
  ASSERT_EQ(Read().size(), 1u);
  EXPECT_EQ(Read()[0].node, 1u);
  EXPECT_FALSE(ops->OthersRun());
}

TEST_F(LastOpsTest, TooManyThreadsAreNotFollowed) {
  const auto ops = Create();
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> begun{0};
  for (uint32_t i = 0; i < runs::kLastOpSlots + 3; ++i) {
    threads.emplace_back([&, i] {
      ops->Begin(Op(i + 1));
      ++begun;
      while (!stop) std::this_thread::yield();
      ops->End();
    });
  }
  while (begun < threads.size()) std::this_thread::yield();
  EXPECT_EQ(Read().size(), runs::kLastOpSlots);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LastOpsTest, SurvivesTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    const auto ops = Create();
    ops->Begin(Op(7));
    ops->End();
    ops->Begin(Op(8));
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(Read().size(), 1u);
  EXPECT_EQ(Read()[0].node, 8u);
  EXPECT_TRUE(Read()[0].unfinished);
}

TEST_F(LastOpsTest, AForkedChildLeavesItsParentsSlot) {
  const auto ops = Create();
  ops->Begin(Op(7));
  const pid_t child = fork();
  // Runs the destructors of this thread's variables.
  if (child == 0) exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read().size(), 1u);
}

TEST_F(LastOpsTest, AThreadMayOutliveIt) {
  auto ops = Create();
  std::thread([&] {
    ops->Begin(Op(7));
    ops.reset();
  }).join();
  EXPECT_TRUE(Read().empty());
}

}  // namespace
}  // namespace graphdbg::recording
