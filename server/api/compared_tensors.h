// The two tensors that a request compares.
#ifndef SERVER_API_COMPARED_TENSORS_H_
#define SERVER_API_COMPARED_TENSORS_H_

#include <functional>

#include "server/api/arguments.h"
#include "server/api/handlers.h"
#include "server/api/tensor_pieces.h"
#include "server/api/tensor_side.h"

namespace graphdbg::api {

struct ComparedQuery {
  model::TensorQuery left;
  TensorSide right;
};

// Reads "name", "rank", "step", "slice" and "with".
ComparedQuery ReadComparedQuery(Arguments& arguments);

struct ComparedTensors {
  TensorPieces left;
  TensorPieces right;
};

// INVALID_ARGUMENT "shapes_differ"; NOT_FOUND "unknown_run"; errors as
// TensorPieces::Open.
jobs::Task<ComparedTensors> OpenCompared(const Services& services, JobPtr job,
                                         ComparedQuery query,
                                         std::function<bool()> has_gone);

}  // namespace graphdbg::api

#endif  // SERVER_API_COMPARED_TENSORS_H_
