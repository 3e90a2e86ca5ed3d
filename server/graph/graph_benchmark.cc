// Measures a page's queries about a large graph, and the memory per node. Run
// by `tools/dev bench server`.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "server/base/gzip.h"
#include "server/graph/graph_store.h"
#include "server/graph/graph_view.h"
#include "server/graph/neighbours.h"
#include "server/graph/packed_graph.h"
#include "server/graph/search.h"

namespace graphdbg::graph {
namespace {

constexpr int kRounds = 15;
constexpr uint32_t kOpsOfALayer = 60;
constexpr uint32_t kNodesOfAPatch = 1'000;

class Watching final : public Annotations {
 public:
  uint64_t HitsOf(Child) const override { return 0; }
  model::Watched WatchedOf(Child) const override {
    return model::Watched::kNone;
  }
  bool Covers(uint32_t, NodeIndex node) const override {
    return node % 1'000 == 7;
  }
};

// Half a transformer's forward and backward ops, layer by layer, half the many
// small ops of an optimizer that has no fused kernels, all in one scope.
std::vector<GraphPatch> MakePatches(uint32_t count) {
  std::vector<GraphPatch> patches;
  const char* const kOps[] = {"addmm", "view", "transpose", "softmax", "mul"};
  for (uint32_t i = 0; i < count; ++i) {
    if (i % kNodesOfAPatch == 0) patches.emplace_back();
    NodeRecord& node = patches.back().nodes.emplace_back();
    const std::string number = std::to_string(i);
    const uint32_t layer = i / (2 * kOpsOfALayer);
    const bool optimizer = i % 2 == 1;
    const std::string op = optimizer ? "addcmul_" : kOps[i / 2 % 5];
    const std::string module = std::to_string(layer) + "/self_attention/";
    node.id = i + 1;
    node.name = optimizer
                    ? "optimizer/AdamW/addcmul__" + number
                    : (layer % 2 == 0 ? "forward" : "backward") +
                          ("/encoder/layers/" + module) + op + "_" + number;
    node.op_type = "aten::" + op;
    node.category =
        optimizer ? model::Category::kOptimizer : model::Category::kActivation;
    node.order = i + 1;
    node.first_step = node.last_step = 1;
    node.outputs = {{0, {DType::kFloat32, {32, 128, 768}}}};
    if (i > 0) node.inputs.push_back({i, 0, false});
    if (i > 50) node.inputs.push_back({i - 50, 0, false});
    node.attributes = {{"dtype", "float32"}};
    for (uint32_t frame = 0; frame < 4; ++frame) {
      node.stack.push_back({"/home/someone/project/model_file.py",
                            layer % 500 + frame, "forward",
                            "x = self.attention(x, mask)", frame == 0});
    }
  }
  return patches;
}

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

void Report(const char* what, const std::function<size_t()>& work) {
  std::vector<double> times;
  size_t size = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    size = work();
    times.push_back(MillisecondsSince(begin));
  }
  std::sort(times.begin(), times.end());
  std::printf("%-46s %9.2f ms  (worst %9.2f)  %9zu\n", what,
              times[times.size() / 2], times.back(), size);
}

size_t Find(const GraphStore& store, const Annotations& watching,
            const model::SearchQuery& query) {
  return Search(store, watching, query)->nodes.size();
}

void ReportSearches(const GraphStore& store, const Annotations& watching) {
  const auto search = [&](const char* what, auto fill) {
    model::SearchQuery query;
    fill(query);
    Report(what, [&] { return Find(store, watching, query); });
  };
  search("search: a rare part of the name", [](auto& q) { q.q = "MUL_9999"; });
  search("search: no name has it", [](auto& q) { q.q = "nowhere"; });
  search("search: a common part", [](auto& q) { q.q = "attention"; });
  search("search: op type", [](auto& q) { q.op_type = "aten::nothing"; });
  search("search: category",
         [](auto& q) { q.category = model::Category::kGradient; });
  search("search: source line",
         [](auto& q) { q.source = "model_file.py:99999"; });
  search("search: code of a frame", [](auto& q) {
    q.q = "self";
    q.in = model::SearchIn::kCode;
  });
  search("search: watchpoint", [](auto& q) {
    q.watchpoint = 1;
    q.q = "nowhere";
  });
}

// One node with many consumers, all of which are reported again with another
// slot. The time per consumer must not depend on their number.
void ReportConsumers(uint32_t count) {
  GraphStore store;
  AgentIds ids;
  uint32_t slot = 0;
  const auto report = [&] {
    ++slot;
    for (uint32_t id = 1; id <= count; ++id) {
      GraphPatch patch;
      NodeRecord& node = patch.nodes.emplace_back();
      node.id = id;
      node.name = "forward/op_" + std::to_string(id);
      if (id > 1) node.inputs = {{1, slot, false}};
      if (!store.Apply(patch, ids).ok()) return size_t{0};
    }
    return store.node(0).consumers.size();
  };
  Report(("consumers reported again: " + std::to_string(count)).c_str(),
         report);
}

int Main(uint32_t count) {
  auto patches = MakePatches(count);
  malloc_trim(0);
  const auto before = static_cast<double>(mallinfo2().uordblks);
  GraphStore store;
  AgentIds ids;
  const auto begin = Clock::now();
  for (const GraphPatch& patch : patches) {
    if (auto applied = store.Apply(patch, ids); !applied.ok()) {
      std::printf("%s\n", std::string(applied.message()).c_str());
      return 1;
    }
  }
  const double build = MillisecondsSince(begin);
  const double bytes = static_cast<double>(mallinfo2().uordblks) - before;
  patches.clear();
  const Watching watching;
  const GraphView view(store, watching);
  std::printf("%u nodes, %zu scopes: taken in %.0f ms\n", count,
              store.scope_count(), build);
  std::printf("memory: %.0f bytes per node (the store reports %.0f)\n\n",
              bytes / count, static_cast<double>(store.bytes()) / count);
  const auto scope = [&](const char* name, size_t above) {
    return view.ScopeNamed("", name, above)->nodes.size();
  };
  Report("scope: the top", [&] { return scope("", 100); });
  Report("scope: layers, aggregated",
         [&] { return scope("forward/encoder/layers", 100); });
  Report("scope: a layer",
         [&] { return scope("forward/encoder/layers/0/self_attention", 100); });
  Report("scope: half of all nodes, aggregated",
         [&] { return scope("optimizer/AdamW", 100); });
  Report("scope: an aggregate of ranges",
         [&] { return scope("optimizer/AdamW/addcmul_[*]", 100); });
  Report("scope: a range of it",
         [&] { return scope("optimizer/AdamW/addcmul_[0:1000]", 100); });
  Report("scope: half of all nodes, each shown",
         [&] { return scope("optimizer/AdamW", GraphView::kNoAggregates); });
  ReportSearches(store, watching);
  Report("neighbours: depth 5", [&] {
    return FindNeighbours(store, count / 2, 0, 5, 500).nodes.size();
  });
  Report("node",
         [&] { return view.Detail(store.node(count / 2).name)->stack.size(); });
  ReportConsumers(1'000);
  ReportConsumers(std::min(count, 200'000u));
  std::string packed;
  std::string gzip;
  Report("index: packed", [&] {
    packed = PackGraph(store, *store.FindGraph(""));
    return packed.size();
  });
  Report("index: compressed", [&] {
    gzip = Gzip(packed);
    return gzip.size();
  });
  std::printf("\nindex: %.1f bytes kept per node\n",
              static_cast<double>(gzip.size()) / count);
  return 0;
}

}  // namespace
}  // namespace graphdbg::graph

int main(int argc, char** argv) {
  const unsigned long count =
      argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  if (count < 1'000 || count > 1'000'000) {
    std::printf("usage: graph_benchmark [NODES, from 1000 to 1000000]\n");
    return 2;
  }
  return graphdbg::graph::Main(static_cast<uint32_t>(count));
}
