#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

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
    value.type = {DType::kUint8, {2, 2}};
    value.data = "\x01\x02\x03\x04";
    job_->other_tensor = value;
    job_->other_tensor->step = 8;
    job_->other_tensor->data = "\x01\x02\x05\x04";
  }

  // Larger than one piece.
  void UseLargeTensors() {
    const size_t rows = 3'000;
    job_->tensor.type = {DType::kFloat32, {static_cast<int64_t>(rows), 1'000}};
    std::vector<float> values(rows * 1'000);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 1'000);
    }
    const auto bytes = [&] {
      return std::string(reinterpret_cast<const char*>(values.data()),
                         values.size() * sizeof(float));
    };
    job_->tensor.data = bytes();
    values[2'500 * 1'000 + 7] += 2;
    values[2'999'999] = NAN;
    *job_->other_tensor = job_->tensor;
    job_->other_tensor->data = bytes();
  }

  http::Response GetMap(const std::string& more) {
    return fixture_.Call("GET", "/jobs/train/tensor/map?name=a:0" + more);
  }
};

std::vector<float> FloatsOf(const std::string& body) {
  std::vector<float> values(body.size() / sizeof(float));
  std::memcpy(values.data(), body.data(), body.size());
  return values;
}

TEST_F(TensorComparisonTest, AHistogramCountsTheElementsOfTheSlice) {
  const Json answer = BodyOf(
      Get("/jobs/train/tensor/histogram?name=forward/fc:0&slice=[:2]&bins=3"));
  EXPECT_EQ(answer, Json::parse(R"({"name":"forward/fc:0","node":"forward/fc",
      "slot":0,"rank":0,"step":9,"dtype":"uint8","shape":[2,2],
      "overwritten":false,"slice":"[:2]","slice_shape":[2,2],
      "edges":[1.0,2.0,3.0,4.0],"counts":[1,1,2],
      "nan_count":0,"pos_inf_count":0,"neg_inf_count":0})"));
  EXPECT_EQ(job_->asked_tensor->slice, "0:2");
  // A small tensor is fetched once for both passes.
  EXPECT_EQ(job_->tensor_queries.size(), 2u);
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
  EXPECT_EQ(answer["not_close"], Json::array({answer["first_not_close"]}));
  EXPECT_EQ(answer["max_abs_at"], answer["first_not_close"]);
  EXPECT_EQ(answer["equal_count"], 3);
  EXPECT_EQ(answer["mean_difference"], -0.5);
  EXPECT_EQ(answer["rms_difference"], 1.0);
  EXPECT_TRUE(answer["max_ulps"].is_null());
  EXPECT_TRUE(answer["histograms"].is_null());
  EXPECT_EQ(answer["rtol"], 0.0);
  EXPECT_EQ(answer["atol"], 1e-8);
}

TEST_F(TensorComparisonTest, TheOtherTensorDiffersInWhatIsNamed) {
  using Version = model::TensorQuery::Version;
  const auto other = [&](const std::string& with) {
    job_->tensor_queries.clear();
    Get("/jobs/train/tensor/compare?name=a:1&rank=2&step=7&with=" + with);
    return job_->tensor_queries.at(1);
  };
  EXPECT_EQ(other("previous").version, Version::kPrevious);
  EXPECT_EQ(other("step:5").step, 5u);
  EXPECT_EQ(other("rank:3").rank, 3u);
  EXPECT_EQ(other("rank:3").step, 7u);
  EXPECT_EQ(other("rank:3@5").step, 5u);
  EXPECT_EQ(other("rank:3@previous").version, Version::kPrevious);
  model::TensorQuery query = other("tensor:b:c:4");
  EXPECT_EQ(query.node, "b:c");
  EXPECT_EQ(query.slot, 4u);
  EXPECT_EQ(query.rank, 2u);
  EXPECT_EQ(query.step, 7u);
  query = other("tensor:b@2:4@3");
  EXPECT_EQ(query.node, "b@2");
  EXPECT_EQ(query.step, 3u);
  query = other("rank:0,tensor:b,c:4@current");
  EXPECT_EQ(query.rank, 0u);
  EXPECT_EQ(query.node, "b,c");
  EXPECT_EQ(query.version, Version::kCurrent);
}

TEST_F(TensorComparisonTest, LargeTensorsAreComparedPieceByPiece) {
  UseLargeTensors();
  const Json answer = BodyOf(
      Get("/jobs/train/tensor/compare?name=a:0&with=tensor:b:0&bins=4&list=1"));
  EXPECT_EQ(answer["count"], 3'000'000);
  EXPECT_EQ(answer["equal_count"], 2'999'998);
  EXPECT_EQ(answer["right_nan_count"], 1);
  EXPECT_EQ(answer["max_abs_at"],
            Json::parse(R"({"index":[2500,7],"left":7.0,"right":9.0})"));
  EXPECT_EQ(answer["not_close"].size(), 1u);
  EXPECT_EQ(answer["not_close_count"], 2);
  EXPECT_EQ(answer["max_ulps"], 3'145'728);
  const Json& histograms = answer["histograms"];
  EXPECT_EQ(histograms["left"]["edges"], histograms["right"]["edges"]);
  EXPECT_EQ(histograms["left"]["counts"],
            Json::parse("[750000,750000,750000,750000]"));
  EXPECT_EQ(histograms["right"]["nan_count"], 1);
  EXPECT_EQ(histograms["difference"]["counts"], Json::parse("[1,0,0,2999998]"));
  for (const model::TensorQuery& query : job_->tensor_queries) {
    EXPECT_TRUE(!query.want_data || query.max_bytes <= uint64_t{4} << 20);
  }
}

TEST_F(TensorComparisonTest, TheFirstDifferenceIsToldWithoutAList) {
  const Json answer =
      BodyOf(Get("/jobs/train/tensor/compare?name=a:0&with=previous&list=0"));
  EXPECT_EQ(answer["first_not_close"]["index"], Json::parse("[1,0]"));
  EXPECT_TRUE(answer["not_close"].empty());
}

TEST_F(TensorComparisonTest, AMapIsReducedToBlocks) {
  UseLargeTensors();
  http::Response response =
      GetMap("&with=tensor:b:0&of=difference&rows=3&columns=2");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Shape"), "5,3,2");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Grid"), "3000,1000");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Block"), "1000,500");
  std::vector<float> values = FloatsOf(response.body);
  ASSERT_EQ(values.size(), 30u);
  EXPECT_EQ(values[4], -2);
  EXPECT_TRUE(std::isnan(values[5]));
  EXPECT_EQ(values[6 + 4], -2);
  EXPECT_EQ(values[24 + 5], 1);

  job_->tensor_queries.clear();
  values = FloatsOf(GetMap("&rows=1&columns=4").body);
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 4),
            (std::vector<float>{249, 499, 749, 999}));
}

TEST_F(TensorComparisonTest, MapsAreOfWhatExists) {
  ExpectProblem(GetMap("&of=difference"), 400, "invalid_parameter", "of");
  ExpectProblem(GetMap("&with=previous&of=x"), 400, "invalid_parameter", "of");
  ExpectProblem(GetMap("&rows=0"), 400, "invalid_parameter", "rows");
  ExpectProblem(GetMap("&columns=1025"), 400, "invalid_parameter", "columns");
  ExpectProblem(GetMap("&with=previous&of=ulps"), 400, "no_ulps");
  ExpectProblem(GetMap("&slice=[9]"), 400, "bad_slice", "slice");
}

TEST_F(TensorComparisonTest, AJobThatContinuesEndsTheComparison) {
  job_->second_tensor = job_->tensor;
  job_->second_tensor->stops_left = 1;
  EXPECT_EQ(BodyOf(Get("/jobs/train/tensor/histogram?name=a:0"))["code"],
            "value_gone");
}

TEST_F(TensorComparisonTest, WrongParametersAreNamed) {
  const std::string path = "/jobs/train/tensor/compare?name=a:0";
  for (const char* with :
       {"", "&with=", "&with=step:", "&with=step:-1", "&with=rank:x",
        "&with=tensor:b", "&with=now", "&with=rank:1@x",
        "&with=rank:1,tensor:b", "&with=tensor:b:0@-1",
        "&with=run:", "&with=run:,tensor:b:0"}) {
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
  job_->other_tensor->type.shape = {4};
  const http::Response response =
      Get("/jobs/train/tensor/compare?name=a:0&with=tensor:b:0");
  ExpectProblem(response, 400, "shapes_differ");
  EXPECT_EQ(BodyOf(response)["detail"], "the shapes differ: [2,2] and [4]");
}

TEST_F(TensorComparisonTest, EmptyTensorsAreTheSame) {
  job_->tensor.type.shape = {0, 2};
  job_->tensor.data = "";
  job_->other_tensor = job_->tensor;
  const Json answer =
      BodyOf(Get("/jobs/train/tensor/compare?name=a:0&with=previous"));
  EXPECT_EQ(answer["all_close"], true);
  EXPECT_TRUE(answer["max_abs_difference"].is_null());
  EXPECT_TRUE(answer["first_not_close"].is_null());
}

}  // namespace
}  // namespace graphdbg::api
