// Values of tensors as bytes: little-endian, in row-major order.
#ifndef SERVER_API_TENSOR_BYTES_H_
#define SERVER_API_TENSOR_BYTES_H_

#include "absl/status/statusor.h"
#include "server/api/handlers.h"
#include "server/http/byte_range.h"
#include "server/http/message.h"
#include "server/model/tensor.h"

namespace graphdbg::api {

// All bytes of a slice. INTERNAL "bad_tensor" if they do not match its shape.
absl::StatusOr<http::Response> BytesOf(model::TensorValue value);

// Some bytes of a slice: status 206, or 416 if it has none of them. The job
// sends only the elements that have some of the bytes, where their size is
// known. Errors as Job::Tensor; INVALID_ARGUMENT "bad_slice";
// RESOURCE_EXHAUSTED "slice_too_large" beyond kMaxTensorBytes; ABORTED
// "value_gone" if the tensor changes meanwhile.
Answer SomeBytesOf(JobPtr job, model::TensorQuery query,
                   http::AskedRange asked);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_BYTES_H_
