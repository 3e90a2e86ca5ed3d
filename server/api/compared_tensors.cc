#include "server/api/compared_tensors.h"

#include <utility>

#include "proto/wire/status_macros.h"
#include "server/api/json.h"
#include "server/api/run_reference.h"
#include "server/api/tensor_arguments.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;

// A run is asked for the step of the first side unless another one is named.
jobs::Task<TensorPieces> OpenOther(const Services& services, JobPtr job,
                                   TensorSide side, uint64_t first_step,
                                   std::function<bool()> has_gone) {
  TensorQuery query = std::move(side.query);
  if (side.run.empty()) {
    co_return co_await TensorPieces::Open(std::move(job), std::move(query),
                                          std::move(has_gone));
  }
  CO_ASSIGN_OR_RETURN(
      const RunReference reference,
      co_await FindRunReference(services, std::move(side.run), "with"));
  query.rank = reference.rank.value_or(query.rank);
  if (reference.step || !side.has_step) {
    query.version = TensorQuery::Version::kStep;
    query.step = reference.step.value_or(first_step);
  }
  const bool has_number = query.version == TensorQuery::Version::kStep;
  JobPtr run = reference.run->At(has_number ? query.step : first_step);
  co_return co_await TensorPieces::Open(std::move(run), std::move(query),
                                        std::move(has_gone));
}

}  // namespace

ComparedQuery ReadComparedQuery(Arguments& arguments) {
  ComparedQuery query;
  query.left = ReadTensorQuery(arguments);
  query.left.slice = arguments.Text("slice");
  query.right =
      ReadTensorSide(arguments, arguments.RequiredText("with"), query.left);
  return query;
}

jobs::Task<ComparedTensors> OpenCompared(const Services& services, JobPtr job,
                                         ComparedQuery query,
                                         std::function<bool()> has_gone) {
  CO_ASSIGN_OR_RETURN(
      TensorPieces left,
      co_await TensorPieces::Open(job, std::move(query.left), has_gone));
  const uint64_t step = left.head().step;
  CO_ASSIGN_OR_RETURN(TensorPieces right,
                      co_await OpenOther(services, job, std::move(query.right),
                                         step, std::move(has_gone)));
  if (left.slice_shape() != right.slice_shape()) {
    co_return Error(absl::StatusCode::kInvalidArgument, "shapes_differ",
                    "the shapes differ: " + Json(left.slice_shape()).dump() +
                        " and " + Json(right.slice_shape()).dump());
  }
  co_return ComparedTensors{std::move(left), std::move(right)};
}

}  // namespace graphdbg::api
