#include <gtest/gtest.h>

#include "server/model/enum_names.h"
#include "server/model/tensor.h"

namespace graphdbg::model {
namespace {

template <class Enum>
void ExpectNamesAreInvertible() {
  for (const auto& [value, name] : EnumNames<Enum>()) {
    EXPECT_EQ(ToString(value), name);
    EXPECT_EQ(Parse<Enum>(name), value);
    EXPECT_EQ(FromNumber(static_cast<int64_t>(value), Enum{}), value);
  }
  EXPECT_FALSE(Parse<Enum>("").has_value());
  EXPECT_EQ(ToString(static_cast<Enum>(99)), "unknown");
}

TEST(EnumNamesTest, EachNameBelongsToOneValue) {
  ExpectNamesAreInvertible<JobState>();
  ExpectNamesAreInvertible<PauseReason>();
  ExpectNamesAreInvertible<ControlVerb>();
  ExpectNamesAreInvertible<Event::Type>();
  ExpectNamesAreInvertible<NodeKind>();
  ExpectNamesAreInvertible<Category>();
  ExpectNamesAreInvertible<Watched>();
  ExpectNamesAreInvertible<EdgeKind>();
  ExpectNamesAreInvertible<PauseMode>();
  ExpectNamesAreInvertible<Origin>();
}

TEST(EnumNamesTest, AllNamesListsThemInOrder) {
  EXPECT_EQ(AllNames<Category>(),
            "weight, gradient, activation, optimizer, other");
}

TEST(EnumNamesTest, AnUnknownNumberGivesTheFallback) {
  EXPECT_EQ(FromNumber(99, NodeKind::kOp), NodeKind::kOp);
  EXPECT_EQ(FromNumber(-1, NodeKind::kOp), NodeKind::kOp);
}

TEST(TensorTypeTest, NamesOfElementTypesAreInvertible) {
  for (const char* name : {"float32", "bfloat16", "float8_e5m2", "bool",
                           "other", "other:torch.quint8", ""}) {
    EXPECT_EQ(DTypeName(ParseTensorType(name, {2})), name);
  }
  const TensorType type = ParseTensorType("float16", {2, 3});
  EXPECT_EQ(type.dtype, DType::kFloat16);
  EXPECT_EQ(type.shape, (std::vector<int64_t>{2, 3}));
}

// A framework may call a type of its own "float32"; its values stay unreadable.
TEST(TensorTypeTest, AFrameworksTypeIsNeverTakenForAnotherOfThatName) {
  const TensorType type{DType::kOther, {}, "float32"};
  EXPECT_EQ(DTypeName(type), "other:float32");
  EXPECT_EQ(ParseTensorType("other:float32", {}), type);
}

}  // namespace
}  // namespace graphdbg::model
