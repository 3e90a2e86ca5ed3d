// The state in which calls of the agent leave the processor's vector registers.
#include <cstdint>
#include <numeric>
#include <string>

#include "agent/abi/abi_fixture.h"

#if defined(__x86_64__)
#include <cpuid.h>

namespace graphdbg::agent {
namespace {

// XGETBV with ECX = 1 tells which parts of the state are in use (Intel's
// manual, volume 1, chapter 13).
bool CanTell() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned int kExtendedState = 0xD, kXgetbv1 = 1u << 2;
  return __builtin_cpu_supports("avx") &&
         __get_cpuid_count(kExtendedState, 1, &eax, &ebx, &ecx, &edx) != 0 &&
         (eax & kXgetbv1) != 0;
}

void ClearUpperHalves() { __asm__ volatile("vzeroupper"); }

// While they are, SSE instructions have to merge them.
bool UpperHalvesAreInUse() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  constexpr uint32_t kYmm = 1u << 2;
  return (low & kYmm) != 0;
}

// The parameter is an expression that does not match. Each reads values by
// another function.
class VectorRegistersTest : public AbiFixture,
                            public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!CanTell())
      GTEST_SKIP() << "this processor lacks AVX, or XGETBV with ECX = 1";
  }

  void WatchAll(ScriptedSession* session) {
    v1::SetWatchpoint watchpoint;
    watchpoint.set_id(1);
    watchpoint.set_revision(1);
    watchpoint.set_enabled(true);
    v1::Condition* const condition = watchpoint.mutable_condition();
    condition->set_id("expression");
    (*condition->mutable_text_params())["expression"] = GetParam();
    EXPECT_FALSE(session->Watch(watchpoint).has_error());
  }
};

// Otherwise code for SSE, which is most of a program's, takes several times as
// long.
TEST_P(VectorRegistersTest, UpperHalvesAreClear) {
  int steps_in_use = 0;
  auto session = Attach([&] {
    graphdbg_status status = program_.Start();
    program_.y().resize(1000);
    std::iota(program_.y().begin(), program_.y().end(), 1.0f);
    for (int i = 0; i < 4 && status == GRAPHDBG_OK; ++i) {
      program_.y()[7] += 1;
      ClearUpperHalves();
      status = program_.Step();
      steps_in_use += UpperHalvesAreInUse() ? 1 : 0;
    }
    return status;
  });
  session->Welcome();
  session->WaitForPause();
  WatchAll(session.get());
  session->Continue();
  EXPECT_EQ(training_.get(), GRAPHDBG_OK);
  EXPECT_EQ(steps_in_use, 0);
  program_.Close();
}

INSTANTIATE_TEST_SUITE_P(Expressions, VectorRegistersTest,
                         testing::Values("nan_count > 0", "abs_max > 1e9",
                                         "sd == 5", "mean == 3",
                                         "inactive_percentage == 7",
                                         "p50 == 0.5", "change_abs_max == 9"));

}  // namespace
}  // namespace graphdbg::agent
#endif  // defined(__x86_64__)
