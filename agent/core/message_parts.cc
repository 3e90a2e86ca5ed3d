#include "agent/core/message_parts.h"

#include <algorithm>

#include "agent/tensor/dtype.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {

std::string ValidText(const char* text) {
  return text == nullptr ? std::string()
                         : wire::ToValidUtf8(text, wire::kMaxNameBytes);
}

v1::Statistics ToProto(const Statistics& s) {
  v1::Statistics proto;
  proto.set_count(s.count);
  proto.set_nan_count(s.nan_count);
  proto.set_pos_inf_count(s.pos_inf_count);
  proto.set_neg_inf_count(s.neg_inf_count);
  proto.set_zero_count(s.zero_count);
  proto.set_negative_count(s.negative_count);
  proto.set_positive_count(s.positive_count);
  if (!s.has_finite()) return proto;
  proto.set_min(s.min);
  proto.set_max(s.max);
  proto.set_mean(s.mean);
  proto.set_abs_mean(s.abs_mean);
  proto.set_abs_max(s.abs_max);
  proto.set_variance(s.variance);
  proto.set_l1(s.l1);
  proto.set_l2(s.l2);
  return proto;
}

v1::TensorType TypeOf(const graphdbg_tensor& tensor) {
  v1::TensorType type;
  type.set_dtype(static_cast<v1::DType>(DTypeFromNumber(tensor.dtype)));
  type.set_framework_dtype(ValidText(tensor.framework_dtype));
  const size_t ndim = tensor.shape == nullptr
                          ? 0
                          : std::min<size_t>(tensor.ndim, wire::kMaxDimensions);
  for (size_t d = 0; d < ndim; ++d) {
    type.add_shape(std::max<int64_t>(tensor.shape[d], 0));
  }
  return type;
}

}  // namespace graphdbg::agent
