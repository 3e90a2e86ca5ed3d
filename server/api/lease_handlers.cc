// The control lease of a job.
#include "proto/wire/status_macros.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"

namespace graphdbg::api {

Answer TakeLease(const Services&, const http::Request& request,
                 const JobPtr& job) {
  CO_RETURN_IF_ERROR(DecodeNothing(request.body));
  CO_ASSIGN_OR_RETURN(const model::Job before, co_await job->Describe());
  if (before.controller) Note(request, "from " + before.controller->name);
  CO_ASSIGN_OR_RETURN(const model::Controller controller,
                      co_await job->TakeLease(CallerOf(request).name));
  co_return JsonResponse({{"controller", Encode(controller)}});
}

Answer ReleaseLease(const Services&, const http::Request& request,
                    const JobPtr& job) {
  CO_RETURN_IF_ERROR(co_await job->ReleaseLease(CallerOf(request).name));
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace graphdbg::api
