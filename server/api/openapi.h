// proto/http/openapi.yaml as it is served.
#ifndef SERVER_API_OPENAPI_H_
#define SERVER_API_OPENAPI_H_

#include <string_view>

namespace graphdbg::api {

// JSON; lives as long as the program.
std::string_view OpenApiJson();

}  // namespace graphdbg::api

#endif  // SERVER_API_OPENAPI_H_
