// Runs against a stub of the driver: covers the calls that the agent makes,
// their order, and the handling of each error. cuda_gpu_test checks values on a
// real GPU.
#include "agent/runtime/cuda_device.h"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "agent/kernels/cuda/image.h"
#include "agent/kernels/reference/reference.h"
#include "agent/testing/stub_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::runtime {
namespace {

using testing_support::StubLibrary;

StubLibrary& Stub() {
  static auto* stub = new StubLibrary("agent/testing/stubs/libcuda.so.1");
  return *stub;
}

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    Stub().Reset();
    if (cuda::KernelImage().size == 0) GTEST_SKIP() << "built without nvcc";
    auto opened = CudaDevice::Open(0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *std::move(opened);
  }

  static TensorView ViewOf(const std::vector<float>& values,
                           const int64_t* shape) {
    return {DType::kFloat32, values.data(), 1, shape, nullptr};
  }

  std::unique_ptr<CudaDevice> device_;
  Stream stream_ = reinterpret_cast<Stream>(uintptr_t{0x77});
};

TEST_F(CudaDeviceTest, MeasuresOnTheGivenStream) {
  Stub().Hold(true);
  std::vector<float> values = {1, -2, std::nanf(""), 5};
  const int64_t shape[] = {4};
  std::vector<Ticket> tickets;
  ASSERT_TRUE(device_->Launch({ViewOf(values, shape)}, stream_, &tickets).ok());
  EXPECT_FALSE(device_->Done(tickets[0]));
  // Earlier work on the stream is visible.
  values[0] = 7;
  ASSERT_TRUE(device_->Synchronize(stream_).ok());
  ASSERT_TRUE(device_->Done(tickets[0]));
  const Statistics s = device_->Take(tickets[0]);
  EXPECT_EQ(s.count, 4u);
  EXPECT_EQ(s.nan_count, 1u);
  EXPECT_EQ(s.max, 7);
}

TEST_F(CudaDeviceTest, ManySmallTensorsNeedOneLaunch) {
  std::vector<std::vector<float>> values;
  std::vector<TensorView> views;
  const int64_t shape[] = {3};
  for (int i = 0; i < 64; ++i) {
    values.push_back({static_cast<float>(i), 0, 0});
  }
  for (const auto& v : values) views.push_back(ViewOf(v, shape));
  std::vector<Ticket> tickets;
  ASSERT_TRUE(device_->Launch(views, stream_, &tickets).ok());
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), 1);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(device_->Take(tickets[i]).max, i);
}

TEST_F(CudaDeviceTest, LargeEmptyStridedBroadcastAndComplexTensors) {
  std::vector<float> values(300000);
  std::iota(values.begin(), values.end(), -1000.0F);
  const int64_t large[] = {300000}, empty[] = {0}, square[] = {100, 100};
  const int64_t columns[] = {3, 700}, row[] = {0, 2};
  const TensorView views[] = {
      {DType::kFloat32, values.data(), 1, large, nullptr},
      {DType::kFloat32, nullptr, 1, empty, nullptr},
      {DType::kFloat32, values.data(), 2, square, columns},
      {DType::kFloat32, values.data(), 2, square, row},
  };
  for (const TensorView& view : views) {
    Statistics actual, expected;
    ASSERT_TRUE(device_->Measure(view, stream_, &actual).ok());
    ASSERT_TRUE(reference::ComputeStatistics(view, &expected));
    EXPECT_EQ(actual.count, expected.count);
    EXPECT_EQ(actual.max, expected.max);
    EXPECT_DOUBLE_EQ(actual.l2, expected.l2);
    EXPECT_NEAR(actual.variance, expected.variance, 1e-12 * expected.variance);
  }
  Statistics parts;
  const TensorView complex{DType::kComplex64, values.data(), 2, square,
                           nullptr};
  ASSERT_TRUE(device_->Measure(complex, stream_, &parts).ok());
  EXPECT_EQ(parts.count, 20000u);
}

TEST_F(CudaDeviceTest, ComparesAndCounts) {
  const std::vector<float> now = {1, 2, 3}, before = {1, 1, 5};
  const int64_t shape[] = {3};
  PairStatistics pair;
  uint64_t changed = 0, in_range = 0;
  ASSERT_TRUE(device_
                  ->Compare(ViewOf(now, shape), ViewOf(before, shape), {},
                            stream_, &pair, &changed)
                  .ok());
  EXPECT_EQ(changed, 2u);
  EXPECT_EQ(pair.change_abs_max, 2);
  ASSERT_TRUE(
      device_->CountInRange(ViewOf(now, shape), 2, 3, stream_, &in_range).ok());
  EXPECT_EQ(in_range, 2u);
}

TEST_F(CudaDeviceTest, OnlyTheSliceIsTransferred) {
  std::vector<float> values(10000);
  std::iota(values.begin(), values.end(), 0.0F);
  const int64_t shape[] = {100, 100};
  const TensorView view{DType::kFloat32, values.data(), 2, shape, nullptr};
  const Slice slice = {{10, 4, 20, false}, {99, 3, -7, false}};
  SliceReader reader(view, slice);
  std::string expected, actual;
  reader.Read(1 << 20, &expected);
  ASSERT_TRUE(device_->Read(view, slice, 0, 5, &actual).ok());
  ASSERT_TRUE(device_->Read(view, slice, 5, 7, &actual).ok());
  EXPECT_EQ(actual, expected);
  // Contiguous elements are copied directly.
  const int before = Stub().CallsOf("cuLaunchKernel");
  const Slice row = {{7, 1, 1, true}, {0, 100, 1, false}};
  std::string bytes;
  ASSERT_TRUE(device_->Read(view, row, 0, 100, &bytes).ok());
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), before);
  EXPECT_EQ(bytes,
            std::string(reinterpret_cast<const char*>(&values[700]), 400));
}

TEST_F(CudaDeviceTest, CopiesPersistAndAreReleased) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {3, 2}, strides[] = {1, 3};
  const TensorView view{DType::kFloat32, values.data(), 2, shape, strides};
  const int64_t before = Stub().Bytes();
  {
    auto copy = device_->Copy(view, stream_);
    ASSERT_TRUE(copy.ok()) << copy.status();
    values[0] = 100;
    EXPECT_EQ(static_cast<const float*>((*copy)->data())[0], 1);
    EXPECT_EQ(Stub().Bytes(), before + 24);
  }
  // The next copy reuses the memory.
  ASSERT_TRUE(device_->Copy(view, stream_).ok());
  EXPECT_EQ(Stub().Bytes(), before + 24);
  device_.reset();
  EXPECT_EQ(Stub().Bytes(), 0);
}

TEST_F(CudaDeviceTest, TicketsAreLimitedAndReused) {
  Stub().Hold(true);
  const std::vector<float> values = {1};
  const int64_t shape[] = {1};
  std::vector<Ticket> all, tickets;
  absl::Status status;
  while (status.ok() && all.size() < 100000) {
    status = device_->Launch({ViewOf(values, shape)}, stream_, &tickets);
    all.insert(all.end(), tickets.begin(), tickets.end());
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(device_->Synchronize(stream_).ok());
  for (const Ticket& ticket : all) EXPECT_EQ(device_->Take(ticket).max, 1);
  EXPECT_TRUE(device_->Launch({ViewOf(values, shape)}, stream_, &tickets).ok());
}

TEST_F(CudaDeviceTest, AllocatesAnArenaOfFixedSizeAndFreesIt) {
  EXPECT_GT(device_->arena_bytes(), 0);
  EXPECT_LT(device_->arena_bytes(), 32 << 20);
  EXPECT_GE(Stub().Bytes(), device_->arena_bytes());
  device_.reset();
  EXPECT_EQ(Stub().Bytes(), 0);
}

TEST_F(CudaDeviceTest, DetectsCapture) {
  EXPECT_FALSE(device_->Capturing(stream_));
  Stub().Capture(true);
  EXPECT_TRUE(device_->Capturing(stream_));
  Stub().Capture(false);
  // A failed query is treated like a capture.
  Stub().Fail("cuStreamIsCapturing", 906);
  EXPECT_TRUE(device_->Capturing(stream_));
}

TEST_F(CudaDeviceTest, ErrorsOfTheProgramsKernelsArePermanent) {
  const std::vector<float> values = {1};
  const int64_t shape[] = {1};
  Stub().Fail("cuStreamSynchronize", 700);
  Statistics s;
  const absl::Status status =
      device_->Measure(ViewOf(values, shape), stream_, &s);
  EXPECT_EQ(status.message(),
            "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700, an illegal "
            "memory access was encountered)");
  const int launches = Stub().CallsOf("cuLaunchKernel");
  EXPECT_EQ(device_->Measure(ViewOf(values, shape), stream_, &s), status);
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), launches);
}

TEST_F(CudaDeviceTest, FailedLaunchesReleaseTheirTickets) {
  const std::vector<float> values = {1};
  const int64_t shape[] = {1};
  const int64_t matrix[] = {1, 2}, gaps[] = {1, 2};
  const std::vector<float> two = {1, 2, 3};
  std::vector<Ticket> tickets;
  for (int i = 0; i < 10000; ++i) {
    Stub().Fail("cuLaunchKernel", 1);
    ASSERT_FALSE(
        device_->Launch({ViewOf(values, shape)}, stream_, &tickets).ok());
    ASSERT_FALSE(device_
                     ->Launch({{DType::kFloat32, two.data(), 2, matrix, gaps}},
                              stream_, &tickets)
                     .ok());
  }
  Stub().Reset();
  EXPECT_TRUE(device_->Launch({ViewOf(values, shape)}, stream_, &tickets).ok());
}

TEST_F(CudaDeviceTest, FailedOpenNamesTheCallAndFreesEverything) {
  device_.reset();
  for (const char* function :
       {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
        "cuDeviceGetAttribute", "cuDeviceTotalMem", "cuDevicePrimaryCtxRetain",
        "cuModuleLoadData", "cuModuleGetFunction", "cuStreamCreate",
        "cuEventCreate", "cuMemAlloc", "cuMemsetD8Async", "cuStreamSynchronize",
        "cuMemHostAlloc", "cuMemHostGetDevicePointer"}) {
    Stub().Reset();
    Stub().Fail(function, 999);
    const auto opened = CudaDevice::Open(0);
    ASSERT_FALSE(opened.ok()) << function;
    EXPECT_THAT(
        std::string(opened.status().message()),
        testing::StartsWith(std::string(function) + ": unknown error (999)"));
    EXPECT_EQ(Stub().Bytes(), 0) << function;
  }
  Stub().Reset();
  EXPECT_EQ(CudaDevice::Open(2).status().message(), "GPU 2 does not exist");
}

TEST_F(CudaDeviceTest, ComparisonWaitsForCopiesOnOtherStreams) {
  Stub().Hold(true);
  const std::vector<float> values = {1, 2, 3};
  const int64_t shape[] = {3};
  const Stream other = reinterpret_cast<Stream>(uintptr_t{0x99});
  const auto first = device_->Copy(ViewOf(values, shape), stream_);
  const auto second = device_->Copy(ViewOf(values, shape), other);
  ASSERT_TRUE(first.ok() && second.ok());
  for (const auto& copy : {*first, *second}) {
    TensorView before = ViewOf(values, shape);
    before.data = copy->data();
    PairStatistics pair;
    uint64_t changed = 0;
    const Stream third = reinterpret_cast<Stream>(uintptr_t{0xAA});
    ASSERT_TRUE(
        device_
            ->Compare(ViewOf(values, shape), before, {}, third, &pair, &changed)
            .ok());
    EXPECT_EQ(changed, 0u);
  }
}

TEST_F(CudaDeviceTest, DoesNotWaitForACapturingStream) {
  const int waits = Stub().CallsOf("cuStreamSynchronize");
  Stub().Capture(true);
  EXPECT_EQ(device_->Synchronize(stream_).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Stub().CallsOf("cuStreamSynchronize"), waits);
  Stub().Capture(false);
  EXPECT_TRUE(device_->Synchronize(stream_).ok());
}

TEST_F(CudaDeviceTest, RejectsMisalignedTensors) {
  std::vector<float> values(8);
  const int64_t shape[] = {2, 2}, strides[] = {1, 2};
  const TensorView odd{DType::kFloat32,
                       reinterpret_cast<const char*>(values.data()) + 2, 2,
                       shape, strides};
  const TensorView even = {DType::kFloat32, values.data(), 2, shape, strides};
  Statistics s;
  PairStatistics pair;
  uint64_t count = 0;
  std::string bytes;
  const Slice all = WholeSlice({2, 2});
  for (const absl::Status& status :
       {device_->Measure(odd, stream_, &s),
        device_->CountInRange(odd, 0, 1, stream_, &count),
        device_->Compare(odd, even, {}, stream_, &pair, &count),
        device_->Compare(even, odd, {}, stream_, &pair, &count),
        device_->Read(odd, all, 0, 4, &bytes)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  }
  EXPECT_EQ(Stub().CallsOf("cuLaunchKernel"), 0);
}

TEST_F(CudaDeviceTest, ErrorsOfLoadingKernelsNameBothVersions) {
  Stub().Fail("cuModuleLoadData", 222);
  EXPECT_THAT(std::string(CudaDevice::Open(0).status().message()),
              testing::MatchesRegex(
                  "cuModuleLoadData: .*222.*; the kernels were compiled with "
                  "CUDA [0-9.]+, the driver supports CUDA 13.0"));
}

TEST_F(CudaDeviceTest, AllKernelsAreLoadedBeforeTheFirstLaunch) {
  const int loads = Stub().CallsOf("cuModuleGetFunction");
  EXPECT_EQ(loads, static_cast<int>(cuda::KernelNames().size()));
  const std::vector<float> values = {1};
  const int64_t shape[] = {1};
  Statistics s;
  ASSERT_TRUE(device_->Measure(ViewOf(values, shape), stream_, &s).ok());
  EXPECT_EQ(Stub().CallsOf("cuModuleGetFunction"), loads);
}

TEST_F(CudaDeviceTest, OutOfMemoryHasItsOwnCode) {
  const std::vector<float> values = {1};
  const int64_t shape[] = {1};
  Stub().Fail("cuMemAlloc", 2);
  EXPECT_EQ(device_->Copy(ViewOf(values, shape), stream_).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(CudaDeviceTest, RejectsUnsupportedTensors) {
  const std::vector<float> values = {1};
  const int64_t shape[] = {1}, two[] = {2};
  const TensorView other{DType::kOther, values.data(), 1, shape, nullptr};
  Statistics s;
  EXPECT_EQ(device_->Measure(other, stream_, &s).code(),
            absl::StatusCode::kUnimplemented);
  PairStatistics pair;
  uint64_t changed;
  EXPECT_EQ(device_
                ->Compare(ViewOf(values, shape), ViewOf(values, two), {},
                          stream_, &pair, &changed)
                .code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace graphdbg::runtime
