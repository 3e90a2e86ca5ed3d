#include <gtest/gtest.h>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"
#include "server/base/gzip.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

model::Node Addmm() {
  model::Node node;
  node.name = "forward/fc/addmm";
  node.label = "addmm";
  node.op_type = "aten::addmm";
  node.category = model::Category::kActivation;
  node.outputs = {{0, {DType::kFloat32, {8, 10}}}};
  node.watched = model::Watched::kSome;
  node.source =
      model::SourceLine{"train.py", 12, "forward", "x = self.fc(x)", true};
  node.order = 5;
  return node;
}

class GraphHandlersTest : public testing::ApiTest {};

TEST_F(GraphHandlersTest, GraphsAreListedWithTheirSizes) {
  Json expected = Json::parse(
      R"({"graphs":[{"id":"main","node_count":10,"edge_count":20}]})");
  EXPECT_EQ(BodyOf(Get("/jobs/train/graphs")), expected);
}

class GraphIndexTest : public GraphHandlersTest {
 protected:
  GraphIndexTest() {
    job_->index.version = "7-1";
    job_->index.bytes = 9;
    job_->index.gzip = Gzip("the graph");
  }
  http::Response Ask(const http::Headers& headers) {
    return fixture_.Call("GET", "/jobs/train/graph/index?graph=eval",
                         {.headers = headers});
  }
};

TEST_F(GraphIndexTest, IsSentAsTheClientTakesIt) {
  http::Headers headers;
  http::Response response = Ask(headers);
  EXPECT_EQ(job_->asked_index, "eval");
  EXPECT_EQ(response.headers.Get("Content-Encoding"), "gzip");
  EXPECT_EQ(response.body, job_->index.gzip);
  headers.Set("Accept-Encoding", "identity");
  response = Ask(headers);
  EXPECT_FALSE(response.headers.Has("Content-Encoding"));
  EXPECT_EQ(response.body, "the graph");
}

TEST_F(GraphIndexTest, IsSentOnceToWhoKeepsIt) {
  http::Headers headers;
  headers.Set("Accept-Encoding", "br, gzip");
  http::Response response = Ask(headers);
  EXPECT_EQ(response.headers.Get("Vary"), "Accept-Encoding");
  headers.Set("If-None-Match", response.headers.Get("ETag"));
  response = Ask(headers);
  EXPECT_EQ(response.status, 304);
  EXPECT_TRUE(response.body.empty());
  // The uncompressed index is another representation.
  headers.Set("Accept-Encoding", "identity");
  EXPECT_EQ(Ask(headers).status, 200);
  headers.Set("Accept-Encoding", "gzip");
  job_->index.version = "7-2";
  EXPECT_EQ(Ask(headers).status, 200);
}

TEST_F(GraphIndexTest, OfAnUnknownGraphIsRefused) {
  job_->error = Error(absl::StatusCode::kNotFound, "unknown_graph", "no graph");
  ExpectProblem(Ask({}), 404, "unknown_graph");
}

TEST_F(GraphHandlersTest, AScopeHasNodesAndEdges) {
  job_->scope.scope = "forward";
  job_->scope.nodes = {Addmm()};
  job_->scope.edges = {{"a", "b", 3, model::EdgeKind::kControl}};
  Json view = BodyOf(Get("/jobs/train/graph/scope?name=forward&graph=main"));
  EXPECT_EQ(job_->asked_scope,
            std::make_pair(std::string("main"), std::string("forward")));
  EXPECT_FALSE(job_->asked_aggregates.has_value());
  EXPECT_EQ(view["scope"], "forward");
  EXPECT_EQ(view["edges"], Json::parse(R"([{"from":"a","to":"b","tensors":3,
                                            "kind":"control"}])"));
  const Json& node = view["nodes"][0];
  EXPECT_EQ(node["name"], "forward/fc/addmm");
  EXPECT_EQ(node["kind"], "op");
  EXPECT_EQ(node["category"], "activation");
  EXPECT_EQ(node["watched"], "some");
  EXPECT_EQ(node["outputs"], Json::parse(R"([{"slot":0,"dtype":"float32",
                                              "shape":[8,10]}])"));
  EXPECT_EQ(node["source"]["file"], "train.py");
  EXPECT_EQ(node["source"]["line"], 12);
}

TEST_F(GraphHandlersTest, LikeSiblingsCanBeShownAsOne) {
  EXPECT_EQ(Get("/jobs/train/graph/scope?aggregate=20").status, 200);
  EXPECT_EQ(job_->asked_aggregates, 20u);
  ExpectProblem(Get("/jobs/train/graph/scope?aggregate=all"), 400,
                "invalid_parameter", "aggregate");
}

TEST_F(GraphHandlersTest, TheTopIsTheScopeWithoutAName) {
  EXPECT_EQ(Get("/jobs/train/graph/scope").status, 200);
  EXPECT_EQ(job_->asked_scope, (std::pair<std::string, std::string>()));
}

TEST_F(GraphHandlersTest, ANodeComesWithAllThatIsKnown) {
  job_->node.node = Addmm();
  job_->node.node.source.reset();
  job_->node.inputs = {{"forward/flatten", 0, {DType::kFloat32, {8, 64}}}};
  job_->node.consumers = {{"forward/relu", 0, {DType::kFloat32, {8, 10}}}};
  job_->node.attributes = {{"alpha", "1"}};
  job_->node.stack = {{"train.py", 3, "main", "loss.backward()", true}};
  Json node = BodyOf(Get("/jobs/train/graph/node?name=forward%2Ffc%2Faddmm"));
  EXPECT_EQ(job_->asked_node, "forward/fc/addmm");
  EXPECT_EQ(node["label"], "addmm");
  EXPECT_TRUE(node["source"].is_null());
  EXPECT_EQ(node["inputs"], Json::parse(R"([{"node":"forward/flatten",
      "slot":0,"dtype":"float32","shape":[8,64]}])"));
  EXPECT_EQ(node["consumers"][0]["node"], "forward/relu");
  EXPECT_EQ(node["attributes"], Json::parse(R"({"alpha":"1"})"));
  EXPECT_EQ(node["stack"][0]["user"], true);
}

TEST_F(GraphHandlersTest, ANodeNeedsAName) {
  ExpectProblem(Get("/jobs/train/graph/node"), 400, "invalid_parameter",
                "name");
  job_->error = Error(absl::StatusCode::kNotFound, "unknown_node", "no node");
  ExpectProblem(Get("/jobs/train/graph/node?name=x"), 404, "unknown_node");
}

TEST_F(GraphHandlersTest, NeighboursComeWithStatisticsAndHits) {
  const model::Endpoint output{
      "forward/fc/addmm", 0, {DType::kFloat32, {8, 10}}};
  job_->neighbours.tensor = output;
  job_->neighbours.nodes = {{Addmm(), -2}};
  job_->neighbours.edges = {{"a", 1, "b", 2, model::EdgeKind::kData}};
  model::NeighbourTensor known{
      output, model::Statistics(), 4, 1, {model::Hit()}};
  known.statistics->count = 80;
  known.hits[0].id = 17;
  job_->neighbours.tensors = {known, {output, std::nullopt, 0, 0, {}}};
  job_->neighbours.truncated = true;
  Json json =
      BodyOf(Get("/jobs/train/graph/neighbours?name=forward/fc/"
                 "addmm&slot=3&depth=2&rank=1"));
  ASSERT_TRUE(job_->asked_neighbours);
  EXPECT_EQ(job_->asked_neighbours->node, "forward/fc/addmm");
  EXPECT_EQ(job_->asked_neighbours->slot, 3u);
  EXPECT_EQ(job_->asked_neighbours->depth, 2u);
  EXPECT_EQ(job_->asked_neighbours->rank, 1u);
  EXPECT_EQ(json["tensor"], Json::parse(R"({"name":"forward/fc/addmm:0",
      "node":"forward/fc/addmm","slot":0,"dtype":"float32","shape":[8,10]})"));
  EXPECT_EQ(json["nodes"][0]["name"], "forward/fc/addmm");
  EXPECT_EQ(json["nodes"][0]["distance"], -2);
  EXPECT_EQ(json["edges"], Json::parse(R"([{"from":"a","slot":1,"to":"b",
                                            "position":2,"kind":"data"}])"));
  EXPECT_EQ(json["tensors"][0]["statistics"]["count"], 80);
  EXPECT_EQ(json["tensors"][0]["statistics_step"], 4);
  EXPECT_EQ(json["tensors"][0]["hits"][0]["id"], 17);
  EXPECT_TRUE(json["tensors"][1]["statistics"].is_null());
  EXPECT_TRUE(json["tensors"][1]["statistics_step"].is_null());
  EXPECT_EQ(json["truncated"], true);
}

TEST_F(GraphHandlersTest, NeighboursOfATensorAreTheNextOnes) {
  Get("/jobs/train/graph/neighbours?name=x");
  EXPECT_EQ(job_->asked_neighbours->slot, 0u);
  EXPECT_EQ(job_->asked_neighbours->depth, 1u);
  ExpectProblem(Get("/jobs/train/graph/neighbours"), 400, "invalid_parameter",
                "name");
  for (const char* depth : {"0", "21", "all"}) {
    ExpectProblem(
        Get("/jobs/train/graph/neighbours?name=x&depth=" + std::string(depth)),
        400, "invalid_parameter", "depth");
  }
}

TEST_F(GraphHandlersTest, SearchReadsAllItsParameters) {
  job_->found.nodes = {Addmm()};
  job_->found.next_cursor = "next";
  Json page = BodyOf(
      Get("/jobs/train/graph/search?q=FC&in=code&category=weight&kind=parameter"
          "&op_type=aten::t&source=train.py:12&watchpoint=3&limit=7&cursor=c"));
  EXPECT_EQ(page["nodes"].size(), 1u);
  EXPECT_EQ(page["next_cursor"], "next");
  ASSERT_TRUE(job_->asked_search);
  const model::SearchQuery& query = *job_->asked_search;
  EXPECT_EQ(query.q, "FC");
  EXPECT_EQ(query.in, model::SearchIn::kCode);
  EXPECT_EQ(query.category, model::Category::kWeight);
  EXPECT_EQ(query.kind, model::NodeKind::kParameter);
  EXPECT_EQ(query.op_type, "aten::t");
  EXPECT_EQ(query.source, "train.py:12");
  EXPECT_EQ(query.watchpoint, 3u);
  EXPECT_EQ(query.limit, 7u);
  EXPECT_EQ(query.cursor, "c");
}

TEST_F(GraphHandlersTest, SearchTellsTheFrameThatMatched) {
  job_->found.nodes = {Addmm(), Addmm()};
  job_->found.nodes[1].match = {"train.py", 7, "loss_of", "return f(x)", true};
  const Json nodes = BodyOf(Get("/jobs/train/graph/search?q=f"))["nodes"];
  EXPECT_FALSE(nodes[0].contains("match"));
  EXPECT_EQ(nodes[1]["match"]["line"], 7);
  EXPECT_EQ(nodes[1]["match"]["text"], "return f(x)");
}

TEST_F(GraphHandlersTest, ASourceFileIsReturnedWhole) {
  const Json source = BodyOf(Get("/jobs/train/graph/source?file=/w/train.py"));
  EXPECT_EQ(source,
            (Json{{"file", "/w/train.py"}, {"text", "import torch\n"}}));
  ExpectProblem(Get("/jobs/train/graph/source"), 400, "invalid_parameter",
                "file");
}

TEST_F(GraphHandlersTest, TheLastPageHasNoCursor) {
  EXPECT_TRUE(BodyOf(Get("/jobs/train/graph/search"))["next_cursor"].is_null());
  EXPECT_EQ(job_->asked_search->limit, 100u);
}

TEST_F(GraphHandlersTest, WrongParametersAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"limit=0", "limit"},
      {"limit=1001", "limit"},
      {"limit=x", "limit"},
      {"limit=-1", "limit"},
      {"limit=5x", "limit"},
      {"category=weights", "category"},
      {"kind=module", "kind"},
      {"in=files", "in"},
      {"watchpoint=1.5", "watchpoint"},
      {"watchpoint=4294967296", "watchpoint"}};
  for (const auto& [query, field] : cases) {
    ExpectProblem(Get(std::string("/jobs/train/graph/search?") + query), 400,
                  "invalid_parameter", field);
  }
  ExpectProblem(Get("/jobs/train/graph/search?query=x"), 400,
                "unknown_parameter", "query");
  ExpectProblem(Get("/jobs/train/graph/search?q=a&q=b"), 400,
                "invalid_parameter", "q");
}

}  // namespace
}  // namespace graphdbg::api
