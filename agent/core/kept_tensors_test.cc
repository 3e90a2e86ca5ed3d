#include "agent/core/kept_tensors.h"

#include <string>

#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

// float32 tensors whose owners count their references.
class KeptTensorsTest : public testing::Test {
 protected:
  KeptTensorsTest() {
    graphdbg_host callbacks = {};
    callbacks.struct_size = sizeof(callbacks);
    callbacks.retain = [](void*, void* owner) { ++*static_cast<int*>(owner); };
    callbacks.release = [](void*, void* owner) { --*static_cast<int*>(owner); };
    host_ = Host(&callbacks);
  }

  graphdbg_tensor Tensor(int64_t* elements, uint64_t storage, int* owner) {
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT32;
    tensor.data = memory_;
    tensor.ndim = 1;
    tensor.shape = elements;
    tensor.storage_id = storage;
    tensor.owner = owner;
    return tensor;
  }

  Host host_;
  float memory_[100] = {};
  int64_t ten_ = 10;
  int64_t twenty_ = 20;
  int owners_[4] = {};
};

TEST_F(KeptTensorsTest, HoldsAReferenceUntilCleared) {
  KeptTensors kept(&host_, 1000);
  kept.Keep(1, 0, Tensor(&ten_, 5, &owners_[0]), 3);
  EXPECT_EQ(owners_[0], 1);
  EXPECT_EQ(kept.bytes(), 40);
  auto tensor = kept.Find(1, 0);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->step(), 3u);
  EXPECT_EQ(tensor->tensor().shape[0], 10);
  EXPECT_EQ(kept.Find(1, 1), nullptr);
  kept.Clear();
  EXPECT_EQ(kept.Find(1, 0), nullptr);
  // A reader keeps it alive.
  EXPECT_EQ(owners_[0], 1);
  tensor.reset();
  EXPECT_EQ(owners_[0], 0);
  EXPECT_EQ(kept.bytes(), 0);
}

TEST_F(KeptTensorsTest, NamesOfDtypesAreCopied) {
  KeptTensors kept(&host_, 1000);
  // The framework may write other names to the same memory.
  char name[] = "int4";
  graphdbg_tensor tensor = Tensor(&ten_, 5, &owners_[0]);
  tensor.dtype = GRAPHDBG_DTYPE_OTHER;
  tensor.framework_dtype = name;
  kept.Keep(1, 0, tensor, 1);
  name[3] = '2';
  kept.Keep(2, 0, tensor, 1);
  tensor.dtype = GRAPHDBG_FLOAT32;
  name[3] = '8';
  kept.Keep(3, 0, tensor, 1);
  tensor.framework_dtype = nullptr;
  kept.Keep(4, 0, tensor, 1);
  name[3] = 'x';
  const auto name_of = [&kept](uint32_t node) {
    const auto found = kept.Find(node, 0);
    return found == nullptr ? std::string("none")
                            : std::string(found->tensor().framework_dtype);
  };
  EXPECT_EQ(name_of(1), "int4");
  EXPECT_EQ(name_of(2), "int2");
  EXPECT_EQ(name_of(3), "int8");
  EXPECT_EQ(name_of(4), "");
}

TEST_F(KeptTensorsTest, TheOldestGoesWhenTheBudgetIsFull) {
  KeptTensors kept(&host_, 100);
  kept.Keep(1, 0, Tensor(&ten_, 1, &owners_[0]), 1);
  kept.Keep(2, 0, Tensor(&ten_, 2, &owners_[1]), 1);
  kept.Keep(3, 0, Tensor(&ten_, 3, &owners_[2]), 1);
  EXPECT_EQ(owners_[0], 0);
  EXPECT_EQ(kept.Find(1, 0), nullptr);
  EXPECT_NE(kept.Find(2, 0), nullptr);
  EXPECT_EQ(kept.bytes(), 80);
}

TEST_F(KeptTensorsTest, WhatNeverFitsIsNotKept) {
  KeptTensors kept(&host_, 50);
  kept.Keep(1, 0, Tensor(&ten_, 1, &owners_[0]), 1);
  kept.Keep(2, 0, Tensor(&twenty_, 2, &owners_[1]), 1);
  EXPECT_EQ(owners_[1], 0);
  EXPECT_NE(kept.Find(1, 0), nullptr);
}

TEST_F(KeptTensorsTest, ViewsOfOneStorageCountOnce) {
  KeptTensors kept(&host_, 100);
  kept.Keep(1, 0, Tensor(&twenty_, 7, &owners_[0]), 1);
  kept.Keep(2, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  kept.Keep(3, 0, Tensor(&twenty_, 7, &owners_[0]), 1);
  EXPECT_EQ(kept.bytes(), 80);
  EXPECT_EQ(owners_[0], 3);
}

TEST_F(KeptTensorsTest, ANewValueOfTheSameNodeReplaces) {
  KeptTensors kept(&host_, 100);
  kept.Keep(1, 0, Tensor(&ten_, 1, &owners_[0]), 1);
  kept.Keep(1, 0, Tensor(&ten_, 2, &owners_[1]), 1);
  EXPECT_EQ(kept.Find(1, 0)->storage_id(), 2u);
  EXPECT_EQ(owners_[0], 0);
  EXPECT_EQ(kept.bytes(), 40);
}

TEST_F(KeptTensorsTest, ReplacedValuesGoEvenIfNobodyAsks) {
  KeptTensors kept(&host_, int64_t{1} << 40);
  for (int i = 0; i < 10'000; ++i) {
    kept.Keep(1, 0, Tensor(&ten_, 1, &owners_[0]), 1);
  }
  EXPECT_LT(owners_[0], 2'000);
  int64_t many = 10 << 20;
  for (uint64_t storage = 2; storage < 10; ++storage) {
    kept.Keep(2, 0, Tensor(&many, storage, &owners_[1]), 1);
    EXPECT_EQ(owners_[1], 1);
  }
}

TEST_F(KeptTensorsTest, WritesCountInTheOrderInWhichTheyWere) {
  KeptTensors kept(&host_, 1000);
  const auto write = [&](uint32_t node) {
    const graphdbg_tensor tensor = Tensor(&ten_, 7, &owners_[0]);
    kept.KeepOutputs(node, {&tensor, sizeof(tensor), 1}, /*wrote=*/true, 1);
  };
  kept.Keep(1, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  write(2);
  write(3);
  EXPECT_TRUE(kept.Overwritten(*kept.Find(1, 0)));
  EXPECT_TRUE(kept.Overwritten(*kept.Find(2, 0)));
  EXPECT_FALSE(kept.Overwritten(*kept.Find(3, 0)));
}

TEST_F(KeptTensorsTest, AWriteMarksWhatWasKeptBeforeIt) {
  KeptTensors kept(&host_, 1000);
  kept.Keep(1, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  kept.Keep(9, 0, Tensor(&ten_, 8, &owners_[1]), 1);
  EXPECT_FALSE(kept.Overwritten(*kept.Find(1, 0)));
  kept.RecordWrite(7);
  kept.Keep(2, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  EXPECT_TRUE(kept.Overwritten(*kept.Find(1, 0)));
  EXPECT_FALSE(kept.Overwritten(*kept.Find(2, 0)));
  EXPECT_FALSE(kept.Overwritten(*kept.Find(9, 0)));
}

TEST_F(KeptTensorsTest, WhatIsNotFollowedAnyMoreMayBeOverwritten) {
  KeptTensors kept(&host_, 1000);
  kept.Keep(1, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  auto tensor = kept.Find(1, 0);
  kept.Clear();
  EXPECT_TRUE(kept.Overwritten(*tensor));
  // Following the storage again does not change that.
  kept.Keep(1, 0, Tensor(&ten_, 7, &owners_[0]), 2);
  EXPECT_TRUE(kept.Overwritten(*tensor));
  EXPECT_FALSE(kept.Overwritten(*kept.Find(1, 0)));
}

TEST_F(KeptTensorsTest, SomeNodesMayStay) {
  KeptTensors kept(&host_, 1000);
  kept.Keep(1, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  kept.Keep(2, 1, Tensor(&twenty_, 8, &owners_[1]), 1);
  kept.ClearExcept({2});
  EXPECT_EQ(kept.bytes(), 80);
  EXPECT_EQ(owners_[0], 0);
  EXPECT_FALSE(kept.HasAnyOf(1));
  EXPECT_TRUE(kept.HasAnyOf(2));
  const auto all = kept.All();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].node, 2u);
  EXPECT_EQ(all[0].slot, 1u);
  // The storage is still followed.
  kept.RecordWrite(8);
  EXPECT_TRUE(kept.Overwritten(*all[0].tensor));
}

TEST_F(KeptTensorsTest, WhatIsUsedElsewhereIsNotThere) {
  KeptTensors kept(&host_, 100);
  kept.Reserve(50);
  kept.Keep(1, 0, Tensor(&ten_, 7, &owners_[0]), 1);
  kept.Keep(2, 0, Tensor(&ten_, 8, &owners_[1]), 1);
  EXPECT_EQ(kept.Find(1, 0), nullptr);
  EXPECT_NE(kept.Find(2, 0), nullptr);
}

TEST_F(KeptTensorsTest, ElementsThatLieOnEachOtherCountOnce) {
  KeptTensors kept(&host_, 100);
  graphdbg_tensor tensor = Tensor(&ten_, 7, &owners_[0]);
  const int64_t shape[] = {10, int64_t{1} << 40}, strides[] = {1, 0};
  tensor.ndim = 2;
  tensor.shape = shape;
  tensor.strides = strides;
  kept.Keep(1, 0, tensor, 1);
  EXPECT_NE(kept.Find(1, 0), nullptr);
  EXPECT_EQ(kept.bytes(), 40);
}

TEST_F(KeptTensorsTest, MemoryWithoutAnOwnerIsNotKept) {
  KeptTensors kept(&host_, 1000);
  kept.Keep(1, 0, Tensor(&ten_, 7, nullptr), 1);
  EXPECT_EQ(kept.Find(1, 0), nullptr);
}

}  // namespace
}  // namespace graphdbg::agent
