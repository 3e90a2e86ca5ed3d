// An NPU of the stub's: each call that is made, and each error that it may
// answer. No real one was used.
#include "agent/runtime/acl_device.h"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "agent/kernels/reference/reference.h"
#include "agent/testing/stub_control.h"
#include "gtest/gtest.h"

namespace graphdbg::runtime {
namespace {

using testing_support::StubLibrary;

StubLibrary& Stub() {
  static auto* stub = new StubLibrary("agent/testing/stubs/libascendcl.so");
  return *stub;
}

std::string Error(const char* function, int number) {
  return std::string(function) + ": error " + std::to_string(number) +
         ", EE9999: stub";
}

class AclDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    Stub().Reset();
    auto opened = AclDevice::Open(0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *std::move(opened);
  }

  // What was told to fail would fail when it is given back, too.
  void TearDown() override { Stub().Reset(); }

  std::unique_ptr<AclDevice> device_;
  Stream stream_ = reinterpret_cast<Stream>(uintptr_t{0x77});
};

TEST_F(AclDeviceTest, MeasuresThroughStagingMemoryOfFixedSize) {
  // More than the staging memory holds.
  std::vector<float> values(5 << 20);
  std::iota(values.begin(), values.end(), -1e6F);
  values[77] = std::nanf("");
  const int64_t flat[] = {5 << 20}, square[] = {100, 100};
  const int64_t columns[] = {1, 300}, row[] = {0, 2};
  const TensorView views[] = {
      {DType::kFloat32, values.data(), 1, flat, nullptr},
      {DType::kFloat32, values.data(), 2, square, columns},
      {DType::kFloat32, values.data(), 2, square, row},
  };
  for (const TensorView& view : views) {
    Statistics actual, expected;
    ASSERT_TRUE(device_->Measure(view, stream_, &actual).ok());
    ASSERT_TRUE(reference::ComputeStatistics(view, &expected));
    EXPECT_EQ(actual.count, expected.count);
    EXPECT_EQ(actual.nan_count, expected.nan_count);
    EXPECT_EQ(actual.negative_count, expected.negative_count);
    EXPECT_EQ(actual.min, expected.min);
    EXPECT_NEAR(actual.mean, expected.mean, 1e-9 * expected.abs_mean);
    EXPECT_NEAR(actual.variance, expected.variance, 1e-9 * expected.variance);
    EXPECT_NEAR(actual.l1, expected.l1, 1e-9 * expected.l1);
    EXPECT_NEAR(actual.l2, expected.l2, 1e-9 * expected.l2);
    uint64_t in_range = 0;
    ASSERT_TRUE(device_->CountInRange(view, 0, 1e5, stream_, &in_range).ok());
    EXPECT_EQ(in_range, reference::CountInRange(view, 0, 1e5));
  }
}

TEST_F(AclDeviceTest, ComesAfterWhatTheStreamDoesFirst) {
  Stub().Hold(true);
  std::vector<float> values = {1, 2};
  const int64_t shape[] = {2};
  Statistics s;
  ASSERT_TRUE(device_
                  ->Measure({DType::kFloat32, values.data(), 1, shape, nullptr},
                            stream_, &s)
                  .ok());
  EXPECT_EQ(s.max, 2);
  EXPECT_EQ(Stub().CallsOf("aclrtSynchronizeStream"), 1);
}

TEST_F(AclDeviceTest, ReadsASlice) {
  std::vector<float> values(10000);
  std::iota(values.begin(), values.end(), 0.0F);
  const int64_t shape[] = {100, 100};
  const TensorView view{DType::kFloat32, values.data(), 2, shape, nullptr};
  for (const Slice& slice : {Slice{{10, 4, 20, false}, {99, 3, -7, false}},
                             Slice{{5, 6, 1, false}, {0, 50, 1, false}}}) {
    SliceReader reader(view, slice);
    std::string expected, actual;
    reader.Read(1 << 20, &expected);
    ASSERT_TRUE(device_->Read(view, slice, 0, 5, &actual).ok());
    ASSERT_TRUE(
        device_->Read(view, slice, 5, ElementCount(slice) - 5, &actual).ok());
    EXPECT_EQ(actual, expected);
  }
}

TEST_F(AclDeviceTest, ComparesOnTheHost) {
  const std::vector<float> now = {1, 2, 3}, before = {1, 1, 5};
  const int64_t shape[] = {3};
  const TensorView a{DType::kFloat32, now.data(), 1, shape, nullptr};
  const TensorView b{DType::kFloat32, before.data(), 1, shape, nullptr};
  StreamBackend backend(device_.get(), stream_);
  PairStatistics pair;
  EXPECT_FALSE(backend.ComparePair(a, b, &pair));
  backend.set_previous_on_host(true);
  ASSERT_TRUE(backend.ComparePair(a, b, &pair));
  EXPECT_EQ(pair.change_abs_max, 2);
  EXPECT_EQ(backend.CountChanged(a, b, {}), 2u);
}

TEST_F(AclDeviceTest, TakesTheOverflowFlagOnce) {
  EXPECT_FALSE(*device_->TakeOverflowFlag(stream_));
  Stub().SetOverflow(true);
  EXPECT_TRUE(*device_->TakeOverflowFlag(stream_));
  EXPECT_FALSE(*device_->TakeOverflowFlag(stream_));
  for (const char* function :
       {"aclrtGetOverflowStatus", "aclrtMemcpyAsync", "aclrtSynchronizeStream",
        "aclrtResetOverflowStatus", "aclrtSetCurrentContext"}) {
    Stub().Reset();
    Stub().SetOverflow(true);
    Stub().Fail(function, 507000);
    EXPECT_EQ(device_->TakeOverflowFlag(stream_).status().message(),
              Error(function, 507000));
  }
}

TEST_F(AclDeviceTest, SaysWhichCallFailedAndHow) {
  const std::vector<float> values = {1, 2};
  const int64_t shape[] = {2};
  const TensorView view{DType::kFloat32, values.data(), 1, shape, nullptr};
  for (const char* function : {"aclrtSetCurrentContext", "aclrtMemcpyAsync",
                               "aclrtSynchronizeStream"}) {
    Stub().Reset();
    Stub().Fail(function, 507000);
    Statistics s;
    std::string bytes;
    uint64_t count;
    const std::string expected = Error(function, 507000);
    EXPECT_EQ(device_->Measure(view, stream_, &s).message(), expected);
    EXPECT_EQ(device_->CountInRange(view, 0, 1, stream_, &count).message(),
              expected);
    EXPECT_EQ(device_->Read(view, {{0, 2, 1, false}}, 0, 2, &bytes).message(),
              expected);
  }
  Stub().Reset();
  Stub().Fail("aclrtSynchronizeDevice", 507899);
  EXPECT_EQ(device_->SynchronizeAll().message(),
            Error("aclrtSynchronizeDevice", 507899));
}

TEST_F(AclDeviceTest, OpeningFailsWithTheCallThatFailedAndLeavesNothing) {
  device_.reset();
  EXPECT_EQ(Stub().Bytes(), 0);
  for (const char* function :
       {"aclrtGetDeviceCount", "aclrtGetCurrentContext", "aclrtCreateStream",
        "aclrtMallocHost", "aclrtMalloc"}) {
    Stub().Reset();
    Stub().Fail(function, 207001);
    const auto opened = AclDevice::Open(0);
    ASSERT_FALSE(opened.ok()) << function;
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(opened.status().message(), Error(function, 207001));
    EXPECT_EQ(Stub().Bytes(), 0) << function;
  }
  EXPECT_EQ(AclDevice::Open(1).status().message(), "there is no NPU 1");
}

TEST_F(AclDeviceTest, VersionIsEmptyIfTheLibraryDoesNotSay) {
  EXPECT_EQ((*AclDriver::Get())->version(), "1.16.0");
  Stub().Fail("aclrtGetVersion", 1);
  EXPECT_EQ((*AclDriver::Get())->version(), "");
}

}  // namespace
}  // namespace graphdbg::runtime
