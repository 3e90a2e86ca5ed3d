#include "server/api/arguments.h"
#include "server/api/handlers.h"

namespace graphdbg::api {

Answer OpenModel(const Services& services, const http::Request& request) {
  Arguments arguments(request);
  std::string name = arguments.RequiredText("name");
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<std::string> job =
      co_await services.open_model(std::move(name), request.next_piece);
  if (!job.ok()) co_return job.status();
  co_return JsonResponse({{"job", *job}}, 201);
}

}  // namespace graphdbg::api
