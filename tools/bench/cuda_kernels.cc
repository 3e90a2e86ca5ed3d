// How fast the kernels read a GPU's memory, beside a copy from device to
// device. Prints one JSON object a line:
//   {"dtype", "bytes", "read_gb_s", "copy_gb_s", "share"}
// where copy_gb_s counts what the copy reads and what it writes. Exits with 3
// and a line on stderr where there is no GPU.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "agent/runtime/cuda_device.h"
#include "agent/runtime/cuda_driver.h"

namespace {

using graphdbg::DType;
using graphdbg::TensorView;
using graphdbg::runtime::CudaDevice;
using graphdbg::runtime::CudaDriver;
using graphdbg::runtime::Ticket;

constexpr int64_t kSmallest = 1 << 20;
constexpr int64_t kLargest = int64_t{4} << 30;
constexpr int kRepetitions = 20;
constexpr int kRounds = 5;

// The best of some rounds, in seconds for one repetition.
double SecondsOf(const std::function<void()>& put,
                 const std::function<void()>& wait) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    wait();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRepetitions; ++i) put();
    wait();
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / kRepetitions);
  }
  return best;
}

void Measure(const CudaDriver& driver, CudaDevice* device, uint64_t memory,
             DType dtype, int64_t bytes) {
  const auto wait = [&] { device->SynchronizeAll().IgnoreError(); };
  const int64_t shape[] = {bytes /
                           static_cast<int64_t>(graphdbg::ItemSize(dtype))};
  const TensorView view{dtype, reinterpret_cast<const void*>(memory), 1, shape,
                        nullptr};
  std::vector<Ticket> all;
  const auto launch = [&] {
    std::vector<Ticket> tickets;
    if (device->Launch({view}, nullptr, &tickets).ok()) {
      all.insert(all.end(), tickets.begin(), tickets.end());
    }
  };
  const auto collect = [&] {
    wait();
    for (const Ticket& ticket : all) device->Take(ticket);
    all.clear();
  };
  const double read = SecondsOf(launch, collect);
  const double copy = SecondsOf(
      [&] {
        driver.MemcpyDtoDAsync(memory + static_cast<uint64_t>(kLargest), memory,
                               static_cast<size_t>(bytes), nullptr);
      },
      wait);
  const double read_speed = static_cast<double>(bytes) / read / 1e9;
  const double copy_speed = 2 * static_cast<double>(bytes) / copy / 1e9;
  std::printf(
      "{\"dtype\": \"%s\", \"bytes\": %lld, \"read_gb_s\": %.1f, "
      "\"copy_gb_s\": %.1f, \"share\": %.3f}\n",
      graphdbg::ToString(dtype), static_cast<long long>(bytes), read_speed,
      copy_speed, read_speed / copy_speed);
  std::fflush(stdout);
}

int Fail(const std::string& reason) {
  std::fprintf(stderr, "needs a GPU: %s\n", reason.c_str());
  return 3;
}

}  // namespace

int main() {
  auto device = CudaDevice::Open(0);
  if (!device.ok()) return Fail(std::string(device.status().message()));
  const CudaDriver& driver = **CudaDriver::Get();
  int ordinal = 0;
  void* context = nullptr;
  driver.DeviceGet(&ordinal, 0);
  driver.DevicePrimaryCtxRetain(&context, ordinal);
  driver.CtxPushCurrent(context);
  uint64_t memory = 0;
  const int result =
      driver.MemAlloc(&memory, static_cast<size_t>(2 * kLargest));
  const absl::Status taken = driver.Check(result, "cuMemAlloc of 8 GiB");
  if (!taken.ok()) return Fail(std::string(taken.message()));
  // Small ordinary numbers in all of these types.
  driver.MemsetD8Async(memory, 0x3C, static_cast<size_t>(2 * kLargest),
                       nullptr);
  for (const DType dtype :
       {DType::kFloat32, DType::kBfloat16, DType::kFloat16}) {
    for (int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
      Measure(driver, device->get(), memory, dtype, bytes);
    }
  }
  driver.MemFree(memory);
  return 0;
}
