// The API over fake jobs. Tests call it directly or over a real connection.
#ifndef SERVER_API_TESTING_API_FIXTURE_H_
#define SERVER_API_TESTING_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/api/json.h"
#include "server/api/routes.h"
#include "server/api/testing/fake_jobs.h"

namespace graphdbg::api::testing {

inline constexpr char kToken[] = "the-api-token";

struct CallOptions {
  std::string body = {};
  std::string accept = {};
  // If empty, no Authorization header is sent.
  std::string token = kToken;
  http::Headers headers = {};
};

class ApiFixture {
 public:
  explicit ApiFixture(bool auth_required = true,
                      EventBuffer::Limits limits = EventBuffer::Limits());

  // Calls the handler and waits for its response. `target` is a path, relative
  // to /api/v1 except for /livez and /readyz, and may have a query.
  http::Response Call(const std::string& method, const std::string& target,
                      const CallOptions& options = {});

  FakeDirectory directory;
  auth::Authenticator auth;
  std::unique_ptr<audit::AuditLog> audit;
  EventBuffer events;
  ApiCounters counters;
  ServerIdentity identity;
  bool ready = true;
  model::Storage storage;
  Services services;
  std::shared_ptr<http::Router> router = std::make_shared<http::Router>();
};

// Parses the body as JSON. Fails the test if that is not possible.
Json BodyOf(const http::Response& response);

// A test with one job, whose id is "train".
class ApiTest : public ::testing::Test {
 protected:
  http::Response Get(const std::string& target) {
    return fixture_.Call("GET", target);
  }
  http::Response Post(const std::string& target, const std::string& body) {
    return fixture_.Call("POST", target, {.body = body, .accept = {}});
  }
  // Checks that the response is this problem document.
  static void ExpectProblem(const http::Response& response, int status,
                            const std::string& code,
                            const std::string& field = {});

  ApiFixture fixture_;
  std::shared_ptr<FakeJob> job_ = fixture_.directory.Add("train");
};

}  // namespace graphdbg::api::testing

#endif  // SERVER_API_TESTING_API_FIXTURE_H_
