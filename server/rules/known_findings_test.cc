#include "server/rules/known_findings.h"

#include <gtest/gtest.h>

namespace graphdbg::rules {
namespace {

TEST(KnownFindingsTest, EachLineIsTakenOnce) {
  KnownFindings known(
      R"({"rule":"a","rank":0,"tensor":"x:0","mode":"train","step":5})"
      "\n{damaged\n[]\n"
      R"({"rule":"b","rank":null,"tensor":null,"mode":null,"step":5,"m":1})"
      "\n");
  model::Finding a;
  a.rule = "a";
  a.rank = 0;
  a.tensor = "x:0";
  a.mode = model::RunMode::kTrain;
  a.step = 6;
  EXPECT_FALSE(known.Take(a));
  a.step = 5;
  EXPECT_TRUE(known.Take(a));
  EXPECT_FALSE(known.Take(a));
  model::Finding b;
  b.rule = "b";
  b.step = 5;
  EXPECT_TRUE(known.Take(b));
}

TEST(KnownFindingsTest, ANewRunHasNone) {
  EXPECT_FALSE(KnownFindings("").Take({}));
}

}  // namespace
}  // namespace graphdbg::rules
