#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

class BundleTest : public testing::ApiTest {
 protected:
  BundleTest() {
    model::Hit hit;
    hit.id = 3;
    hit.node = "forward/log";
    hit.slot = 1;
    hit.rank = 2;
    hit.step = 9;
    job_->hits.hits = {hit};
    job_->tensor.type = {DType::kUint8, {6}};
    job_->second_tensor = job_->tensor;
    job_->second_tensor->data = "abcdef";
  }

  static absl::StatusOr<std::string> NextOf(const http::Response& response) {
    boost::asio::io_context context;
    auto piece = boost::asio::co_spawn(context, response.next_piece(),
                                       boost::asio::use_future);
    context.run();
    return piece.get();
  }

  http::Response Download(const std::string& hit = "3") {
    return Get("/jobs/train/hits/" + hit + "/bundle");
  }
};

TEST_F(BundleTest, IsRequestedPieceByPiece) {
  const http::Response response = Download();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), "application/zip");
  EXPECT_EQ(response.headers.Get("Content-Disposition"),
            "attachment; "
            "filename=\"train-rank2-step9-forward_log.1.graphdbg\"");
  EXPECT_EQ(response.pieces_bytes, 6u);
  EXPECT_EQ(NextOf(response).value(), "abcdef");
  EXPECT_EQ(NextOf(response).value(), "");

  ASSERT_EQ(job_->tensor_queries.size(), 2u);
  const model::TensorQuery& first = job_->tensor_queries[0];
  EXPECT_FALSE(first.want_data);
  EXPECT_EQ(first.node, "forward/log");
  EXPECT_EQ(first.slot, 1u);
  EXPECT_EQ(first.rank, 2u);
  ASSERT_TRUE(first.bundle);
  EXPECT_EQ(first.bundle->step, 9u);
  EXPECT_NE(first.bundle->hit.find("\"node\":\"forward/log\""),
            std::string::npos);
  const model::TensorQuery& second = job_->tensor_queries[1];
  EXPECT_TRUE(second.want_data);
  EXPECT_EQ(second.slice, "0:6");
  ASSERT_TRUE(second.bundle);
  EXPECT_EQ(second.bundle->id, first.bundle->id);
}

TEST_F(BundleTest, APieceOfAnotherSizeEndsTheDownload) {
  job_->second_tensor->data = "abc";
  const http::Response response = Download();
  EXPECT_EQ(ReasonOf(NextOf(response).status()), "bad_answer");
}

TEST_F(BundleTest, IsThatOfTheHitWithTheId) {
  Download();
  ASSERT_TRUE(job_->asked_hits);
  EXPECT_EQ(job_->asked_hits->id, 3u);
}

TEST_F(BundleTest, AnUnknownHitIsNotFound) {
  ExpectProblem(Download("x"), 404, "unknown_hit");
  job_->hits.hits.clear();
  ExpectProblem(Download("4"), 404, "unknown_hit");
}

TEST_F(BundleTest, TheAgentsErrorIsTheAnswer) {
  job_->error = Error(absl::StatusCode::kFailedPrecondition,
                      "input_overwritten", "the op overwrote its input");
  ExpectProblem(Download(), 409, "input_overwritten");
}

}  // namespace
}  // namespace graphdbg::api
