#include "proto/runs/digest.h"

#include <cstring>

namespace graphdbg::runs {
namespace {

template <typename Bits>
uint64_t Sum(const void* data, uint64_t count, uint64_t first_index) {
  const char* const at = static_cast<const char*>(data);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, at + i * sizeof(Bits), sizeof(Bits));
    sum += DigestOf(first_index + i, bits);
  }
  return sum;
}

}  // namespace

uint64_t Digest(const void* data, uint64_t count, size_t item_size,
                uint64_t first_index) {
  switch (item_size) {
    case 1:
      return Sum<uint8_t>(data, count, first_index);
    case 2:
      return Sum<uint16_t>(data, count, first_index);
    case 4:
      return Sum<uint32_t>(data, count, first_index);
    case 8:
      return Sum<uint64_t>(data, count, first_index);
    case 16:
      return Sum<uint64_t>(data, 2 * count, 2 * first_index);
    default:
      return 0;
  }
}

}  // namespace graphdbg::runs
