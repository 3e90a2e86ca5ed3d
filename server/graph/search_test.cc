#include "server/graph/search.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "server/base/error.h"

namespace graphdbg::graph {
namespace {

// Watchpoint 1 covers the first node.
class FirstIsWatched final : public Annotations {
 public:
  uint64_t HitsOf(Child) const override { return 0; }
  model::Watched WatchedOf(Child) const override {
    return model::Watched::kNone;
  }
  bool Covers(uint32_t watchpoint, NodeIndex node) const override {
    return watchpoint == 1 && node == 0;
  }
};

class SearchTest : public testing::Test {
 protected:
  SearchTest() {
    Add("forward/Conv1/conv2d", "aten::conv2d", 10);
    Add("forward/Conv1/weight", "", 10);
    Add("forward/log", "aten::log", 42);
    Add("backward/log/log_backward", "LogBackward0", 42);
    patch_.nodes[1].kind = model::NodeKind::kParameter;
    patch_.nodes[1].category = model::Category::kWeight;
    patch_.scope_types["forward/Conv1"] = "Conv2d";
    AgentIds ids;
    EXPECT_TRUE(store_.Apply(patch_, ids).ok());
  }

  void Add(const std::string& name, const std::string& op_type, uint32_t line) {
    NodeRecord record;
    record.id = static_cast<uint32_t>(patch_.nodes.size() + 1);
    record.name = name;
    record.op_type = op_type;
    record.stack = {{"/home/me/src/train.py", line, "f", "", true}};
    patch_.nodes.push_back(record);
  }

  std::vector<std::string> Find(const model::SearchQuery& query) {
    std::vector<std::string> labels;
    auto result = Search(store_, annotations_, query);
    EXPECT_TRUE(result.ok()) << result.status();
    for (const auto& node : result->nodes) labels.push_back(node.label);
    return labels;
  }

  GraphPatch patch_;
  GraphStore store_;
  FirstIsWatched annotations_;
};

using Labels = std::vector<std::string>;

TEST_F(SearchTest, FindsPartsOfNamesInAnyCase) {
  model::SearchQuery query;
  query.q = "CONV";
  EXPECT_EQ(Find(query), (Labels{"conv2d", "weight"}));
  query.q = "log";
  EXPECT_EQ(Find(query), (Labels{"log", "log_backward"}));
  query.q = "nothing";
  EXPECT_TRUE(Find(query).empty());
}

TEST_F(SearchTest, FindsPartsWhereverTheyLie) {
  for (const char* part :
       {"forward/log", "d/l", "g_b", "BACKWARD/log/log_backward", "f", "rd"}) {
    size_t expected = 0;
    for (const NodeRecord& node : patch_.nodes) {
      expected += absl::AsciiStrToLower(node.name).find(
                      absl::AsciiStrToLower(part)) != std::string::npos;
    }
    model::SearchQuery query;
    query.q = part;
    query.in = model::SearchIn::kNames;
    EXPECT_GT(expected, 0u) << part;
    EXPECT_EQ(Find(query).size(), expected) << part;
  }
}

TEST_F(SearchTest, FindsByKindCategoryAndOpType) {
  model::SearchQuery query;
  query.kind = model::NodeKind::kParameter;
  EXPECT_EQ(Find(query), (Labels{"weight"}));
  query = {};
  query.category = model::Category::kWeight;
  EXPECT_EQ(Find(query), (Labels{"weight"}));
  query = {};
  query.op_type = "conv2d";
  EXPECT_EQ(Find(query), (Labels{"conv2d"}));
  query.op_type = "aten::log";
  EXPECT_EQ(Find(query), (Labels{"log"}));
  // A substring of an op type does not match.
  query.op_type = "og";
  EXPECT_TRUE(Find(query).empty());
  query = {};
  query.kind = model::NodeKind::kScope;
  query.q = "conv";
  EXPECT_EQ(Find(query), (Labels{"Conv1"}));
}

TEST_F(SearchTest, FindsBySourceLine) {
  model::SearchQuery query;
  query.source = "train.py:42";
  EXPECT_EQ(Find(query), (Labels{"log", "log_backward"}));
  query.source = "src/train.py";
  EXPECT_EQ(Find(query).size(), 4u);
  // Only whole path segments match.
  query.source = "rain.py";
  EXPECT_TRUE(Find(query).empty());
}

class StackSearchTest : public SearchTest {
 protected:
  // A forward op whose loss is computed by a library, a node of that name, and
  // the backward op.
  StackSearchTest() {
    GraphPatch patch;
    const auto add = [&](const std::string& name,
                         std::vector<model::SourceLine> stack) {
      NodeRecord& record = patch.nodes.emplace_back();
      record.id = static_cast<uint32_t>(patch.nodes.size());
      record.name = name;
      record.stack = std::move(stack);
    };
    add("forward/nll",
        {{"torch/nn/functional.py", 3000, "Cross_Entropy", "return nll", false},
         {"/src/model.py", 7, "loss_of", "loss = criterion(out, y)", true},
         {"/src/main.py", 30, "main", "loss = loss_of(out)", true}});
    add("forward/criterion/relu", {});
    add("backward/nll_backward",
        {{"/src/main.py", 31, "main", "loss.backward()", true}});
    patch.nodes.back().forward_node_id = 1;
    AgentIds ids;
    EXPECT_TRUE(stacks_.Apply(patch, ids).ok());
  }

  model::SearchResult Page(const model::SearchQuery& query) {
    auto result = Search(stacks_, annotations_, query);
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  }

  Labels In(const model::SearchQuery& query) {
    Labels labels;
    for (const auto& node : Page(query).nodes) labels.push_back(node.label);
    return labels;
  }

  GraphStore stacks_;
};

TEST_F(StackSearchTest, FindsByAnyFrame) {
  model::SearchQuery query;
  for (const char* source :
       {"functional.py:3000", "model.py:7", "main.py:30"}) {
    query.source = source;
    EXPECT_EQ(In(query), (Labels{"nll", "nll_backward"})) << source;
  }
  // A backward op has its own stack and that of its forward op.
  query.source = "main.py:31";
  EXPECT_EQ(In(query), (Labels{"nll_backward"}));
  query.source = "main.py:32";
  EXPECT_EQ(In(query), (Labels{}));
}

TEST_F(StackSearchTest, TellsTheFrameThatMatched) {
  model::SearchQuery query;
  query.source = "main.py:30";
  EXPECT_EQ(Page(query).nodes.at(0).match->text, "loss = loss_of(out)");
  query = {};
  query.q = "cross_entropy";
  EXPECT_EQ(Page(query).nodes.at(0).match->line, 3000u);
  // A name has no frame.
  query.q = "nll";
  EXPECT_FALSE(Page(query).nodes.at(0).match);
}

TEST_F(StackSearchTest, FindsCodeAndFunctions) {
  model::SearchQuery query;
  query.q = "cross_entropy";
  EXPECT_EQ(In(query), (Labels{"nll", "nll_backward"}));
  query.q = "LOSS.backward()";
  EXPECT_EQ(In(query), (Labels{"nll_backward"}));
  query.kind = model::NodeKind::kScope;
  EXPECT_EQ(In(query), (Labels{}));
}

TEST_F(StackSearchTest, NamesComeBeforeCodeOnAllPages) {
  model::SearchQuery query;
  query.q = "criterion";
  query.limit = 1;
  Labels found;
  for (int page = 0; page < 4; ++page) {
    const model::SearchResult result = Page(query);
    ASSERT_EQ(result.nodes.size(), 1u);
    found.push_back(result.nodes[0].label);
    query.cursor = result.next_cursor;
    if (query.cursor.empty()) break;
  }
  EXPECT_EQ(found, (Labels{"relu", "nll", "nll_backward"}));
}

TEST_F(StackSearchTest, SearchesOnlyNamesOrOnlyCode) {
  model::SearchQuery query;
  query.q = "criterion";
  query.in = model::SearchIn::kNames;
  EXPECT_EQ(In(query), (Labels{"relu"}));
  query.in = model::SearchIn::kCode;
  EXPECT_EQ(In(query), (Labels{"nll", "nll_backward"}));
  query.q = "nll";
  EXPECT_EQ(In(query), (Labels{}));
  query.cursor = "code:x";
  EXPECT_FALSE(Search(stacks_, annotations_, query).ok());
}

TEST_F(StackSearchTest, CodeLeavesOutTheNodesOwnLines) {
  model::SearchQuery query;
  query.in = model::SearchIn::kCode;
  query.kind = model::NodeKind::kScope;
  query.source = "main.py:30";
  EXPECT_EQ(In(query), (Labels{}));
  query.kind.reset();
  // The own line of both: the user's innermost one.
  query.source = "model.py:7";
  EXPECT_EQ(In(query), (Labels{}));
  query.source = "main.py:30";
  EXPECT_EQ(In(query), (Labels{"nll", "nll_backward"}));
  query.q = "backward";
  EXPECT_EQ(In(query), (Labels{"nll_backward"}));
  query.q = "cross_entropy";
  query.source = "model.py:7";
  EXPECT_EQ(In(query), (Labels{"nll", "nll_backward"}));
}

TEST_F(SearchTest, FindsWhatAWatchpointCovers) {
  model::SearchQuery query;
  query.watchpoint = 1;
  EXPECT_EQ(Find(query), (Labels{"conv2d"}));
}

TEST_F(SearchTest, PagesWithoutLossOrRepetition) {
  model::SearchQuery query;
  query.limit = 3;
  auto first = Search(store_, annotations_, query);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->nodes.size(), 3u);
  query.cursor = first->next_cursor;
  auto second = Search(store_, annotations_, query);
  ASSERT_EQ(second->nodes.size(), 1u);
  EXPECT_EQ(second->nodes[0].label, "log_backward");
  EXPECT_TRUE(second->next_cursor.empty());
  query.cursor = "from elsewhere";
  EXPECT_EQ(FieldOf(Search(store_, annotations_, query).status()), "cursor");
}

}  // namespace
}  // namespace graphdbg::graph
