#include <gtest/gtest.h>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class TensorComparisonTest : public testing::ApiTest {
 protected:
  TensorComparisonTest() {
    model::TensorValue& value = job_->tensor;
    value.node = "forward/fc";
    value.step = 9;
    value.type = {DType::kUint8, {4, 3}};
    value.slice_shape = {2, 2};
    value.data = "\x01\x02\x03\x04";
    job_->second_tensor = value;
    job_->second_tensor->step = 8;
    job_->second_tensor->data = "\x01\x02\x05\x04";
  }
};

TEST_F(TensorComparisonTest, AHistogramCountsTheElementsOfTheSlice) {
  const Json answer = BodyOf(
      Get("/jobs/train/tensor/histogram?name=forward/fc:0&slice=[:2]&bins=3"));
  EXPECT_EQ(answer, Json::parse(R"({"name":"forward/fc:0","node":"forward/fc",
      "slot":0,"rank":0,"step":9,"dtype":"uint8","shape":[4,3],
      "overwritten":false,"slice":"[:2]","slice_shape":[2,2],
      "edges":[1.0,2.0,3.0,4.0],"counts":[1,1,2],
      "nan_count":0,"pos_inf_count":0,"neg_inf_count":0})"));
  EXPECT_EQ(job_->asked_tensor->slice, "[:2]");
  EXPECT_EQ(job_->asked_tensor->max_bytes, uint64_t{256} << 20);
}

TEST_F(TensorComparisonTest, BinsHaveLimits) {
  const std::string path = "/jobs/train/tensor/histogram?name=a:0";
  EXPECT_EQ(BodyOf(Get(path))["counts"].size(), 64u);
  for (const char* bins : {"0", "10001", "x"}) {
    ExpectProblem(Get(path + "&bins=" + bins), 400, "invalid_parameter",
                  "bins");
  }
}

TEST_F(TensorComparisonTest, WhatDiffersIsTold) {
  const Json answer = BodyOf(
      Get("/jobs/train/tensor/compare?name=forward/fc:0&with=previous&rtol=0"));
  EXPECT_EQ(answer["left"]["step"], 9);
  EXPECT_EQ(answer["right"]["step"], 8);
  EXPECT_EQ(answer["count"], 4);
  EXPECT_EQ(answer["all_close"], false);
  EXPECT_EQ(answer["not_close_count"], 1);
  EXPECT_EQ(answer["max_abs_difference"], 2.0);
  EXPECT_EQ(answer["mean_abs_difference"], 0.5);
  EXPECT_EQ(answer["max_relative_difference"], 0.4);
  EXPECT_EQ(answer["first_not_close"],
            Json::parse(R"({"index":[1,0],"left":3.0,"right":5.0})"));
  EXPECT_EQ(answer["rtol"], 0.0);
  EXPECT_EQ(answer["atol"], 1e-8);
}

TEST_F(TensorComparisonTest, TheOtherTensorDiffersInWhatIsNamed) {
  const std::string path =
      "/jobs/train/tensor/compare?name=a:1&rank=2&step=7&slice=[0]&with=";
  Get(path + "previous");
  Get(path + "step:5");
  Get(path + "rank:3");
  Get(path + "tensor:b:c:4");
  const std::vector<model::TensorQuery>& asked = job_->tensor_queries;
  ASSERT_EQ(asked.size(), 8u);
  for (const model::TensorQuery& query : asked) EXPECT_EQ(query.slice, "[0]");
  EXPECT_EQ(asked[1].version, model::TensorQuery::Version::kPrevious);
  EXPECT_EQ(asked[3].step, 5u);
  EXPECT_EQ(asked[5].rank, 3u);
  EXPECT_EQ(asked[5].step, 7u);
  EXPECT_EQ(asked[7].node, "b:c");
  EXPECT_EQ(asked[7].slot, 4u);
  EXPECT_EQ(asked[7].rank, 2u);
}

TEST_F(TensorComparisonTest, WrongParametersAreNamed) {
  const std::string path = "/jobs/train/tensor/compare?name=a:0";
  for (const char* with : {"", "&with=", "&with=step:", "&with=step:-1",
                           "&with=rank:x", "&with=tensor:b", "&with=now"}) {
    ExpectProblem(Get(path + with), 400, "invalid_parameter", "with");
  }
  const std::string good = path + "&with=previous";
  for (const char* value : {"-1", "nan", "inf", "1e999", "x"}) {
    ExpectProblem(Get(good + "&rtol=" + value), 400, "invalid_parameter",
                  "rtol");
    ExpectProblem(Get(good + "&atol=" + value), 400, "invalid_parameter",
                  "atol");
  }
  EXPECT_TRUE(job_->tensor_queries.empty());
}

TEST_F(TensorComparisonTest, TensorsOfOtherShapesCannotBeCompared) {
  job_->second_tensor->slice_shape = {4};
  const http::Response response =
      Get("/jobs/train/tensor/compare?name=a:0&with=tensor:b:0");
  ExpectProblem(response, 400, "shapes_differ");
  EXPECT_EQ(BodyOf(response)["detail"], "the shapes differ: [2,2] and [4]");
}

TEST_F(TensorComparisonTest, EmptyTensorsAreTheSame) {
  job_->tensor.slice_shape = {0, 2};
  job_->tensor.data = "";
  job_->second_tensor = job_->tensor;
  const Json answer =
      BodyOf(Get("/jobs/train/tensor/compare?name=a:0&with=previous"));
  EXPECT_EQ(answer["all_close"], true);
  EXPECT_TRUE(answer["max_abs_difference"].is_null());
  EXPECT_TRUE(answer["first_not_close"].is_null());
}

}  // namespace
}  // namespace graphdbg::api
