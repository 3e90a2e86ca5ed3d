#include "server/http/router.h"

#include <gtest/gtest.h>

namespace graphdbg::http {
namespace {

using Params = std::map<std::string, std::string>;

boost::asio::awaitable<Response> Nothing(Request) { co_return Response(); }

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    router_.Add("GET", "/jobs", Nothing);
    router_.Add("GET", "/jobs/{job}", Nothing);
    router_.Add("DELETE", "/jobs/{job}", Nothing);
    router_.Add("GET", "/jobs/{job}/hits/{hit}", Nothing);
    router_.Add("GET", "/jobs/newest", Nothing);
    router_.AddChannel("/events",
                       [](Request, std::shared_ptr<MessageChannel>)
                           -> boost::asio::awaitable<void> { co_return; });
  }

  Router router_;
};

TEST_F(RouterTest, FindsParametersDecodedAfterTheSplit) {
  EXPECT_EQ(router_.Find("GET", "/jobs/a%2Fb").params,
            (Params{{"job", "a/b"}}));
  EXPECT_EQ(router_.Find("GET", "/jobs/x/hits/7").params,
            (Params{{"job", "x"}, {"hit", "7"}}));
}

TEST_F(RouterTest, FixedSegmentsWinOverNames) {
  EXPECT_TRUE(router_.Find("GET", "/jobs/newest").params.empty());
}

TEST_F(RouterTest, UnknownPathsMatchNothing) {
  for (const char* path :
       {"/", "", "/job", "/jobs/", "/jobs/x/", "/jobs/x/hits", "/jobs/%zz"}) {
    Router::Match match = router_.Find("GET", path);
    EXPECT_EQ(match.handler, nullptr) << path;
    EXPECT_TRUE(match.allow.empty()) << path;
  }
}

TEST_F(RouterTest, WrongMethodNamesTheRightOnes) {
  Router::Match match = router_.Find("POST", "/jobs/x");
  EXPECT_EQ(match.handler, nullptr);
  EXPECT_EQ(match.allow, (std::vector<std::string>{"GET", "DELETE"}));
}

TEST_F(RouterTest, HeadIsServedByGet) {
  EXPECT_NE(router_.Find("HEAD", "/jobs").handler, nullptr);
}

TEST_F(RouterTest, ChannelsAreToldFromHandlers) {
  Router::Match match = router_.Find("GET", "/events");
  EXPECT_NE(match.channel, nullptr);
  EXPECT_EQ(match.handler, nullptr);
}

TEST_F(RouterTest, FallbackTakesOnlyUnknownPathsOfGet) {
  router_.SetFallback(Nothing);
  EXPECT_NE(router_.Find("GET", "/index.html").handler, nullptr);
  EXPECT_EQ(router_.Find("POST", "/index.html").handler, nullptr);
  EXPECT_EQ(router_.Find("POST", "/jobs").handler, nullptr);
}

}  // namespace
}  // namespace graphdbg::http
