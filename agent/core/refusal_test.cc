#include "agent/core/refusal.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphdbg::agent {
namespace {

using ::testing::HasSubstr;

TEST(RefusalTest, ABrokenConnectionIsNoRefusal) {
  for (const bool accepted : {false, true}) {
    EXPECT_FALSE(IsRefusal(absl::OkStatus(), accepted));
    EXPECT_FALSE(IsRefusal(absl::UnavailableError("broken"), accepted));
    EXPECT_FALSE(IsRefusal(absl::CancelledError(), accepted));
    EXPECT_TRUE(IsRefusal(absl::UnauthenticatedError("no token"), accepted));
    EXPECT_TRUE(IsRefusal(absl::FailedPreconditionError("wire"), accepted));
  }
}

TEST(RefusalTest, AProcessThatWasAcceptedWaitsForItsPlace) {
  EXPECT_TRUE(IsRefusal(absl::AlreadyExistsError("process 7"), false));
  EXPECT_FALSE(IsRefusal(absl::AlreadyExistsError("process 7"), true));
}

TEST(RefusalTest, MessagesStateTheServerAndTheFix) {
  Config config;
  config.job = "job";
  config.rank = 1;
  const absl::Status no_token = absl::UnauthenticatedError("");
  EXPECT_THAT(RefusalMessage(config, no_token),
              HasSubstr("127.0.0.1:50051 requires a token: set "
                        "GRAPHDBG_TOKEN_FILE"));
  config.token = "wrong";
  EXPECT_THAT(RefusalMessage(config, no_token),
              HasSubstr("does not accept the token"));
  EXPECT_THAT(RefusalMessage(config, absl::AlreadyExistsError("process 7")),
              HasSubstr("already has rank 1 of job job from another process "
                        "(process 7)"));
  EXPECT_THAT(RefusalMessage(config, absl::UnimplementedError("")),
              HasSubstr("is not a graphdbg server"));
  EXPECT_THAT(RefusalMessage(config, absl::ResourceExhaustedError("full")),
              HasSubstr("refused the connection: full; training continues "
                        "without debugging"));
}

}  // namespace
}  // namespace graphdbg::agent
