// Names, order, functions and external data of split models.
// tests/e2e/test_onnxruntime.py runs the pieces in ONNX Runtime.
#include "agent/onnx_splitter/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace graphdbg::onnx_splitter {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

class SplitTest : public testing::Test {
 protected:
  SplitTest() {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "parts");
    fs::create_directories(folder_ / "model");
  }

  // Parses ONNX's text format.
  static onnx::ModelProto Model(const std::string& text) {
    onnx::ModelProto model;
    const auto status = onnx::OnnxParser::Parse(model, text.c_str());
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    return model;
  }

  absl::Status Run(const onnx::ModelProto& model) {
    const fs::path file = folder_ / "model" / "m.onnx";
    std::ofstream(file, std::ios::binary) << model.SerializeAsString();
    const absl::Status status = Split(file, {"m", folder_ / "parts"});
    if (status.ok()) {
      split_ = Json::parse(std::ifstream(folder_ / "parts" / "model.json"));
    }
    return status;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Json& item : split_["declarations"]) {
      names.push_back(item["name"]);
    }
    return names;
  }

  const Json& Declaration(const std::string& name) const {
    for (const Json& item : split_["declarations"]) {
      if (item["name"] == name) return item;
    }
    ADD_FAILURE() << "no " << name;
    return split_;
  }

  std::vector<std::string> InputsOf(const std::string& name) const {
    std::vector<std::string> inputs;
    for (const Json& edge : Declaration(name)["inputs"]) {
      inputs.push_back(split_["declarations"][size_t{edge[0]}]["name"]);
    }
    return inputs;
  }

  // A model with a weight "w" of two floats whose values are at `location`.
  static onnx::ModelProto WithExternal(const std::string& location) {
    onnx::ModelProto model = Model(R"(<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) { y = Add(x, w) })");
    onnx::TensorProto& w = *model.mutable_graph()->add_initializer();
    w.set_name("w");
    w.set_data_type(onnx::TensorProto::FLOAT);
    w.add_dims(2);
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto& entry = *w.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
    return model;
  }

  fs::path folder_;
  Json split_;
};

TEST_F(SplitTest, ScopesComeFromNames) {
  onnx::ModelProto model = Model(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Neg(b) })");
  model.mutable_graph()->mutable_node(0)->set_name("/net/net.0/act/Relu");
  model.mutable_graph()->mutable_node(1)->set_name("net.1.flip");
  ASSERT_TRUE(Run(model).ok());
  EXPECT_THAT(Names(),
              ElementsAre("m/x", "m/net/0/act/Relu", "m/net/1/flip", "m/Neg"));
  EXPECT_THAT(InputsOf("m/net/1/flip"), ElementsAre("m/net/0/act/Relu"));
  EXPECT_EQ(Declaration("m/Neg")["outputs"][0][1], Json({"2"}));
}

TEST_F(SplitTest, ConstantsBelongToTheScopeOfTheirReaders) {
  onnx::ModelProto model = Model(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y)
      { c = Constant<value_float = 2.0>() a = Mul(x, c) y = Add(a, c) })");
  model.mutable_graph()->mutable_node(0)->set_name("Constant_7");
  model.mutable_graph()->mutable_node(1)->set_name("/layer/one/Mul");
  model.mutable_graph()->mutable_node(2)->set_name("/layer/two/Add");
  ASSERT_TRUE(Run(model).ok());
  EXPECT_EQ(Declaration("m/layer/Constant_7")["kind"], "constant");
  EXPECT_EQ(split_["graph"]["nodes"].size(), 2u);
}

TEST_F(SplitTest, ProducersComeFirst) {
  ASSERT_TRUE(Run(Model(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { y = Neg(a) a = Relu(x) })"))
                  .ok());
  EXPECT_EQ(split_["graph"]["nodes"][0]["outputs"], Json({"a"}));
  EXPECT_EQ(split_["graph"]["nodes"][1]["outputs"], Json({"y"}));
}

TEST_F(SplitTest, ANodeOfACycleIsNamed) {
  onnx::ModelProto model = Model(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y)
      { y = Neg(b) a = Add(x, b) b = Relu(a) })");
  model.mutable_graph()->mutable_node(0)->set_name("after");
  model.mutable_graph()->mutable_node(1)->set_name("one");
  model.mutable_graph()->mutable_node(2)->set_name("two");
  const std::string error(Run(model).message());
  EXPECT_THAT(error, testing::AnyOf(HasSubstr("node one depends"),
                                    HasSubstr("node two depends")));
}

TEST_F(SplitTest, FunctionsAreScopesOfTheirNodes) {
  onnx::ModelProto model = Model(R"(
      <ir_version: 8, opset_import: ["" : 17, "my" : 1]>
      g (float[2] x) => (float[2] y) { a = my.twice(x) y = my.twice(a) }
      <domain: "my", opset_import: ["" : 17]>
      twice (v) => (w) { t = Add(v, v) w = Identity(t) })");
  model.mutable_graph()->mutable_node(0)->set_name("first");
  model.mutable_graph()->mutable_node(1)->set_name("first");
  ASSERT_TRUE(Run(model).ok());
  EXPECT_THAT(Names(), ElementsAre("m/x", "m/first/Add", "m/first/Identity",
                                   "m/first_1/Add", "m/first_1/Identity"));
  EXPECT_THAT(InputsOf("m/first_1/Add"),
              ElementsAre("m/first/Identity", "m/first/Identity"));
  EXPECT_EQ(split_["graph"]["nodes"][3]["outputs"], Json({"y"}));
}

// The output is sufficient to run the nodes of a Loop one by one.
TEST_F(SplitTest, BodiesAreSplit) {
  ASSERT_TRUE(Run(Model(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (int64 n, bool c, float[2] x) => (float[2] y) {
        y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] v)
            => (bool go_on, float[2] w) <float[2] k = {1, 2}>
            { w = Add(t, k) go_on = Identity(go) t = Mul(v, x) }>
      })"))
                  .ok());
  EXPECT_THAT(
      Names(),
      ElementsAre("m/n", "m/c", "m/x", "m/Loop.body/i", "m/Loop.body/go",
                  "m/Loop.body/v", "m/Loop.body/k", "m/Loop.body/Identity",
                  "m/Loop.body/Mul", "m/Loop.body/Add", "m/Loop"));
  EXPECT_THAT(InputsOf("m/Loop.body/i"), ElementsAre());
  EXPECT_THAT(InputsOf("m/Loop.body/v"), ElementsAre("m/x"));
  EXPECT_THAT(InputsOf("m/Loop.body/Mul"), ElementsAre("m/Loop.body/v", "m/x"));
  const Json& body = split_["graph"]["nodes"][0]["bodies"]["body"];
  EXPECT_EQ(body["inputs"].size(), 3u);
  EXPECT_EQ(body["outputs"], Json({"go_on", "w"}));
  // Bodies are sorted, too.
  EXPECT_EQ(body["nodes"][2]["outputs"], Json({"w"}));
  EXPECT_EQ(body["initializers"][0]["value"], "k");
}

TEST_F(SplitTest, FunctionsInsideBodiesAreScopesToo) {
  ASSERT_TRUE(Run(Model(R"(
      <ir_version: 8, opset_import: ["" : 17, "my" : 1]>
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = my.twice(x) },
                    else_branch = e () => (float[2] b) { b = my.twice(x) }>
      }
      <domain: "my", opset_import: ["" : 17]>
      twice (v) => (w) { t = Add(v, v) w = Identity(t) })"))
                  .ok());
  EXPECT_THAT(Names(),
              ElementsAre("m/c", "m/x", "m/If.then_branch/twice/Add",
                          "m/If.then_branch/twice/Identity",
                          "m/If.else_branch/twice_1/Add",
                          "m/If.else_branch/twice_1/Identity", "m/If"));
}

TEST_F(SplitTest, ValuesOfTheSameNameInTwoBranchesHaveNoStaticShape) {
  ASSERT_TRUE(Run(Model(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (bool c, float[2] x, float[3] z) => (float[N] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = Relu(x) },
                    else_branch = e () => (float[3] a) { a = Neg(z) }>
      })"))
                  .ok());
  EXPECT_EQ(Declaration("m/If.then_branch/Relu")["outputs"], Json({nullptr}));
  EXPECT_EQ(Declaration("m/If.else_branch/Neg")["outputs"], Json({nullptr}));
}

TEST_F(SplitTest, EndlessRecursionIsRejected) {
  const absl::Status status = Run(Model(R"(
      <ir_version: 8, opset_import: ["" : 17, "my" : 1]>
      g (float[2] x) => (float[2] y) { y = my.again(x) }
      <domain: "my", opset_import: ["" : 17, "my" : 1]>
      again (v) => (w) { w = my.again(v) })"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("32 nested calls"));
}

TEST_F(SplitTest, WeightsAreWrittenOnce) {
  onnx::ModelProto model = WithExternal("unused");
  onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_data_location();
  w.clear_external_data();
  w.set_dims(0, 1000);
  for (int i = 0; i < 1000; ++i) w.add_float_data(static_cast<float>(i));
  ASSERT_TRUE(Run(model).ok());
  const Json& item = split_["graph"]["initializers"][0];
  const std::string path = item["file"];
  std::ifstream file(path, std::ios::binary);
  file.seekg(int64_t{item["offset"]} + 999 * 4);
  float last = 0;
  file.read(reinterpret_cast<char*>(&last), sizeof(last));
  EXPECT_EQ(last, 999);
  // The part refers to the values and does not contain them.
  EXPECT_LT(int64_t{item["part"][1]}, 200);
}

TEST_F(SplitTest, DataBesideTheModelIsFound) {
  std::ofstream(folder_ / "model" / "w.bin") << "8 bytes!";
  ASSERT_TRUE(Run(WithExternal("w.bin")).ok());
  EXPECT_EQ(split_["graph"]["initializers"][0]["file"],
            fs::canonical(folder_ / "model" / "w.bin").string());
}

TEST_F(SplitTest, DataElsewhereIsNotRead) {
  std::ofstream(folder_ / "secret") << "8 bytes!";
  fs::create_symlink(folder_ / "secret", folder_ / "model" / "link");
  const std::string absolute = folder_ / "secret";
  for (const std::string& location :
       {std::string("../secret"), std::string("a/../../secret"), absolute,
        std::string("link"), std::string("")}) {
    EXPECT_THAT(std::string(Run(WithExternal(location)).message()),
                HasSubstr("initializer w: external data '"))
        << location;
  }
}

TEST_F(SplitTest, IncompleteDataIsRejected) {
  std::ofstream(folder_ / "model" / "w.bin") << "7 bytes";
  EXPECT_THAT(std::string(Run(WithExternal("w.bin")).message()),
              HasSubstr("needs 8 bytes of external data, but "));
  EXPECT_THAT(std::string(Run(WithExternal("none.bin")).message()),
              HasSubstr("none.bin does not exist"));
}

TEST_F(SplitTest, TruncatedModelsAreRejected) {
  const fs::path file = folder_ / "model" / "m.onnx";
  const std::string whole = WithExternal("w").SerializeAsString();
  std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() / 2);
  const absl::Status status = Split(file, {"m", folder_ / "parts"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not an ONNX model"));
}

TEST_F(SplitTest, NewerOpsetsAreAccepted) {
  onnx::ModelProto model = Model(R"(<ir_version: 8, opset_import: ["" : 999]>
      g (float[2] x) => (float[2] y) { a = Novelty(x) y = Relu(a) })");
  ASSERT_TRUE(Run(model).ok());
  EXPECT_THAT(split_["findings"],
              ElementsAre(Json(
                  "opset 999 is newer than the installed ONNX library supports "
                  "(17); shapes that it cannot infer will be known after the "
                  "first run")));
}

}  // namespace
}  // namespace graphdbg::onnx_splitter
