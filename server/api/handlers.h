// One function per route. It reads the request's arguments, calls the server's
// services or the job, and encodes the response.
//
// The client's token and the names of the query's parameters were checked
// before the body was read, and the dispatcher has found the job. It turns
// errors into problem documents.
#ifndef SERVER_API_HANDLERS_H_
#define SERVER_API_HANDLERS_H_

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "server/api/json.h"
#include "server/api/services.h"
#include "server/http/message.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/runs.h"

namespace graphdbg::api {

using Answer = boost::asio::awaitable<absl::StatusOr<http::Response>>;
using JobPtr = std::shared_ptr<jobs::Job>;
using RunPtr = std::shared_ptr<jobs::RecordedRun>;

// Arguments of both outlive the coroutine.
using Operation = Answer (*)(const Services&, const http::Request&);
// For routes below /jobs/{job}, and those below /runs/{run} that answer alike.
using JobOperation = Answer (*)(const Services&, const http::Request&,
                                const JobPtr& job);
// For other routes below /runs/{run}.
using RunOperation = Answer (*)(const Services&, const http::Request&,
                                const RunPtr& run);

Answer Livez(const Services&, const http::Request&);
Answer Readyz(const Services&, const http::Request&);
Answer GetMetrics(const Services&, const http::Request&);
Answer GetOpenApi(const Services&, const http::Request&);
Answer Login(const Services&, const http::Request&);
Answer IssueLoginCode(const Services&, const http::Request&);
Answer GetSession(const Services&, const http::Request&);
Answer EndSession(const Services&, const http::Request&);
Answer ListTokens(const Services&, const http::Request&);
Answer CreateToken(const Services&, const http::Request&);
Answer RevokeToken(const Services&, const http::Request&);
Answer ReadAudit(const Services&, const http::Request&);
Answer GetServer(const Services&, const http::Request&);

Answer ListConditions(const Services&, const http::Request&);
Answer CheckCondition(const Services&, const http::Request&);
Answer GetAdvice(const Services&, const http::Request&);

Answer ListRules(const Services&, const http::Request&);
Answer GetRuleAdvice(const Services&, const http::Request&);

Answer OpenModel(const Services&, const http::Request&);

Answer ListTrainings(const Services&, const http::Request&);
Answer AttachToTraining(const Services&, const http::Request&);
Answer DetachFromTraining(const Services&, const http::Request&);

Answer ListJobs(const Services&, const http::Request&);
Answer GetJob(const Services&, const http::Request&, const JobPtr&);
Answer ListRanks(const Services&, const http::Request&, const JobPtr&);
Answer DeleteJob(const Services&, const http::Request&, const JobPtr&);
Answer ControlJob(const Services&, const http::Request&, const JobPtr&);
Answer TakeLease(const Services&, const http::Request&, const JobPtr&);
Answer ReleaseLease(const Services&, const http::Request&, const JobPtr&);

Answer ListGraphs(const Services&, const http::Request&, const JobPtr&);
Answer GetGraphIndex(const Services&, const http::Request&, const JobPtr&);
Answer GetScope(const Services&, const http::Request&, const JobPtr&);
Answer GetNode(const Services&, const http::Request&, const JobPtr&);
Answer SearchNodes(const Services&, const http::Request&, const JobPtr&);
Answer GetSource(const Services&, const http::Request&, const JobPtr&);
Answer ExportGraph(const Services&, const http::Request&, const JobPtr&);
Answer GetNeighbours(const Services&, const http::Request&, const JobPtr&);

Answer ListWatchpoints(const Services&, const http::Request&, const JobPtr&);
Answer AddWatchpoint(const Services&, const http::Request&, const JobPtr&);
Answer PreviewWatchpoint(const Services&, const http::Request&, const JobPtr&);
Answer AddRecommended(const Services&, const http::Request&, const JobPtr&);
Answer GetWatchpoint(const Services&, const http::Request&, const JobPtr&);
Answer ChangeWatchpoint(const Services&, const http::Request&, const JobPtr&);
Answer DeleteWatchpoint(const Services&, const http::Request&, const JobPtr&);
Answer ListHits(const Services&, const http::Request&, const JobPtr&);
Answer GetDiagnosis(const Services&, const http::Request&, const JobPtr&);
Answer ListIncidents(const Services&, const http::Request&, const JobPtr&);

Answer ListTensors(const Services&, const http::Request&, const JobPtr&);
Answer GetTensor(const Services&, const http::Request&, const JobPtr&);
Answer GetRecording(const Services&, const http::Request&, const JobPtr&);
Answer SetRecording(const Services&, const http::Request&, const JobPtr&);
Answer ListJobRules(const Services&, const http::Request&, const JobPtr&);
Answer AddJobRules(const Services&, const http::Request&, const JobPtr&);
Answer DeleteJobRule(const Services&, const http::Request&, const JobPtr&);
Answer ReportJobFindings(const Services&, const http::Request&, const JobPtr&);
Answer ListJobFindings(const Services&, const http::Request&, const JobPtr&);
Answer DownloadBundle(const Services&, const http::Request&, const JobPtr&);
Answer RunExperiments(const Services&, const http::Request&, const JobPtr&);
Answer ChangeJob(const Services&, const http::Request&, const JobPtr&);
Answer CatchTensors(const Services&, const http::Request&, const JobPtr&);
Answer GetJobStatistics(const Services&, const http::Request&, const JobPtr&);
Answer GetTensorStatistics(const Services&, const http::Request&,
                           const JobPtr&);
Answer GetTensorHistogram(const Services&, const http::Request&, const JobPtr&);
Answer DownloadTensor(const Services&, const http::Request&, const JobPtr&);
Answer GetOverview(const Services&, const http::Request&, const JobPtr&);
Answer GetOverviewValues(const Services&, const http::Request&, const JobPtr&);
Answer GetOverviewModule(const Services&, const http::Request&, const JobPtr&);
Answer GetOverviewOps(const Services&, const http::Request&, const JobPtr&);
Answer GetTensorHistory(const Services&, const http::Request&, const JobPtr&);
Answer CompareTensors(const Services&, const http::Request&, const JobPtr&);
Answer GetTensorMap(const Services&, const http::Request&, const JobPtr&);

Answer ListRuns(const Services&, const http::Request&);
Answer GetRun(const Services&, const http::Request&, const RunPtr&);
Answer ListSteps(const Services&, const http::Request&, const RunPtr&);
Answer ListCollections(const Services&, const http::Request&, const RunPtr&);
Answer GetStepStatistics(const Services&, const http::Request&, const RunPtr&);
Answer GetRunHistory(const Services&, const http::Request&, const RunPtr&);
Answer GetDivergence(const Services&, const http::Request&, const RunPtr&);
Answer ListRunRules(const Services&, const http::Request&, const RunPtr&);
Answer AddRunRules(const Services&, const http::Request&, const RunPtr&);
Answer DeleteRunRule(const Services&, const http::Request&, const RunPtr&);
Answer ListRunFindings(const Services&, const http::Request&, const RunPtr&);
Answer StartCheck(const Services&, const http::Request&, const RunPtr&);
Answer GetCheck(const Services&, const http::Request&, const RunPtr&);
Answer EndCheck(const Services&, const http::Request&, const RunPtr&);

http::Response JsonResponse(const Json& json, int status = 200);

}  // namespace graphdbg::api

#endif  // SERVER_API_HANDLERS_H_
