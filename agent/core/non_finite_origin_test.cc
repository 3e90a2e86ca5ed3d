#include "agent/core/non_finite_origin.h"

#include <limits>
#include <list>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr uint64_t kStep = 3;

class NonFiniteOriginTest : public testing::Test {
 protected:
  NonFiniteOriginTest() {
    graphdbg_host callbacks = {};
    callbacks.struct_size = sizeof(callbacks);
    callbacks.retain = [](void*, void*) {};
    callbacks.release = [](void*, void*) {};
    host_ = Host(&callbacks);
  }

  // Executes a new node with one output; returns its id.
  uint32_t Execute(const char* op_type, const std::vector<float>& values,
                   uint32_t flags = 0, uint64_t storage = 0) {
    const std::string name = "node" + std::to_string(++order_);
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name.c_str();
    info.kind = GRAPHDBG_OP;
    info.op_type = op_type;
    const uint32_t node = *nodes_.Declare(info);
    memory_.push_back(values);
    sizes_.push_back(static_cast<int64_t>(values.size()));
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT32;
    tensor.data = memory_.back().data();
    tensor.ndim = 1;
    tensor.shape = &sizes_.back();
    tensor.storage_id = storage != 0 ? storage : 100 + node;
    tensor.owner = &memory_.back();
    graphdbg_execution raw = {};
    raw.struct_size = sizeof(raw);
    raw.node = node;
    raw.flags = flags;
    raw.outputs = &tensor;
    raw.output_count = 1;
    const Execution execution = ExecutionOf(raw);
    nodes_.Learn(execution, order_ + 100, kStep - 1);
    nodes_.Learn(execution, order_, kStep);
    if ((flags & GRAPHDBG_UNINITIALIZED) != 0) {
      nodes_.Facts(node)->uninitialized_in_step = kStep;
    }
    kept_.KeepOutputs(node, execution.outputs, (flags & GRAPHDBG_IN_PLACE) != 0,
                      kStep);
    return node;
  }

  std::optional<v1::NonFiniteOrigin> Find(bool nan, bool pos_inf = false) {
    NonFinite wanted;
    wanted.nan = nan;
    wanted.pos_inf = pos_inf;
    return FindOrigin(wanted, kStep, &kept_, nodes_, nullptr);
  }

  Host host_;
  NodeTable nodes_;
  KeptTensors kept_{&host_, 1 << 20};
  std::list<std::vector<float>> memory_;
  std::list<int64_t> sizes_;
  uint64_t order_ = 0;
};

TEST_F(NonFiniteOriginTest, IsTheFirstOutputInTheOrderOfExecution) {
  Execute("aten::mm", {1, 2});
  const uint32_t root = Execute("aten::sqrt", {1, kNan});
  Execute("aten::add", {kNan, kNan});
  const auto origin = Find(/*nan=*/true);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->step(), kStep);
  EXPECT_EQ(origin->node_id(), root);
  EXPECT_EQ(origin->order(), 2u);
  EXPECT_FALSE(origin->received());
}

TEST_F(NonFiniteOriginTest, IsTheCollectiveThatHasReceivedThem) {
  constexpr uint64_t kBucket = 7;
  // The collective has overwritten what was in the bucket before.
  Execute("aten::mul", {kNan, 2}, 0, kBucket);
  const uint32_t collective =
      Execute("c10d::allreduce_", {kNan, 2}, GRAPHDBG_IN_PLACE, kBucket);
  Execute("aten::copy_", {kNan, 2});
  const auto origin = Find(/*nan=*/true);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->node_id(), collective);
  EXPECT_TRUE(origin->received());
}

TEST_F(NonFiniteOriginTest, InfinitiesCountIfThereIsNoNan) {
  Execute("aten::masked_fill", {-kInf, 1});
  const uint32_t overflow = Execute("aten::exp", {kInf, 1});
  EXPECT_EQ(Find(/*nan=*/false, /*pos_inf=*/true)->node_id(), overflow);
  EXPECT_FALSE(Find(/*nan=*/true, /*pos_inf=*/true));
}

TEST_F(NonFiniteOriginTest, UninitializedMemoryDoesNotCount) {
  Execute("aten::empty", {kNan}, GRAPHDBG_UNINITIALIZED);
  EXPECT_FALSE(Find(/*nan=*/true));
}

}  // namespace
}  // namespace graphdbg::agent
