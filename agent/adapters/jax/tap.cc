// Copies values out of XLA programs: the targets of the custom calls that
// agent/python/graphdbg/_jax/taps.py puts behind the equations of a copy of the
// user's function. Compiled on the user's machine against the headers of
// jaxlib.
//
// One program with taps runs at a time. Its handlers run on any thread of XLA.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "xla/ffi/api/ffi.h"

#define GRAPHDBG_TAP_EXPORT extern "C" __attribute__((visibility("default")))
#define GRAPHDBG_TAP_INLINE inline __attribute__((always_inline))

// Compiles a function for several processors; the one that runs it decides. The
// library may be kept in a home directory that different machines share.
#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define GRAPHDBG_TAP_VECTORIZED \
  __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef GRAPHDBG_TAP_VECTORIZED
#define GRAPHDBG_TAP_VECTORIZED
#endif

namespace ffi = xla::ffi;

namespace {

constexpr uint32_t kMaxRank = 16;

}  // namespace

// A value that a tap has copied.
struct graphdbg_tapped {
  // The number of the tap.
  int64_t tap;
  // How often the tap had run in this run of the program, from 1.
  int64_t iteration;
  // A copy of the value, in row-major order, for graphdbg_taps_free. Null if
  // there was no memory.
  void* data;
  uint64_t bytes;
  // XLA's number of the element type.
  int32_t dtype;
  uint32_t rank;
  // Sizes in elements.
  int64_t shape[kMaxRank];
};

namespace {

struct Counts {
  int64_t runs = 0;
  bool has_nonfinite = false;
};

struct Run {
  std::mutex mu;
  bool active = false;
  // The limits of one run.
  int64_t max_runs = 0;
  uint64_t max_bytes = 0;
  uint64_t bytes = 0;
  uint64_t omitted = 0;
  std::unordered_map<int64_t, Counts> counts;
  std::vector<graphdbg_tapped> values;
};

Run& TheRun() {
  static Run* const run = new Run;
  return *run;
}

// Results are mostly in the caches of the processors that have computed them,
// which takes longer than processors look ahead on their own.
GRAPHDBG_TAP_INLINE void FetchAhead(const void* data, uint64_t bytes) {
  constexpr uint64_t kAhead = 8192;
  constexpr uint64_t kLine = 64;
  const char* const begin = static_cast<const char*>(data) + kAhead;
  for (uint64_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(begin + at);
  }
}

// Whether all bits of the exponent are set in one of the elements. Compilers
// make vector code of the inner loop, since it has no branches. Inlined, so
// that it is compiled for the same processors as the function that calls it.
template <typename Bits>
GRAPHDBG_TAP_INLINE bool AnyMatches(const void* data, uint64_t bytes,
                                    Bits exponent) {
  constexpr uint64_t kBlock = 1024 / sizeof(Bits);
  const Bits* const elements = static_cast<const Bits*>(data);
  const uint64_t count = bytes / sizeof(Bits);
  // One more makes an exponent with all bits set, and no other, carry into the
  // place of the sign.
  const Bits lowest = exponent & -exponent;
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    const uint64_t end = begin + kBlock < count ? begin + kBlock : count;
    FetchAhead(elements + begin, kBlock * sizeof(Bits));
    Bits carried = 0;
    for (uint64_t i = begin; i < end; ++i) {
      carried |= static_cast<Bits>((elements[i] & exponent) + lowest);
    }
    if ((carried & sign) != 0) return true;
  }
  return false;
}

GRAPHDBG_TAP_VECTORIZED
bool HasNonFinite(ffi::DataType dtype, const void* data, uint64_t bytes) {
  switch (dtype) {
    case ffi::DataType::F16:
      return AnyMatches<uint16_t>(data, bytes, 0x7c00);
    case ffi::DataType::BF16:
      return AnyMatches<uint16_t>(data, bytes, 0x7f80);
    case ffi::DataType::F32:
    case ffi::DataType::C64:
      return AnyMatches<uint32_t>(data, bytes, 0x7f800000);
    case ffi::DataType::F64:
    case ffi::DataType::C128:
      return AnyMatches<uint64_t>(data, bytes, 0x7ff0000000000000);
    default:
      return false;
  }
}

// Of a loop's iterations, the first ones are kept, and the first one after them
// that is not finite.
bool IsKept(const Run& run, const Counts& counts, bool nonfinite,
            uint64_t bytes) {
  if (nonfinite && !counts.has_nonfinite) return true;
  return counts.runs <= run.max_runs && run.bytes + bytes <= run.max_bytes;
}

void Record(const ffi::AnyBuffer& value, int64_t tap) {
  const uint64_t bytes = value.size_bytes();
  const void* const data = value.untyped_data();
  const bool nonfinite = HasNonFinite(value.element_type(), data, bytes);
  Run& run = TheRun();
  graphdbg_tapped tapped = {};
  {
    std::lock_guard<std::mutex> lock(run.mu);
    if (!run.active) return;
    Counts& counts = run.counts[tap];
    ++counts.runs;
    const bool kept = IsKept(run, counts, nonfinite, bytes);
    counts.has_nonfinite |= nonfinite;
    if (!kept || value.dimensions().size() > kMaxRank) {
      ++run.omitted;
      return;
    }
    run.bytes += bytes;
    tapped.iteration = counts.runs;
  }
  tapped.tap = tap;
  tapped.bytes = bytes;
  tapped.dtype = static_cast<int32_t>(value.element_type());
  for (const int64_t size : value.dimensions()) {
    tapped.shape[tapped.rank++] = size;
  }
  tapped.data = std::malloc(bytes > 0 ? bytes : 1);
  if (tapped.data != nullptr) std::memcpy(tapped.data, data, bytes);
  std::lock_guard<std::mutex> lock(run.mu);
  run.values.push_back(tapped);
}

ffi::Error Observe(ffi::AnyBuffer value, int64_t tap) {
  Record(value, tap);
  return ffi::Error::Success();
}

ffi::Error Pass(ffi::AnyBuffer value, ffi::Result<ffi::AnyBuffer> result,
                int64_t tap) {
  Record(value, tap);
  if (result->untyped_data() != value.untyped_data()) {
    std::memcpy(result->untyped_data(), value.untyped_data(),
                value.size_bytes());
  }
  return ffi::Error::Success();
}

}  // namespace

// Takes a value and has no result.
GRAPHDBG_TAP_EXPORT XLA_FFI_Error* graphdbg_tap_observe(
    XLA_FFI_CallFrame* frame) {
  static auto* const handler = ffi::Ffi::Bind()
                                   .Arg<ffi::AnyBuffer>()
                                   .Attr<int64_t>("tap")
                                   .To(Observe)
                                   .release();
  return handler->Call(frame);
}

// Takes a value and returns it.
GRAPHDBG_TAP_EXPORT XLA_FFI_Error* graphdbg_tap_pass(XLA_FFI_CallFrame* frame) {
  static auto* const handler = ffi::Ffi::Bind()
                                   .Arg<ffi::AnyBuffer>()
                                   .Ret<ffi::AnyBuffer>()
                                   .Attr<int64_t>("tap")
                                   .To(Pass)
                                   .release();
  return handler->Call(frame);
}

// The version of the interface that the handlers were compiled for.
GRAPHDBG_TAP_EXPORT void graphdbg_taps_version(int* major, int* minor) {
  *major = XLA_FFI_API_MAJOR;
  *minor = XLA_FFI_API_MINOR;
}

// From now on taps keep values: each of them the first `max_runs`, and all
// together at most `max_bytes`.
GRAPHDBG_TAP_EXPORT void graphdbg_taps_begin(int64_t max_runs,
                                             uint64_t max_bytes) {
  Run& run = TheRun();
  std::lock_guard<std::mutex> lock(run.mu);
  for (const graphdbg_tapped& value : run.values) std::free(value.data);
  run.values.clear();
  run.counts.clear();
  run.bytes = run.omitted = 0;
  run.max_runs = max_runs;
  run.max_bytes = max_bytes;
  run.active = true;
}

// Returns the values that were kept, `count` of them, and stores how many were
// not. The array is valid until the next call, and the caller frees each value.
GRAPHDBG_TAP_EXPORT const graphdbg_tapped* graphdbg_taps_end(
    uint64_t* count, uint64_t* omitted) {
  Run& run = TheRun();
  static std::vector<graphdbg_tapped>* const returned =
      new std::vector<graphdbg_tapped>;
  std::lock_guard<std::mutex> lock(run.mu);
  run.active = false;
  returned->swap(run.values);
  run.values.clear();
  *count = returned->size();
  *omitted = run.omitted;
  return returned->data();
}

// Returns nonzero if an element of one of `count` arrays in host memory is NaN
// or infinite. Each has its size in bytes and XLA's number of its element type;
// null ones are left out.
GRAPHDBG_TAP_EXPORT int graphdbg_taps_nonfinite(const void* const* arrays,
                                                const uint64_t* bytes,
                                                const int* dtypes,
                                                uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (arrays[i] != nullptr &&
        HasNonFinite(static_cast<ffi::DataType>(dtypes[i]), arrays[i],
                     bytes[i])) {
      return 1;
    }
  }
  return 0;
}

GRAPHDBG_TAP_EXPORT void graphdbg_taps_free(void* data) { std::free(data); }
