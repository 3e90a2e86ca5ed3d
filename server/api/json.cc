#include "server/api/json.h"

#include <cmath>

#include "absl/time/time.h"

namespace graphdbg::api {

Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

std::string TimeText(int64_t unix_nano) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ",
                          absl::FromUnixNanos(unix_nano), absl::UTCTimeZone());
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace graphdbg::api
