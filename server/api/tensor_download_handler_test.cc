#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using model::TensorQuery;
using model::TensorValue;

class TensorDownloadTest : public testing::ApiTest {
 protected:
  TensorDownloadTest() {
    TensorValue& first = job_->tensor;
    first.node = "forward/fc";
    first.slot = 1;
    first.step = 9;
    first.type = {DType::kUint8, {2, 3}};
    first.slice_shape = {2, 3};
    job_->second_tensor = first;
    job_->second_tensor->data = "abcdef";
  }

  static absl::StatusOr<std::string> NextOf(const http::Response& response) {
    boost::asio::io_context context;
    auto piece = boost::asio::co_spawn(context, response.next_piece(),
                                       boost::asio::use_future);
    context.run();
    return piece.get();
  }

  http::Response Download(const std::string& more = {}) {
    return Get("/jobs/train/tensor/download?name=forward/fc:1" + more);
  }
};

TEST_F(TensorDownloadTest, IsAFileOfAKnownLength) {
  const http::Response response = Download("&rank=2&step=9");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Disposition"),
            "attachment; filename=\"forward_fc.1.step9.npy\"");
  const auto head = NextOf(response);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(response.pieces_bytes, head->size() + 6);
  EXPECT_NE(head->find("'shape': (2, 3)"), std::string::npos);
  EXPECT_EQ(NextOf(response).value(), "abcdef");
  EXPECT_EQ(NextOf(response).value(), "");

  // The first request gets dtype and shape, the second one the elements.
  ASSERT_EQ(job_->tensor_queries.size(), 2u);
  EXPECT_FALSE(job_->tensor_queries[0].want_data);
  const TensorQuery& second = job_->tensor_queries[1];
  EXPECT_TRUE(second.want_data);
  EXPECT_EQ(second.slice, "0:2");
  EXPECT_EQ(second.rank, 2u);
  EXPECT_EQ(second.step, 9u);
  EXPECT_EQ(second.version, TensorQuery::Version::kStep);
}

TEST_F(TensorDownloadTest, BreaksOffWhenTheJobHasGoneOn) {
  const TensorValue second = *job_->second_tensor;
  const auto expect_aborted = [&](const char* what) {
    job_->tensor_queries.clear();
    const http::Response response = Download("&format=safetensors");
    EXPECT_TRUE(NextOf(response).ok());
    EXPECT_EQ(NextOf(response).status().code(), absl::StatusCode::kAborted)
        << what;
    job_->second_tensor = second;
  };
  job_->second_tensor->step = 10;
  expect_aborted("another step");
  job_->second_tensor->stops_left = 1;
  expect_aborted("another stop in the step");
  job_->second_tensor->overwritten = true;
  expect_aborted("overwritten since");
  job_->second_tensor->type.shape = {3, 2};
  expect_aborted("another shape");
  job_->second_tensor->data = "abc";
  expect_aborted("too few bytes");
}

TEST_F(TensorDownloadTest, WhatCannotBeAFileIsRefusedAtOnce) {
  ExpectProblem(Download("&format=csv"), 400, "invalid_parameter", "format");
  job_->tensor.type.dtype = DType::kBfloat16;
  ExpectProblem(Download(), 400, "no_such_dtype", "format");
  job_->tensor_queries.clear();
  EXPECT_EQ(Download("&format=safetensors").status, 200);
  job_->tensor_queries.clear();
  job_->tensor.type = {DType::kOther, {}, "torch.quint8"};
  ExpectProblem(Download(), 501, "unreadable_dtype");
  job_->tensor_queries.clear();
  job_->tensor.type = {DType::kInt64, {1ll << 62, 2}};
  ExpectProblem(Download(), 500, "bad_tensor");
  job_->error = Error(absl::StatusCode::kNotFound, "value_gone", "gone");
  ExpectProblem(Download(), 404, "value_gone");
}

TEST_F(TensorDownloadTest, NoMoreThanSomeAreUnderWay) {
  std::vector<http::Response> responses;
  for (int i = 0; i < 64; ++i) {
    responses.push_back(Download());
    job_->tensor_queries.clear();
  }
  EXPECT_EQ(responses.back().status, 200);
  ExpectProblem(Download(), 429, "too_many_downloads");
  responses.pop_back();
  EXPECT_EQ(Download().status, 200);
  responses.clear();
  EXPECT_EQ(fixture_.counters.downloads, 0u);
}

TEST_F(TensorDownloadTest, ATensorWithoutElementsIsItsHead) {
  job_->tensor.type.shape = {0, 3};
  const http::Response response = Download();
  EXPECT_EQ(NextOf(response)->size(), response.pieces_bytes);
  EXPECT_EQ(NextOf(response).value(), "");
  EXPECT_EQ(job_->tensor_queries.size(), 1u);
}

}  // namespace
}  // namespace graphdbg::api
