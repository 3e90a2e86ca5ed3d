// Vendor libraries that are too old.
#include "agent/runtime/acl_driver.h"
#include "agent/runtime/cuda_driver.h"
#include "agent/runtime/report.h"
#include "agent/testing/stub_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::runtime {
namespace {

using testing_support::StubLibrary;

// Prepares both stubs first, because each library is looked up only once.
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

TEST_F(MissingSymbolTest, OldCudaLibraryIsNotUsedAndTheSymbolIsNamed) {
  const auto& driver = CudaDriver::Get();
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(driver.status().message(), "libcuda.so.1 lacks cuLaunchKernel");
  EXPECT_EQ(Cuda().CallsOf("cuInit"), 0);
  EXPECT_THAT(AcceleratorReport(),
              testing::HasSubstr("\"cuda\": {\"error\": \"libcuda.so.1 lacks "
                                 "cuLaunchKernel\", \"driver\": null, "
                                 "\"devices\": []}"));
}

TEST_F(MissingSymbolTest, OldAscendLibraryIsNotUsedAndTheSymbolIsNamed) {
  const auto& driver = AclDriver::Get();
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().message(),
            "libascendcl.so lacks aclrtSynchronizeStream");
}

}  // namespace
}  // namespace graphdbg::runtime
