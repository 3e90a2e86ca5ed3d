// The digest of a tensor's bits. Equal tensors have equal digests, whatever
// program computes them: a sum, so threads and GPUs may add the elements in any
// order.
#ifndef PROTO_RUNS_DIGEST_H_
#define PROTO_RUNS_DIGEST_H_

#include <cstddef>
#include <cstdint>

namespace graphdbg::runs {

// The share of one element: `index` is its row-major index, `bits` its bits,
// zero-extended.
constexpr uint64_t DigestOf(uint64_t index, uint64_t bits) {
  uint64_t z = bits ^ ((index + 1) * 0x9E3779B97F4A7C15u);
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9u;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBu;
  z ^= z >> 31;
  return z;
}

// The sum, modulo 2^64, over `count` contiguous elements of `item_size` bytes,
// the first of which has the index `first_index`. An element of 16 bytes
// (complex128) counts as two of 8, at twice its index. Sizes other than 1, 2,
// 4, 8 and 16 have no digest: 0, which also is that of an empty tensor.
uint64_t Digest(const void* data, uint64_t count, size_t item_size,
                uint64_t first_index = 0);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_DIGEST_H_
