// Vendors' libraries that are too old, or not there.
#include "agent/runtime/acl_driver.h"
#include "agent/runtime/cuda_driver.h"
#include "agent/runtime/report.h"
#include "agent/testing/stub_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::runtime {
namespace {

using testing_support::StubLibrary;

// Both before either is looked for: what was looked for once is not again.
class MissingSymbolTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Cuda();
    Acl();
  }
  static StubLibrary& Cuda() {
    static auto* stub =
        new StubLibrary("agent/testing/stubs_of_old/libcuda.so.1");
    return *stub;
  }
  static StubLibrary& Acl() {
    static auto* stub =
        new StubLibrary("agent/testing/stubs_of_old/libascendcl.so");
    return *stub;
  }
};

TEST_F(MissingSymbolTest, IsNamedAndNothingIsUsed) {
  const auto& driver = CudaDriver::Get();
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(driver.status().message(), "libcuda.so.1 has no cuLaunchKernel");
  EXPECT_EQ(Cuda().CallsOf("cuInit"), 0);
  EXPECT_THAT(AcceleratorReport(),
              testing::HasSubstr("\"cuda\": {\"error\": \"libcuda.so.1 has no "
                                 "cuLaunchKernel\", \"driver\": null, "
                                 "\"devices\": []}"));
}

TEST_F(MissingSymbolTest, OfAscendsLibraryAsWell) {
  const auto& driver = AclDriver::Get();
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().message(),
            "libascendcl.so has no aclrtSynchronizeStream");
}

}  // namespace
}  // namespace graphdbg::runtime
