// One function per route: reads its arguments, calls the session, encodes the
// answer. The dispatcher has checked who asks and the names of the query's
// parameters, and turns errors into problem documents.
#ifndef SERVER_API_HANDLERS_H_
#define SERVER_API_HANDLERS_H_

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "server/api/json.h"
#include "server/api/services.h"
#include "server/http/message.h"
#include "server/jobs/interfaces.h"

namespace graphdbg::api {

using Answer = boost::asio::awaitable<absl::StatusOr<http::Response>>;
// Both arguments outlive the answer.
using Operation = Answer (*)(const Services&, const http::Request&);

Answer Livez(const Services&, const http::Request&);
Answer Readyz(const Services&, const http::Request&);
Answer GetMetrics(const Services&, const http::Request&);
Answer GetOpenApi(const Services&, const http::Request&);
Answer Login(const Services&, const http::Request&);
Answer IssueLoginCode(const Services&, const http::Request&);
Answer GetServer(const Services&, const http::Request&);

Answer ListJobs(const Services&, const http::Request&);
Answer GetJob(const Services&, const http::Request&);
Answer DeleteJob(const Services&, const http::Request&);
Answer ControlJob(const Services&, const http::Request&);

Answer OpenModel(const Services&, const http::Request&);

Answer ListGraphs(const Services&, const http::Request&);
Answer GetGraphIndex(const Services&, const http::Request&);
Answer GetScope(const Services&, const http::Request&);
Answer GetNode(const Services&, const http::Request&);
Answer SearchNodes(const Services&, const http::Request&);

Answer ExportGraph(const Services&, const http::Request&);
Answer GetNeighbours(const Services&, const http::Request&);

Answer ListConditions(const Services&, const http::Request&);
Answer CheckCondition(const Services&, const http::Request&);
Answer ListWatchpoints(const Services&, const http::Request&);
Answer AddWatchpoint(const Services&, const http::Request&);
Answer PreviewWatchpoint(const Services&, const http::Request&);
Answer AddRecommended(const Services&, const http::Request&);
Answer GetWatchpoint(const Services&, const http::Request&);
Answer ChangeWatchpoint(const Services&, const http::Request&);
Answer DeleteWatchpoint(const Services&, const http::Request&);
Answer ListHits(const Services&, const http::Request&);

Answer ListTensors(const Services&, const http::Request&);
Answer GetTensor(const Services&, const http::Request&);
Answer CatchTensors(const Services&, const http::Request&);
Answer GetTensorStatistics(const Services&, const http::Request&);
Answer GetTensorHistogram(const Services&, const http::Request&);
Answer DownloadTensor(const Services&, const http::Request&);
Answer GetTensorHistory(const Services&, const http::Request&);
Answer CompareTensors(const Services&, const http::Request&);

// NOT_FOUND "unknown_job".
absl::StatusOr<std::shared_ptr<jobs::Job>> JobOf(const Services& services,
                                                 const http::Request& request);

http::Response JsonResponse(const Json& json, int status = 200);

}  // namespace graphdbg::api

#endif  // SERVER_API_HANDLERS_H_
