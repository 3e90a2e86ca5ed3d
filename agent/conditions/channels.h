// The slices of a tensor along one of its dimensions.
#ifndef AGENT_CONDITIONS_CHANNELS_H_
#define AGENT_CONDITIONS_CHANNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/conditions/tensor_measurements.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::conditions {

// How many channels of a tensor are tested at most.
constexpr int64_t kMaxChannels = 65'536;

// Measures one channel after another. Used by one thread; allocates nothing.
class Channels {
 public:
  // The dimension of the measured tensor that `axis` refers to; a negative one
  // counts from the last. Absent if the tensor has no such dimension or no
  // elements, or if its values are not available.
  static std::optional<size_t> Find(const TensorMeasurements& whole, int axis);
  // Slices the tensor that `whole` measures along one of its dimensions.
  // `whole` must outlive this.
  Channels(const TensorMeasurements& whole, size_t axis);
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  int64_t count() const { return count_; }
  // Proceeds to a channel, whose measurements are valid until the next call.
  // Null if its values cannot be read.
  TensorMeasurements* Measure(int64_t channel, const Needs& needs);

 private:
  // A tensor without the dimension.
  struct Slice {
    Slice(const TensorView& tensor, size_t axis);
    // The view of one channel.
    TensorView At(int64_t channel) const;

    TensorView tensor;
    size_t ndim;
    std::array<int64_t, kMaxDimensions> shape;
    std::array<int64_t, kMaxDimensions> strides;
    // Bytes between channels.
    int64_t distance;
  };

  const TensorMeasurements* whole_;
  int64_t count_;
  Slice now_;
  std::optional<Slice> previous_;
  TensorView now_view_;
  TensorView previous_view_;
  std::optional<TensorMeasurements> measurements_;
};

}  // namespace graphdbg::conditions

#endif  // AGENT_CONDITIONS_CHANNELS_H_
