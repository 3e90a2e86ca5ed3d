// Reads the elements of a tensor as numbers.
#ifndef SERVER_TENSOR_NUMBERS_H_
#define SERVER_TENSOR_NUMBERS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/model/tensor.h"

namespace graphdbg::tensor {

// Reads contiguous little-endian elements as float64: booleans, integers
// (rounded to the nearest float64 above 2^53), floats, and complex numbers as
// pairs of real and imaginary part. Refers to `data`.
class Numbers {
 public:
  // UNIMPLEMENTED "unreadable_dtype"; INTERNAL "bad_tensor" if the data ends in
  // the middle of an element. Only the element type of `type` counts.
  static absl::StatusOr<Numbers> Of(const model::TensorType& type,
                                    std::string_view data);

  uint64_t size() const { return data_.size() / item_bytes_; }
  // Numbers per element: 2 for complex types, otherwise 1.
  uint64_t parts() const { return parts_; }
  // Fills `out` with the numbers from index `first` on, all of which must
  // exist.
  void Read(uint64_t first, std::span<double> out) const;

 private:
  using Convert = void (*)(const char* from, std::span<double> out);

  Numbers(std::string_view data, uint64_t item_bytes, uint64_t parts,
          Convert convert)
      : data_(data),
        item_bytes_(item_bytes),
        parts_(parts),
        convert_(convert) {}

  std::string_view data_;
  // Size of one number.
  uint64_t item_bytes_;
  uint64_t parts_;
  Convert convert_;
};

// Passes all numbers to `chunk`, a few thousand at a time.
void ForEachChunk(const Numbers& numbers,
                  const std::function<void(std::span<const double>)>& chunk);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_NUMBERS_H_
