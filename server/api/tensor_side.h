// The other side of a comparison, which the parameter "with" names.
#ifndef SERVER_API_TENSOR_SIDE_H_
#define SERVER_API_TENSOR_SIDE_H_

#include <optional>
#include <string>

#include "server/api/arguments.h"
#include "server/model/tensor.h"

namespace graphdbg::api {

// Reads
//
//   previous | step:N | rank:R[,TENSOR][@STEP] | TENSOR[@STEP]
//     | run:RUN[:RANK][,TENSOR][@STEP]
//
// where TENSOR is tensor:NODE:SLOT, and STEP is a number, "current" or
// "previous". What it does not name is as on the first side.
struct TensorSide {
  model::TensorQuery query;
  // RUN[:RANK][@STEP], which only the run directory can tell apart. Empty: the
  // same job.
  std::string run;
  // Whether the step is named outside `run`.
  bool has_step = false;
};

// Fails "with" if it is not in this form.
TensorSide ReadTensorSide(Arguments& arguments, const std::string& with,
                          const model::TensorQuery& first);

}  // namespace graphdbg::api

#endif  // SERVER_API_TENSOR_SIDE_H_
