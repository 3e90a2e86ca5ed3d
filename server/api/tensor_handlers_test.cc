#include <gtest/gtest.h>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class TensorHandlersTest : public testing::ApiTest {
 protected:
  TensorHandlersTest() {
    model::TensorValue& value = job_->tensor;
    value.node = "forward/fc";
    value.slot = 1;
    value.step = 9;
    value.type = {DType::kUint8, {4, 3}};
    value.slice_shape = {2, 2};
    value.data = "\x01\x02\x03\x04";
  }

  http::Response GetBytes(const std::string& target) {
    return fixture_.Call(
        "GET", target,
        {.body = {}, .accept = "application/octet-stream;q=1.0"});
  }

  http::Response GetRange(const std::string& target, const std::string& range) {
    http::Headers headers;
    headers.Set("Range", range);
    return fixture_.Call(
        "GET", target,
        {.accept = "application/octet-stream", .headers = std::move(headers)});
  }
};

TEST_F(TensorHandlersTest, ValuesComeAsNestedLists) {
  Json tensor =
      BodyOf(Get("/jobs/train/tensor?name=forward/fc:1&slice=[:2,:2]"));
  Json expected = Json::parse(R"({"name":"forward/fc:1","node":"forward/fc",
      "slot":1,"rank":0,"step":9,"dtype":"uint8","shape":[4,3],
      "slice":"[:2,:2]","slice_shape":[2,2],"overwritten":false,
      "grad_scale":null,"data":[[1,2],[3,4]]})");
  EXPECT_EQ(tensor, expected);
  ASSERT_TRUE(job_->asked_tensor);
  EXPECT_EQ(job_->asked_tensor->node, "forward/fc");
  EXPECT_EQ(job_->asked_tensor->slot, 1u);
  EXPECT_EQ(job_->asked_tensor->slice, "[:2,:2]");
  EXPECT_EQ(job_->asked_tensor->max_elements, 100'000u);
  EXPECT_EQ(job_->asked_tensor->version, model::TensorQuery::Version::kCurrent);
  EXPECT_TRUE(job_->asked_tensor->want_data);
  EXPECT_FALSE(job_->asked_tensor->want_statistics);
}

TEST_F(TensorHandlersTest, StatisticsComeBesideTheValuesIfAskedFor) {
  job_->tensor.statistics = model::Statistics();
  job_->tensor.statistics->count = 12;
  job_->tensor.statistics->max = 4;
  Json tensor = BodyOf(Get("/jobs/train/tensor?name=a:0&statistics=1"));
  EXPECT_TRUE(job_->asked_tensor->want_statistics);
  EXPECT_EQ(tensor["statistics"]["count"], 12);
  EXPECT_EQ(tensor["statistics"]["max"], 4.0);
  EXPECT_TRUE(tensor["statistics"]["min"].is_null());
}

TEST_F(TensorHandlersTest, TheStatisticsOfAStepAreABinaryFile) {
  job_->step_statistics = "GDBGIDX";
  const http::Response response = Get("/jobs/train/statistics?rank=2");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "GDBGIDX");
  EXPECT_EQ(response.headers.Get("Content-Type"), "application/octet-stream");
  EXPECT_EQ(job_->asked_step_statistics, 2u);
}

TEST_F(TensorHandlersTest, TheHistoryIsToldStepByStep) {
  job_->history.tensor = {"forward/fc", 1, {DType::kFloat32, {2}}};
  job_->history.points = {{3, model::Statistics()}, {8, model::Statistics()}};
  job_->history.points[1].statistics.mean = 0.5;
  Json json =
      BodyOf(Get("/jobs/train/tensor/history?name=forward/fc:1&rank=2"));
  EXPECT_EQ(job_->asked_history,
            std::make_tuple(std::string("forward/fc"), 1u, 2u));
  EXPECT_EQ(json["name"], "forward/fc:1");
  EXPECT_EQ(json["rank"], 2);
  EXPECT_EQ(json["dtype"], "float32");
  ASSERT_EQ(json["points"].size(), 2u);
  EXPECT_EQ(json["points"][1]["step"], 8);
  EXPECT_EQ(json["points"][1]["statistics"]["mean"], 0.5);
  ExpectProblem(Get("/jobs/train/tensor/history?name=forward/fc"), 400,
                "invalid_parameter", "name");
  ExpectProblem(Get("/jobs/train/tensor/history?name=a:0&step=3"), 400,
                "unknown_parameter", "step");
}

TEST_F(TensorHandlersTest, BytesComeWithTypeAndShape) {
  http::Response response = GetBytes("/jobs/train/tensor?name=a:0");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), "application/octet-stream");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Dtype"), "uint8");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Shape"), "2,2");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Step"), "9");
  EXPECT_EQ(response.body, "\x01\x02\x03\x04");
  EXPECT_EQ(job_->asked_tensor->max_bytes, uint64_t{256} << 20);
  EXPECT_EQ(job_->asked_tensor->max_elements, 0u);
}

TEST_F(TensorHandlersTest, ARangeTakesOnlyTheElementsThatHaveItsBytes) {
  job_->tensor.type = {DType::kInt16, {4, 3}};
  job_->tensor.data = "AaBbCcDdEeFfGgHhIiJjKkLl";
  const http::Response response =
      GetRange("/jobs/train/tensor?name=a:0", "bytes=3-8");
  EXPECT_EQ(response.status, 206);
  EXPECT_EQ(response.body, "bCcDdE");
  EXPECT_EQ(response.headers.Get("Content-Range"), "bytes 3-8/24");
  EXPECT_EQ(response.headers.Get("Accept-Ranges"), "bytes");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Dtype"), "int16");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Shape"), "4,3");
  EXPECT_EQ(response.headers.Get("X-Graphdbg-Step"), "9");
  std::vector<std::string> slices;
  for (const auto& query : job_->tensor_queries) {
    if (query.want_data) slices.push_back(query.slice);
  }
  EXPECT_EQ(slices, (std::vector<std::string>{"0,1:3", "1,0:2"}));
  const http::Response last =
      GetRange("/jobs/train/tensor?name=a:0&slice=:,2", "bytes=-3");
  EXPECT_EQ(last.body, "iLl");
  EXPECT_EQ(last.headers.Get("Content-Range"), "bytes 5-7/8");
  EXPECT_EQ(last.headers.Get("X-Graphdbg-Shape"), "4");
}

TEST_F(TensorHandlersTest, ARangeOfBytesThatDoNotExistIsRefused) {
  const std::string target = "/jobs/train/tensor?name=a:0";
  const http::Response response = GetRange(target, "bytes=12-");
  ExpectProblem(response, 416, "no_such_range");
  EXPECT_EQ(response.headers.Get("Content-Range"), "bytes */12");
  ExpectProblem(GetRange(target + "&slice=9", "bytes=0-1"), 400, "bad_slice",
                "slice");
}

TEST_F(TensorHandlersTest, OtherRangesAreIgnored) {
  const std::string target = "/jobs/train/tensor?name=a:0";
  EXPECT_EQ(GetRange(target, "bytes=0-0,2-2").status, 200);
  EXPECT_EQ(GetBytes(target).headers.Get("Accept-Ranges"), "bytes");
  http::Headers headers;
  headers.Set("Range", "bytes=0-0");
  const http::Response json =
      fixture_.Call("GET", target, {.headers = std::move(headers)});
  EXPECT_EQ(json.status, 200);
}

TEST_F(TensorHandlersTest, ARangeOfAnUnknownTypeIsCutOut) {
  job_->tensor.type.dtype = DType::kOther;
  const http::Response response =
      GetRange("/jobs/train/tensor?name=a:0", "bytes=1-2");
  EXPECT_EQ(response.status, 206);
  EXPECT_EQ(response.body, "\x02\x03");
  EXPECT_EQ(response.headers.Get("Content-Range"), "bytes 1-2/4");
  ExpectProblem(GetRange("/jobs/train/tensor?name=a:0", "bytes=4-"), 416,
                "no_such_range");
}

TEST_F(TensorHandlersTest, ARangeOfAValueThatChangesMeanwhileIsGone) {
  job_->second_tensor = job_->tensor;
  job_->second_tensor->step = 10;
  ExpectProblem(GetRange("/jobs/train/tensor?name=a:0", "bytes=0-0"), 409,
                "value_gone");
}

TEST_F(TensorHandlersTest, VersionsAreCurrentPreviousOrAStep) {
  Get("/jobs/train/tensor?name=a:0&step=current");
  EXPECT_EQ(job_->asked_tensor->version, model::TensorQuery::Version::kCurrent);
  Get("/jobs/train/tensor?name=a:0&step=previous&rank=3");
  EXPECT_EQ(job_->asked_tensor->version,
            model::TensorQuery::Version::kPrevious);
  EXPECT_EQ(job_->asked_tensor->rank, 3u);
  Get("/jobs/train/tensor?name=a:0&step=12");
  EXPECT_EQ(job_->asked_tensor->version, model::TensorQuery::Version::kStep);
  EXPECT_EQ(job_->asked_tensor->step, 12u);
}

TEST_F(TensorHandlersTest, WrongParametersAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "name"},
      {"name=", "name"},
      {"name=a", "name"},
      {"name=a:", "name"},
      {"name=:0", "name"},
      {"name=a:x", "name"},
      {"name=a:-1", "name"},
      {"name=a:4294967296", "name"},
      {"name=a:0&step=next", "step"},
      {"name=a:0&step=-1", "step"},
      {"name=a:0&rank=x", "rank"},
      {"name=a:0&statistics=yes", "statistics"}};
  for (const auto& [query, field] : cases) {
    ExpectProblem(Get(std::string("/jobs/train/tensor?") + query), 400,
                  "invalid_parameter", field);
  }
  EXPECT_FALSE(job_->asked_tensor);
}

TEST_F(TensorHandlersTest, NamesMayHoldColons) {
  Get("/jobs/train/tensor?name=a:b:2");
  EXPECT_EQ(job_->asked_tensor->node, "a:b");
  EXPECT_EQ(job_->asked_tensor->slot, 2u);
}

TEST_F(TensorHandlersTest, TooMuchForJsonSaysHowMuchAndWhatIsAllowed) {
  job_->tensor.slice_shape = {100'001};
  job_->tensor.data.assign(100'001, '\0');
  http::Response response = Get("/jobs/train/tensor?name=a:0");
  ExpectProblem(response, 413, "slice_too_large");
  std::string detail = BodyOf(response)["detail"];
  EXPECT_NE(detail.find("100001"), std::string::npos);
  EXPECT_NE(detail.find("100000"), std::string::npos);
  EXPECT_EQ(GetBytes("/jobs/train/tensor?name=a:0").status, 200);
}

TEST_F(TensorHandlersTest, ErrorsOfTheSessionAreShown) {
  struct Case {
    absl::Status error;
    int status;
    const char* code;
  };
  using absl::StatusCode;
  const Case cases[] = {
      {Error(StatusCode::kInvalidArgument, "bad_slice", "x"), 400, "bad_slice"},
      {Error(StatusCode::kNotFound, "value_gone", "x"), 404, "value_gone"},
      {Error(StatusCode::kResourceExhausted, "slice_too_large", "x"), 413,
       "slice_too_large"},
      {Error(StatusCode::kUnavailable, "job_lost", "x"), 503, "job_lost"},
      {Error(StatusCode::kDeadlineExceeded, "no_answer", "x"), 504,
       "no_answer"}};
  for (const Case& c : cases) {
    job_->error = c.error;
    ExpectProblem(Get("/jobs/train/tensor?name=a:0"), c.status, c.code);
  }
}

TEST_F(TensorHandlersTest, BytesOfTheWrongLengthAreNotPassedOn) {
  job_->tensor.data.pop_back();
  ExpectProblem(Get("/jobs/train/tensor?name=a:0"), 500, "bad_tensor");
  ExpectProblem(GetBytes("/jobs/train/tensor?name=a:0"), 500, "bad_tensor");
  job_->tensor.data = "12345";
  ExpectProblem(GetBytes("/jobs/train/tensor?name=a:0"), 500, "bad_tensor");
  // Also if the length is a multiple of the element size.
  job_->tensor.type.dtype = DType::kInt16;
  job_->tensor.slice_shape = {2};
  ExpectProblem(GetBytes("/jobs/train/tensor?name=a:0"), 500, "bad_tensor");
}

TEST_F(TensorHandlersTest, TypesWithoutReadableValuesComeAsBytesOnly) {
  job_->tensor.type.dtype = DType::kOther;
  ExpectProblem(Get("/jobs/train/tensor?name=a:0"), 501, "unreadable_dtype");
  EXPECT_EQ(GetBytes("/jobs/train/tensor?name=a:0").body.size(), 4u);
}

TEST_F(TensorHandlersTest, StatisticsAloneNeedNoData) {
  job_->tensor.statistics = model::Statistics();
  job_->tensor.statistics->nan_count = 3;
  Json json = BodyOf(Get("/jobs/train/tensor/statistics?name=a:0"));
  EXPECT_FALSE(job_->asked_tensor->want_data);
  EXPECT_EQ(json["statistics"]["nan_count"], 3);
  EXPECT_EQ(json["shape"], Json::array({4, 3}));
  EXPECT_FALSE(json.contains("data"));
  EXPECT_FALSE(json["statistics"].contains("quantiles"));
}

TEST_F(TensorHandlersTest, StatisticsHaveQuantilesWhereThereAreSome) {
  job_->tensor.statistics = model::Statistics();
  job_->tensor.quantiles = Quantiles{{1, 2, 3, 4, 5, 6, 7, 8, 9.5}};
  const Json json = BodyOf(Get("/jobs/train/tensor/statistics?name=a:0"));
  EXPECT_TRUE(job_->asked_tensor->want_quantiles);
  EXPECT_EQ(json["statistics"]["quantiles"],
            Json::parse(R"({"p01":1,"p05":2,"p10":3,"p25":4,"p50":5,"p75":6,
                            "p90":7,"p95":8,"p99":9.5})"));
}

TEST_F(TensorHandlersTest, TensorsOfANodeAreListed) {
  model::TensorSummary input;
  input.role = "input";
  input.tensor = {"forward/relu", 2, {DType::kFloat32, {8}}};
  input.index = 1;
  model::TensorSummary output = input;
  output.role = "output";
  output.statistics = model::Statistics();
  output.statistics_step = 4;
  job_->tensors = {input, output};
  Json json = BodyOf(Get("/jobs/train/tensors?node=forward/fc&rank=1"));
  EXPECT_EQ(job_->asked_tensors,
            std::make_pair(std::string("forward/fc"), uint32_t{1}));
  EXPECT_EQ(json["node"], "forward/fc");
  EXPECT_EQ(json["tensors"][0], Json::parse(R"({"role":"input","index":1,
      "name":"forward/relu:2","node":"forward/relu","slot":2,
      "dtype":"float32","shape":[8],"statistics":null,
      "statistics_step":null})"));
  EXPECT_EQ(json["tensors"][1]["statistics_step"], 4);
  ExpectProblem(Get("/jobs/train/tensors"), 400, "invalid_parameter", "node");
}

TEST_F(TensorHandlersTest, TensorsCanBeCaughtAtTheirNextExecution) {
  http::Response response =
      Post("/jobs/train/tensor/catch", R"({"node":"forward/fc","rank":1})");
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(job_->asked_catch, std::make_pair(std::string("forward/fc"), 1u));
  ExpectProblem(Post("/jobs/train/tensor/catch", "{}"), 422, "invalid_field",
                "node");
}

}  // namespace
}  // namespace graphdbg::api
