#include "agent/kernels/cpu/plain_read.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "agent/kernels/cpu/plain_read.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace graphdbg::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double Read(const void* data, size_t bytes) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d), n = bytes / sizeof(float);
  const auto* p = static_cast<const float*>(data);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, p + i));
    b = hn::Add(b, hn::LoadU(d, p + i + lanes));
    c = hn::Add(c, hn::LoadU(d, p + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, p + i + 3 * lanes));
  }
  double rest = 0;
  for (; i < n; ++i) rest += static_cast<double>(p[i]);
  return rest + static_cast<double>(hn::GetLane(
                    hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e)))));
}

}  // namespace HWY_NAMESPACE
}  // namespace graphdbg::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphdbg::cpu {

HWY_EXPORT(Read);

double PlainRead(const void* data, size_t bytes) {
  return HWY_DYNAMIC_DISPATCH(Read)(data, bytes);
}

}  // namespace graphdbg::cpu
#endif  // HWY_ONCE
