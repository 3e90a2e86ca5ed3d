#include "server/jobs/graph_index_cache.h"

#include <gtest/gtest.h>

#include "server/base/error.h"
#include "server/base/gzip.h"
#include "server/jobs/testing/job_fixture.h"

namespace graphdbg::jobs {
namespace {

class GraphIndexCacheTest : public JobFixture {
 protected:
  // Null until the request has been answered.
  GraphIndexCache::File Request(const std::string& graph) {
    GraphIndexCache::File file;
    cache_.Request(graph, [&file](absl::StatusOr<GraphIndexCache::File> done) {
      ASSERT_TRUE(done.ok()) << done.status();
      file = *done;
    });
    tasks_.RunBackground();
    tasks_.RunPosted();
    return file;
  }

  int changes_of_cache_ = 0;
  GraphIndexCache cache_{graph_, "job-", tasks_,
                         [this] { ++changes_of_cache_; }};
};

TEST_F(GraphIndexCacheTest, CompressesAGraphInTheBackground) {
  AddNodes(Connect(0), {"forward/log"});
  bool answered = false;
  cache_.Request("", [&](const auto&) { answered = true; });
  EXPECT_EQ(tasks_.background(), 1u);
  tasks_.RunBackground();
  EXPECT_FALSE(answered);
  tasks_.RunPosted();
  EXPECT_TRUE(answered);
  EXPECT_EQ(changes_of_cache_, 1);
  EXPECT_GT(cache_.bytes(), 0u);
}

TEST_F(GraphIndexCacheTest, KeepsAFileUntilTheGraphChanges) {
  Rank& rank = Connect(0);
  AddNodes(rank, {"forward/log"});
  const auto first = Request("");
  EXPECT_EQ(Request("main"), first);
  AddNodes(rank, {"forward/exp"});
  const auto second = Request("");
  EXPECT_NE(second, first);
  EXPECT_NE(second->version, first->version);
  EXPECT_EQ(second->version.substr(0, 4), "job-");
  EXPECT_EQ(Gunzip(second->gzip, second->bytes)->size(), second->bytes);
}

TEST_F(GraphIndexCacheTest, TheMainGraphExistsBeforeItsFirstNode) {
  EXPECT_NE(Request(""), nullptr);
  EXPECT_EQ(cache_.bytes(), 0u);
}

TEST_F(GraphIndexCacheTest, NamesUnknownGraphs) {
  absl::Status status;
  cache_.Request("other", [&](const auto& done) { status = done.status(); });
  EXPECT_EQ(ReasonOf(status), "unknown_graph");
}

}  // namespace
}  // namespace graphdbg::jobs
