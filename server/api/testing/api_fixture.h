// The API over a fake session: called directly, or behind a real listener.
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
  // Empty: no Authorization header.
  std::string token = kToken;
  http::Headers headers = {};
};

class ApiFixture {
 public:
  explicit ApiFixture(bool auth_required = true,
                      EventHub::Limits limits = EventHub::Limits());

  // Runs the handler to its end. `target` with the query, below /api/v1 if it
  // does not begin with "/api" or name one of the root's routes.
  http::Response Call(const std::string& method, const std::string& target,
                      const CallOptions& options = {});

  FakeDirectory directory;
  auth::Authenticator auth;
  EventHub events;
  ApiCounters counters;
  ServerIdentity identity;
  bool ready = true;
  Services services;
  std::shared_ptr<http::Router> router = std::make_shared<http::Router>();
};

// The body as JSON; fails the test if it is none.
Json BodyOf(const http::Response& response);

// A test with one job of id "train".
class ApiTest : public ::testing::Test {
 protected:
  http::Response Get(const std::string& target) {
    return fixture_.Call("GET", target);
  }
  http::Response Post(const std::string& target, const std::string& body) {
    return fixture_.Call("POST", target, {.body = body, .accept = {}});
  }
  // Checks a problem document.
  static void ExpectProblem(const http::Response& response, int status,
                            const std::string& code,
                            const std::string& field = {});

  ApiFixture fixture_;
  std::shared_ptr<FakeJob> job_ = fixture_.directory.Add("train");
};

}  // namespace graphdbg::api::testing

#endif  // SERVER_API_TESTING_API_FIXTURE_H_
