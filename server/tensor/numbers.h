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
  DType dtype() const { return dtype_; }
  // Fills `out` with the numbers from index `first` on, all of which must
  // exist.
  void Read(uint64_t first, std::span<double> out) const;

  // Whether the elements are floats, which have ordinals.
  bool has_ordinals() const { return order_ != nullptr; }
  // As Read, but the positions of the numbers among those of their type: that
  // of 0 is 0, and the next larger number has the next larger ordinal. Without
  // meaning for NaN.
  void ReadOrdinals(uint64_t first, std::span<int64_t> out) const;

 private:
  using Convert = void (*)(const char* from, std::span<double> out);
  using Order = void (*)(const char* from, std::span<int64_t> out);

  Numbers(std::string_view data, DType dtype, uint64_t item_bytes,
          uint64_t parts, Convert convert, Order order)
      : data_(data),
        dtype_(dtype),
        item_bytes_(item_bytes),
        parts_(parts),
        convert_(convert),
        order_(order) {}

  std::string_view data_;
  DType dtype_;
  // Size of one number.
  uint64_t item_bytes_;
  uint64_t parts_;
  Convert convert_;
  // Null for types other than floats.
  Order order_;
};

// Passes all numbers to `chunk`, a few thousand at a time.
void ForEachChunk(const Numbers& numbers,
                  const std::function<void(std::span<const double>)>& chunk);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_NUMBERS_H_
