#include "server/api/handlers.h"

namespace graphdbg::api {

http::Response JsonResponse(const Json& json, int status) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/json");
  response.headers.Set("Cache-Control", "no-store");
  response.body = Dump(json);
  return response;
}

}  // namespace graphdbg::api
