// Recorded runs that a parameter of a request names.
#ifndef SERVER_API_RUN_REFERENCE_H_
#define SERVER_API_RUN_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/api/handlers.h"

namespace graphdbg::api {

struct RunReference {
  RunPtr run;
  std::optional<uint32_t> rank;
  std::optional<uint64_t> step;
};

// Finds RUN, RUN:RANK, RUN@STEP or RUN:RANK@STEP. A run may be called like any
// of these. NOT_FOUND "unknown_run" names `field`.
jobs::Task<RunReference> FindRunReference(const Services& services,
                                          std::string text, std::string field);

}  // namespace graphdbg::api

#endif  // SERVER_API_RUN_REFERENCE_H_
