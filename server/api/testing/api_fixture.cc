#include "server/api/testing/api_fixture.h"

#include <stdlib.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

#include "server/http/url_decoding.h"

namespace graphdbg::api::testing {

namespace asio = boost::asio;

namespace {

auth::AuthOptions OptionsOf(bool auth_required) {
  auth::AuthOptions options;
  options.required = auth_required;
  return options;
}

std::unique_ptr<audit::AuditLog> OpenAudit() {
  std::string dir = ::testing::TempDir() + "/audit.XXXXXX";
  EXPECT_NE(mkdtemp(dir.data()), nullptr);
  audit::Options options;
  options.dir = dir;
  auto log = audit::AuditLog::Open(std::move(options));
  EXPECT_TRUE(log.ok()) << log.status();
  return *std::move(log);
}

}  // namespace

ApiFixture::ApiFixture(bool auth_required, EventBuffer::Limits limits)
    : auth({kToken, "the-agent-token"}, OptionsOf(auth_required)),
      audit(OpenAudit()),
      events(directory, limits),
      identity{"1.2.3", "http://127.0.0.1:8080", "127.0.0.1:50051"},
      services{.directory = directory,
               .auth = auth,
               .audit = *audit,
               .events = events,
               .counters = counters,
               .identity = identity,
               .ready = [this] { return ready; },
               .storage = [this] { return storage; },
               .http_counters = [] { return http::ServerCounters(); },
               .now_unix_nano = [] { return int64_t{0}; },
               .open_model = {}} {
  AddRoutes(services, *router);
}

http::Response ApiFixture::Call(const std::string& method,
                                const std::string& target,
                                const CallOptions& options) {
  http::Request request;
  request.method = method;
  size_t question = target.find('?');
  request.path = target.substr(0, question);
  bool below_base = request.path.rfind("/livez", 0) != 0 &&
                    request.path.rfind("/readyz", 0) != 0;
  if (below_base) request.path = "/api/v1" + request.path;
  if (question != std::string::npos) {
    request.query = http::ParseQuery(target.substr(question + 1)).value();
  }
  request.headers = options.headers;
  request.peer = "127.0.0.1:40312";
  request.body = options.body;
  if (!options.token.empty()) {
    request.headers.Set("Authorization", "Bearer " + options.token);
  }
  if (!options.accept.empty()) request.headers.Set("Accept", options.accept);
  http::Router::Match match = router->Find(method, request.path);
  EXPECT_NE(match.handler, nullptr) << method << " " << target;
  if (match.handler == nullptr) return {};
  request.path_params = std::move(match.params);
  if (auto refusal = match.options->check(request)) return *refusal;
  asio::io_context context;
  auto response = asio::co_spawn(context, (*match.handler)(std::move(request)),
                                 asio::use_future);
  context.run();
  return response.get();
}

Json BodyOf(const http::Response& response) {
  Json json = Json::parse(response.bytes(), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << response.bytes();
  return json;
}

void ApiTest::ExpectProblem(const http::Response& response, int status,
                            const std::string& code, const std::string& field) {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(response.headers.Get("Content-Type"), "application/problem+json");
  Json problem = BodyOf(response);
  EXPECT_EQ(problem["status"], status);
  EXPECT_EQ(problem["code"], code);
  EXPECT_FALSE(problem["detail"].get<std::string>().empty());
  EXPECT_EQ(problem.value("field", ""), field);
}

}  // namespace graphdbg::api::testing
