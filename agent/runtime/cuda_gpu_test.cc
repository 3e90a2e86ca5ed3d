// The kernels on a GPU against the reference: for each dtype every kind of
// value, tensors of one block and of many. Skipped where there is no GPU.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "agent/kernels/cpu/test_support.h"
#include "agent/kernels/reference/agreement.h"
#include "agent/kernels/reference/reference.h"
#include "agent/runtime/cuda_device.h"
#include "gtest/gtest.h"

namespace graphdbg::runtime {
namespace {

using reference::ExpectClose;

constexpr unsigned kHostPortable = 1;
constexpr unsigned kHostMapped = 2;

// One for all tests: opening takes a moment. Null where there is none.
CudaDevice* Gpu(std::string* why_not) {
  static auto* opened =
      new absl::StatusOr<std::unique_ptr<CudaDevice>>(CudaDevice::Open(0));
  if (opened->ok()) return (*opened)->get();
  *why_not = std::string(opened->status().message());
  return nullptr;
}

// Bytes that the device reads where they lie, in the host's memory.
class Shared {
 public:
  explicit Shared(const std::vector<char>& bytes)
      : driver_(**CudaDriver::Get()) {
    int device = 0;
    driver_.DeviceGet(&device, 0);
    driver_.DevicePrimaryCtxRetain(&context_, device);
    driver_.CtxPushCurrent(context_);
    driver_.MemHostAlloc(&host_, std::max<size_t>(bytes.size(), 1),
                         kHostPortable | kHostMapped);
    driver_.MemHostGetDevicePointer(&address_, host_, 0);
    std::memcpy(host_, bytes.data(), bytes.size());
  }
  ~Shared() {
    driver_.MemFreeHost(host_);
    driver_.CtxPopCurrent(&context_);
  }

  const char* on_device() const {
    return reinterpret_cast<const char*>(address_);
  }

 private:
  const CudaDriver& driver_;
  void* context_ = nullptr;
  void* host_ = nullptr;
  uint64_t address_ = 0;
};

// Memory of the device itself.
class DeviceBytes {
 public:
  explicit DeviceBytes(int64_t bytes) : driver_(**CudaDriver::Get()) {
    int device = 0;
    driver_.DeviceGet(&device, 0);
    driver_.DevicePrimaryCtxRetain(&context_, device);
    driver_.CtxPushCurrent(context_);
    driver_.MemAlloc(&address_, static_cast<size_t>(bytes));
  }
  ~DeviceBytes() {
    if (address_ != 0) driver_.MemFree(address_);
    driver_.CtxPopCurrent(&context_);
  }

  // 0 if there is no room.
  uint64_t address() const { return address_; }
  void Fill(int64_t first, int64_t count, unsigned char value) const {
    driver_.MemsetD8Async(address_ + static_cast<uint64_t>(first), value,
                          static_cast<size_t>(count), nullptr);
  }

 private:
  const CudaDriver& driver_;
  void* context_ = nullptr;
  uint64_t address_ = 0;
};

class CudaGpuTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    std::string why_not;
    gpu_ = Gpu(&why_not);
    if (gpu_ == nullptr) GTEST_SKIP() << why_not;
  }
  DType dtype() const { return GetParam(); }

  // A view of `bytes` from `offset` on, on both sides.
  void Check(const std::vector<char>& bytes, const std::vector<int64_t>& shape,
             const int64_t* strides, size_t offset) {
    const Shared shared(bytes);
    const TensorView here{dtype(), bytes.data() + offset, shape.size(),
                          shape.data(), strides};
    TensorView there = here;
    there.data = shared.on_device() + offset;
    Statistics actual, expected;
    const absl::Status status = gpu_->Measure(there, nullptr, &actual);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(reference::ComputeStatistics(here, &expected));
    reference::ExpectSame(actual, expected, reference::MeanScale::kAbsMax);
  }

  std::vector<char> RandomBytes(size_t elements) {
    std::vector<char> bytes(elements * ItemSize(dtype()));
    for (char& b : bytes) b = static_cast<char>(random_());
    return bytes;
  }

  CudaDevice* gpu_ = nullptr;
  std::mt19937_64 random_{20260721};
};

TEST_P(CudaGpuTest, AgreesOnRandomBytesOfAllLengths) {
  for (const int64_t n : {1, 7, 16, 255, 4097, 100003, 1000003}) {
    SCOPED_TRACE(n);
    Check(RandomBytes(static_cast<size_t>(n)), {n}, nullptr, 0);
  }
}

TEST_P(CudaGpuTest, AgreesWhereverInAVectorTheFirstElementLies) {
  const std::vector<char> bytes = RandomBytes(5020);
  for (size_t first = 1; first <= 16; ++first) {
    SCOPED_TRACE(first);
    Check(bytes, {5003}, nullptr, first * ItemSize(dtype()));
  }
}

TEST(LargeTensorTest, CountsMoreElementsThan32BitsDo) {
  std::string why_not;
  CudaDevice* const gpu = Gpu(&why_not);
  if (gpu == nullptr) GTEST_SKIP() << why_not;
  constexpr int64_t kCount = (int64_t{1} << 32) + 5;
  const DeviceBytes bytes(kCount);
  if (bytes.address() == 0) GTEST_SKIP() << "no 4 GiB of memory on the GPU";
  bytes.Fill(0, kCount, 3);
  bytes.Fill(kCount - 1, 1, 0xFE);
  const int64_t shape[] = {kCount};
  Statistics s;
  ASSERT_TRUE(gpu->Measure({DType::kInt8,
                            reinterpret_cast<const void*>(bytes.address()), 1,
                            shape, nullptr},
                           nullptr, &s)
                  .ok());
  EXPECT_EQ(s.count, static_cast<uint64_t>(kCount));
  EXPECT_EQ(s.negative_count, 1u);
  EXPECT_EQ(s.min, -2);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.l1, 3.0 * (kCount - 1) + 2);
}

TEST_P(CudaGpuTest, AgreesOnStridedViews) {
  const std::vector<char> bytes = RandomBytes(9000);
  for (const cpu::StridedCase& c : cpu::StridedCases()) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    Check(bytes, c.shape, c.strides.data(),
          static_cast<size_t>(c.offset) * ItemSize(dtype()));
  }
}

TEST_P(CudaGpuTest, ComparesWithAPreviousValue) {
  const std::vector<char> now = RandomBytes(200000);
  std::vector<char> before = now;
  for (size_t i = 0; i < before.size(); i += 7) before[i] ^= 1;
  const Shared shared_now(now), shared_before(before);
  const int64_t shape[] = {200000};
  const TensorView a{dtype(), now.data(), 1, shape, nullptr};
  const TensorView b{dtype(), before.data(), 1, shape, nullptr};
  TensorView device_a = a, device_b = b;
  device_a.data = shared_now.on_device();
  device_b.data = shared_before.on_device();
  PairStatistics actual, expected;
  uint64_t changed = 0;
  ASSERT_TRUE(
      gpu_->Compare(device_a, device_b, {}, nullptr, &actual, &changed).ok());
  ASSERT_TRUE(reference::ComparePair(a, b, &expected));
  EXPECT_EQ(changed, reference::CountChanged(a, b, {}));
  EXPECT_EQ(actual.finite_count, expected.finite_count);
  EXPECT_EQ(actual.change_abs_max, expected.change_abs_max);
  ExpectClose(actual.change_l2, expected.change_l2, expected.change_l2,
              "change_l2");
}

TEST_P(CudaGpuTest, GathersASlice) {
  const std::vector<char> bytes = RandomBytes(10000);
  const Shared shared(bytes);
  const int64_t shape[] = {100, 100};
  const TensorView here{dtype(), bytes.data(), 2, shape, nullptr};
  TensorView there = here;
  there.data = shared.on_device();
  const Slice slice = {{10, 4, 20, false}, {99, 3, -7, false}};
  SliceReader reader(here, slice);
  std::string expected, actual;
  reader.Read(1 << 20, &expected);
  ASSERT_TRUE(gpu_->Read(there, slice, 0, 12, &actual).ok());
  EXPECT_EQ(actual, expected);
}

// Blocks meet in another order each time; what they merge may not depend on it.
TEST_P(CudaGpuTest, TheSameValuesGiveTheSameBits) {
  const std::vector<char> bytes = RandomBytes(3000000);
  const Shared shared(bytes);
  const int64_t shape[] = {3000000};
  const TensorView view{dtype(), shared.on_device(), 1, shape, nullptr};
  Statistics first, again;
  ASSERT_TRUE(gpu_->Measure(view, nullptr, &first).ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(gpu_->Measure(view, nullptr, &again).ok());
    EXPECT_EQ(std::memcmp(&first, &again, sizeof(first)), 0);
  }
}

class CudaGpuFloatTest : public CudaGpuTest {};

TEST_P(CudaGpuFloatTest, AgreesOnHardValues) {
  for (const auto& [what, values] : reference::HardValuesOf(dtype())) {
    SCOPED_TRACE(what);
    Check(cpu::Encode(dtype(), values), {static_cast<int64_t>(values.size())},
          nullptr, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaGpuFloatTest,
                         testing::ValuesIn(cpu::FloatTypes()),
                         [](const testing::TestParamInfo<DType>& info) {
                           return std::string(ToString(info.param));
                         });

INSTANTIATE_TEST_SUITE_P(All, CudaGpuTest, testing::ValuesIn(cpu::AllTypes()),
                         [](const testing::TestParamInfo<DType>& info) {
                           return std::string(ToString(info.param));
                         });

}  // namespace
}  // namespace graphdbg::runtime
