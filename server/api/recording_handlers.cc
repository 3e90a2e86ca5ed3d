// The recording of a live job.
#include "proto/wire/status_macros.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/encode_run.h"
#include "server/api/handlers.h"

namespace graphdbg::api {

Answer GetRecording(const Services&, const http::Request&, const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const model::JobRecording recording,
                      co_await job->GetRecording());
  co_return JsonResponse(Encode(recording));
}

Answer SetRecording(const Services&, const http::Request& request,
                    const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(model::RecordingSpec spec, DecodeRecording(request.body));
  Note(request, spec.on ? "on " + spec.directory : "off");
  CO_ASSIGN_OR_RETURN(const model::JobRecording recording,
                      co_await job->SetRecording(std::move(spec)));
  co_return JsonResponse(Encode(recording));
}

}  // namespace graphdbg::api
