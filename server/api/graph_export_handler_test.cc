#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "server/api/testing/api_fixture.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

using testing::BodyOf;

class GraphExportTest : public testing::ApiTest {
 protected:
  GraphExportTest() {
    job_->pages[0] = Page({"w", "b"}, 5);
    job_->pages[5] = Page({"mul"}, 9);
    job_->pages[9] = Page({"log"}, 0);
    Connect(5, "w", "mul");
    Connect(5, "b", "mul");
    Connect(9, "mul", "log");
  }

  static model::GraphPage Page(const std::vector<std::string>& names,
                               uint64_t next) {
    model::GraphPage page;
    page.graph = "main";
    page.next = next;
    for (const std::string& name : names) {
      model::ExportNode& node = page.nodes.emplace_back();
      node.node.name = name;
      node.node.op_type = "aten::" + name;
      node.attributes = {{"alpha", "1"}};
    }
    return page;
  }
  void Connect(uint64_t page, const std::string& from, const std::string& to) {
    auto& inputs = job_->pages[page].nodes[0].inputs;
    inputs.push_back({from, 0, to, static_cast<uint32_t>(inputs.size()),
                      model::EdgeKind::kData});
  }

  // Joins all pieces of a response. An empty piece ends it.
  static std::string Whole(const http::Response& response) {
    std::string whole;
    while (true) {
      boost::asio::io_context context;
      auto piece = boost::asio::co_spawn(context, response.next_piece(),
                                         boost::asio::use_future);
      context.run();
      const auto text = piece.get();
      EXPECT_TRUE(text.ok()) << text.status();
      if (!text.ok() || text->empty()) return whole;
      whole += *text;
    }
  }
};

TEST_F(GraphExportTest, JsonHoldsNodesAndEdgesOfAllPages) {
  const http::Response response = Get("/jobs/train/graph/export?graph=main");
  EXPECT_EQ(job_->asked_index, "main");
  EXPECT_FALSE(response.pieces_bytes.has_value());
  const Json json = Json::parse(Whole(response));
  EXPECT_EQ(json["format"], "graphdbg.graph");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["job"], "train");
  EXPECT_EQ(json["graph"], "main");
  ASSERT_EQ(json["nodes"].size(), 4u);
  EXPECT_EQ(json["nodes"][2]["name"], "mul");
  EXPECT_EQ(json["nodes"][2]["attributes"]["alpha"], "1");
  ASSERT_EQ(json["edges"].size(), 3u);
  EXPECT_EQ(json["edges"][2], Json::parse(R"({"from":"mul","slot":0,
      "to":"log","position":0,"kind":"data"})"));
}

TEST_F(GraphExportTest, OnnxHoldsTheNodesOfAllPages) {
  const http::Response response = Get("/jobs/train/graph/export?format=onnx");
  EXPECT_EQ(response.headers.Get("Content-Disposition"),
            "attachment; filename=\"graph.onnx\"");
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(response.body));
  EXPECT_EQ(model.producer_version(), "1.2.3");
  EXPECT_EQ(model.graph().node_size(), 4);
}

TEST_F(GraphExportTest, OfAnEmptyGraphIsAFileToo) {
  job_->pages = {{0, Page({}, 0)}};
  const Json json = Json::parse(Whole(Get("/jobs/train/graph/export")));
  EXPECT_TRUE(json["nodes"].empty());
  EXPECT_TRUE(json["edges"].empty());
}

TEST_F(GraphExportTest, WhatCannotBeExportedIsRefused) {
  ExpectProblem(Get("/jobs/train/graph/export?format=dot"), 400,
                "invalid_parameter", "format");
  job_->error = Error(absl::StatusCode::kNotFound, "unknown_graph", "no graph");
  ExpectProblem(Get("/jobs/train/graph/export?graph=x"), 404, "unknown_graph");
}

}  // namespace
}  // namespace graphdbg::api
