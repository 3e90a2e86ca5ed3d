// The server's counters in the Prometheus text format.
#ifndef SERVER_API_METRICS_H_
#define SERVER_API_METRICS_H_

#include <boost/asio/awaitable.hpp>
#include <string>

#include "server/api/services.h"

namespace graphdbg::api {

boost::asio::awaitable<std::string> MetricsText(const Services& services);

}  // namespace graphdbg::api

#endif  // SERVER_API_METRICS_H_
