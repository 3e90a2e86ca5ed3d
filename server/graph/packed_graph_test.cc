#include "server/graph/packed_graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphdbg::graph {
namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;
using Numbers = std::vector<uint32_t>;

// Reads a file by its documented format alone.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {
    EXPECT_EQ(file.substr(0, 8), std::string("GDBGIDX\x02"));
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, file.data() + 8, 8);
    EXPECT_EQ(header_bytes % 8, 0u);
    start_ = 16 + header_bytes;
    header = json::parse(file.substr(16, header_bytes));
  }

  Numbers Column(const std::string& name) const {
    const json& column = header["columns"].at(name);
    const bool wide = column["type"] == "u32";
    const uint64_t offset = column["offset"];
    EXPECT_EQ(offset % 8, 0u) << name;
    Numbers values;
    for (uint64_t i = 0; i < column["count"]; ++i) {
      uint32_t value = 0;
      const size_t bytes = wide ? 4 : 1;
      std::memcpy(&value, file_.data() + start_ + offset + i * bytes, bytes);
      const bool sum = column.value("differences", false) && i > 0;
      values.push_back(sum ? values.back() + value : value);
    }
    return values;
  }

  Strings Texts() const {
    Strings texts;
    uint32_t at = 0;
    const Numbers bytes = Column("string_bytes");
    for (uint32_t end : Column("string_end")) {
      texts.emplace_back(bytes.begin() + at, bytes.begin() + end);
      at = end;
    }
    return texts;
  }

  // Full names of scopes, built from those of their parents.
  Strings Scopes() const {
    const Strings texts = Texts();
    const Numbers parents = Column("scope_parent");
    const Numbers labels = Column("scope_label");
    Strings names = {""};
    for (size_t i = 1; i < parents.size(); ++i) {
      const std::string& parent = names.at(parents[i]);
      names.push_back((parent.empty() ? "" : parent + "/") + texts[labels[i]]);
    }
    return names;
  }

  Strings Nodes() const {
    const Strings texts = Texts();
    const Strings scopes = Scopes();
    const Numbers of = Column("node_scope");
    const Numbers labels = Column("node_label");
    Strings names;
    for (size_t i = 0; i < of.size(); ++i) {
      const std::string& scope = scopes.at(of[i]);
      names.push_back((scope.empty() ? "" : scope + "/") + texts[labels[i]]);
    }
    return names;
  }

  Strings Words(const char* column, const char* words) const {
    Strings out;
    for (uint32_t value : Column(column)) out.push_back(header[words][value]);
    return out;
  }

  // "from:slot>to", with ~ for control edges.
  Strings Edges() const {
    const Strings nodes = Nodes();
    const Numbers backs = Column("edge_back"), slots = Column("edge_slot"),
                  controls = Column("edge_control");
    Strings edges;
    uint32_t at = 0;
    const Numbers ends = Column("edge_end");
    for (size_t to = 0; to < ends.size(); ++to) {
      for (; at < ends[to]; ++at) {
        edges.push_back(nodes[to - backs[at]] + ":" +
                        std::to_string(slots[at]) + (controls[at] ? "~" : ">") +
                        nodes[to]);
      }
    }
    return edges;
  }

  json header;

 private:
  const std::string& file_;
  uint64_t start_ = 0;
};

class PackedGraphTest : public testing::Test {
 protected:
  PackedGraphTest() {
    patch_.nodes = {Make(1, "forward/fc/weight", 0),
                    Make(2, "forward/fc/addmm", 2, {{1, 0, false}}),
                    Make(3, "forward/\xc3\xa9t\xc3\xa9", 1),
                    Make(4, "loss", 3, {{2, 1, false}, {3, 0, true}})};
    patch_.nodes[0].kind = model::NodeKind::kParameter;
    patch_.nodes[0].category = model::Category::kWeight;
    patch_.nodes[3].forward_node_id = 2;
    patch_.nodes[1].outputs = {{0, {DType::kFloat32, {2, 3}}},
                               {1, {DType::kInt64, {}}}};
    patch_.nodes[1].stack = {{"module.py", 9, "forward", "", false},
                             {"train.py", 77, "main", "", true}};
    patch_.scope_types["forward/fc"] = "Linear";
  }

  static NodeRecord Make(uint32_t id, const std::string& name, uint64_t order,
                         std::vector<InputRecord> inputs = {}) {
    NodeRecord record;
    record.id = id;
    record.name = name;
    record.order = order;
    record.op_type = order == 0 ? "" : "aten::op";
    record.inputs = std::move(inputs);
    return record;
  }

  std::string Pack(const std::string& graph = "") {
    EXPECT_TRUE(store_.Apply(patch_, ids_).ok());
    return PackGraph(store_, *store_.FindGraph(graph));
  }

  GraphPatch patch_;
  GraphStore store_;
  AgentIds ids_;
};

TEST_F(PackedGraphTest, HoldsNamesTypesEdgesAndOrder) {
  const std::string file = Pack();
  const Reader reader(file);
  EXPECT_EQ(reader.header["graph"], "main");
  EXPECT_EQ(reader.header["node_count"], 4);
  EXPECT_EQ(reader.header["scope_count"], 3);
  EXPECT_EQ(reader.header["edge_count"], 3);
  // The type of "forward/fc" comes before the nodes.
  EXPECT_EQ(reader.Scopes(), (Strings{"", "forward", "forward/fc"}));
  EXPECT_EQ(reader.Nodes(), (Strings{"forward/fc/weight", "forward/fc/addmm",
                                     "forward/\xc3\xa9t\xc3\xa9", "loss"}));
  EXPECT_EQ(reader.Words("node_kind", "kinds"),
            (Strings{"parameter", "op", "op", "op"}));
  EXPECT_EQ(reader.Words("node_category", "categories"),
            (Strings{"weight", "other", "other", "other"}));
  EXPECT_EQ(reader.Edges(), (Strings{"forward/fc/weight:0>forward/fc/addmm",
                                     "forward/fc/addmm:1>loss",
                                     "forward/\xc3\xa9t\xc3\xa9:0~loss"}));
  EXPECT_EQ(reader.Column("execution"), (Numbers{2, 1, 3}));
  const Strings texts = reader.Texts();
  const Numbers ops = reader.Column("node_op_type");
  EXPECT_EQ(texts[ops[0]], "");
  EXPECT_EQ(texts[ops[1]], "aten::op");
  EXPECT_EQ(texts[reader.Column("scope_type")[2]], "Linear");
  EXPECT_EQ(texts[reader.Column("node_output")[1]], "float32[2, 3]");
  EXPECT_EQ(reader.Column("node_output_count"), (Numbers{0, 2, 0, 0}));
  // The user's own line; for a backward op, that of its forward op.
  const Numbers files = reader.Column("node_file");
  EXPECT_EQ(texts[files[1]], "train.py");
  EXPECT_EQ(texts[files[3]], "train.py");
  EXPECT_EQ(texts[files[2]], "");
  EXPECT_EQ(reader.Column("node_line"), (Numbers{0, 77, 0, 77}));
  const uint32_t none = 0xffffffff;
  EXPECT_EQ(reader.Column("node_forward"), (Numbers{none, none, none, 1}));
}

TEST_F(PackedGraphTest, KeepsNumbersWhileTheGraphGrows) {
  Pack();
  patch_ = {};
  patch_.nodes = {Make(5, "a/first/by/name", 4), Make(6, "forward/fc/x", 5)};
  const std::string file = Pack();
  const Reader reader(file);
  EXPECT_EQ(reader.Nodes()[3], "loss");
  EXPECT_EQ(reader.Nodes()[4], "a/first/by/name");
  EXPECT_EQ(reader.Scopes()[2], "forward/fc");
}

TEST_F(PackedGraphTest, HoldsOneGraphOnly) {
  Pack();
  patch_ = {};
  patch_.graph = "other";
  patch_.nodes = {Make(9, "eval/relu", 1, {{2, 0, false}})};
  const std::string file = Pack("other");
  const Reader reader(file);
  EXPECT_EQ(reader.header["graph"], "other");
  EXPECT_EQ(reader.Nodes(), Strings{"eval/relu"});
  // The producer is in the other graph.
  EXPECT_TRUE(reader.Edges().empty());
}

TEST_F(PackedGraphTest, OfNothingIsAFileToo) {
  const std::string file = PackEmptyGraph();
  const Reader reader(file);
  EXPECT_EQ(reader.header["graph"], "main");
  EXPECT_TRUE(reader.Nodes().empty());
  EXPECT_EQ(reader.Scopes(), Strings{""});
}

TEST_F(PackedGraphTest, ChangesOfTheGraphCount) {
  Pack();
  const uint64_t version = store_.version();
  patch_ = {};
  patch_.seen[9] = {1};
  Pack();
  EXPECT_EQ(store_.version(), version);
  patch_.nodes = {Make(7, "more", 7)};
  Pack();
  EXPECT_GT(store_.version(), version);
}

}  // namespace
}  // namespace graphdbg::graph
