#include "server/api/status_problem.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using absl::StatusCode;

TEST(StatusProblemTest, EveryCodeHasItsStatus) {
  struct Case {
    StatusCode code;
    const char* reason;
    int status;
  };
  const Case cases[] = {
      {StatusCode::kInvalidArgument, "bad_slice", 400},
      {StatusCode::kOutOfRange, "x", 400},
      {StatusCode::kUnauthenticated, "invalid_token", 401},
      {StatusCode::kPermissionDenied, "x", 403},
      {StatusCode::kNotFound, "unknown_node", 404},
      {StatusCode::kFailedPrecondition, "invalid_state", 409},
      {StatusCode::kAlreadyExists, "x", 409},
      {StatusCode::kAborted, "x", 409},
      {StatusCode::kResourceExhausted, "slice_too_large", 413},
      {StatusCode::kResourceExhausted, "too_many_watchpoints", 429},
      {StatusCode::kResourceExhausted, "out_of_memory_budget", 503},
      {StatusCode::kUnimplemented, "x", 501},
      {StatusCode::kUnavailable, "job_lost", 503},
      {StatusCode::kCancelled, "x", 503},
      {StatusCode::kDeadlineExceeded, "x", 504},
      {StatusCode::kInternal, "x", 500},
      {StatusCode::kDataLoss, "x", 500},
      {StatusCode::kUnknown, "x", 500},
  };
  for (const Case& c : cases) {
    http::Response response =
        ProblemOf(Error(c.code, c.reason, "what is wrong"), "GET");
    EXPECT_EQ(response.status, c.status) << c.reason;
    auto problem = nlohmann::json::parse(response.body);
    EXPECT_EQ(problem["code"], c.reason);
    EXPECT_EQ(problem["status"], c.status);
    EXPECT_EQ(problem["detail"], "what is wrong");
    EXPECT_EQ(problem["type"], "about:blank");
    EXPECT_FALSE(problem.contains("field"));
    EXPECT_EQ(response.headers.Has("Retry-After"),
              std::string_view(c.reason) == "out_of_memory_budget");
  }
}

TEST(StatusProblemTest, AWrongFieldOfABodyIsUnprocessable) {
  absl::Status status =
      WithField(Error(StatusCode::kInvalidArgument, "invalid_field", "x"),
                "condition.id");
  EXPECT_EQ(HttpStatusOf(status, "POST"), 422);
  EXPECT_EQ(HttpStatusOf(status, "PATCH"), 422);
  EXPECT_EQ(HttpStatusOf(status, "GET"), 400);
  auto problem = nlohmann::json::parse(ProblemOf(status, "POST").body);
  EXPECT_EQ(problem["field"], "condition.id");
}

TEST(StatusProblemTest, AValueThatIsGoneIsNoErrorForThoseWhoPreferThat) {
  const absl::Status gone = Error(StatusCode::kNotFound, "value_gone", "x");
  http::Request request;
  request.method = "GET";
  EXPECT_EQ(ProblemFor(gone, request).status, 404);
  request.headers.Set("Prefer", "gone=200");
  const http::Response response = ProblemFor(gone, request);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Preference-Applied"), "gone=200");
  // It is still a problem document.
  EXPECT_EQ(response.headers.Get("Content-Type"),
            ProblemOf(gone, "GET").headers.Get("Content-Type"));
  EXPECT_EQ(nlohmann::json::parse(response.body)["code"], "value_gone");
  // All other errors remain errors.
  const absl::Status unknown =
      Error(StatusCode::kNotFound, "unknown_node", "x");
  EXPECT_EQ(ProblemFor(unknown, request).status, 404);
}

TEST(StatusProblemTest, StatusesWithoutAReasonGetAWord) {
  auto problem =
      nlohmann::json::parse(ProblemOf(absl::NotFoundError("x"), "GET").body);
  EXPECT_EQ(problem["code"], "not_found");
}

TEST(StatusProblemTest, TextThatIsNotUnicodeDoesNotBreakTheAnswer) {
  http::Response response =
      ProblemOf(absl::NotFoundError("node \xff\xfe"), "GET");
  EXPECT_FALSE(
      nlohmann::json::parse(response.body, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace graphdbg::api
