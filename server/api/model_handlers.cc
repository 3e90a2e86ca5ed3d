#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/caller.h"
#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

// The name of the client's credential; its address if it needed none.
std::string PersonOf(const http::Request& request) {
  const std::string& name = CallerOf(request).name;
  return name.empty() ? std::string(http::AddressOf(request.peer)) : name;
}

}  // namespace

Answer OpenModel(const Services& services, const http::Request& request) {
  Arguments arguments(request);
  std::string name = arguments.RequiredText("name");
  CO_RETURN_IF_ERROR(arguments.status());
  if (const model::Storage storage = services.storage(); storage.failing) {
    co_return Error(absl::StatusCode::kUnavailable, "not_kept", storage.reason);
  }
  CO_ASSIGN_OR_RETURN(
      const std::string job,
      co_await services.open_model(std::move(name), PersonOf(request),
                                   request.next_piece));
  co_return JsonResponse({{"job", job}}, 201);
}

}  // namespace graphdbg::api
