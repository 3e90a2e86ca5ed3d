#include "agent/core/failed_op.h"

#include <gtest/gtest.h>

namespace graphdbg::agent {
namespace {

TEST(FailedOpTest, IsTheOneWhoseErrorEndsTheProgram) {
  FailedOp op;
  EXPECT_EQ(op.Find("any", 0), 0u);
  op.Set(7, "shapes do not match\nstack trace", 3);
  EXPECT_EQ(op.Find("shapes do not match", 3), 7u);
  EXPECT_EQ(op.Find("in layer 2: shapes do not match", 3), 7u);
  EXPECT_EQ(op.Find("no such file", 3), 0u);
  EXPECT_EQ(op.Find("shapes do not match", 4), 0u);
}

TEST(FailedOpTest, KeepsTheFirstNodeOfAnError) {
  FailedOp op;
  op.Set(7, "shapes do not match", 3);
  op.Set(8, "shapes do not match", 3);
  EXPECT_EQ(op.Find("shapes do not match", 3), 7u);
  op.Set(9, "out of memory", 3);
  EXPECT_EQ(op.Find("out of memory", 3), 9u);
}

TEST(FailedOpTest, MayHaveAnUnknownMessage) {
  FailedOp op;
  op.Set(7, "", 3);
  EXPECT_EQ(op.Find("any", 3), 7u);
}

}  // namespace
}  // namespace graphdbg::agent
