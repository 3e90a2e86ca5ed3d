#include "server/api/openapi.h"

#include <cstdint>

extern "C" const unsigned char graphdbg_openapi[];
extern "C" const uint64_t graphdbg_openapi_size;

namespace graphdbg::api {

std::string_view OpenApiJson() {
  return {reinterpret_cast<const char*>(graphdbg_openapi),
          graphdbg_openapi_size};
}

}  // namespace graphdbg::api
