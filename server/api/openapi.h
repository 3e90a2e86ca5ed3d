// The OpenAPI description of the API, generated from proto/http/openapi.yaml.
#ifndef SERVER_API_OPENAPI_H_
#define SERVER_API_OPENAPI_H_

#include <string_view>

namespace graphdbg::api {

// The OpenAPI document as JSON. Valid for the lifetime of the program.
std::string_view OpenApiJson();

}  // namespace graphdbg::api

#endif  // SERVER_API_OPENAPI_H_
