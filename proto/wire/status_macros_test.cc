#include "proto/wire/status_macros.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace graphdbg {
namespace {

absl::StatusOr<std::unique_ptr<int>> MakeEven(int value) {
  if (value % 2 != 0) {
    return absl::InvalidArgumentError("odd");
  }
  return std::make_unique<int>(value);
}

absl::Status CheckEven(int value, bool* reached_end) {
  RETURN_IF_ERROR(MakeEven(value).status());
  *reached_end = true;
  return absl::OkStatus();
}

absl::StatusOr<int> Sum(int a, int b) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> first, MakeEven(a));
  std::unique_ptr<int> second;
  ASSIGN_OR_RETURN(second, MakeEven(b));
  return *first + *second;
}

absl::StatusOr<std::pair<int, int>> MakePair(int a, int b) {
  return std::make_pair(a, b);
}

absl::StatusOr<int> SumOfPair() {
  // The expression may contain commas.
  ASSIGN_OR_RETURN(const auto pair, MakePair(1, 2));
  return pair.first + pair.second;
}

TEST(StatusMacrosTest, ReturnIfErrorContinuesOnlyWhenOk) {
  bool reached_end = false;
  EXPECT_EQ(CheckEven(1, &reached_end), absl::InvalidArgumentError("odd"));
  EXPECT_FALSE(reached_end);
  EXPECT_TRUE(CheckEven(2, &reached_end).ok());
  EXPECT_TRUE(reached_end);
}

TEST(StatusMacrosTest, AssignOrReturnMovesTheValueOrReturnsTheStatus) {
  EXPECT_EQ(*Sum(2, 4), 6);
  EXPECT_EQ(Sum(1, 4).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Sum(2, 3).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(*SumOfPair(), 3);
}

}  // namespace
}  // namespace graphdbg
