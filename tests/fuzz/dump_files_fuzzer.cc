// A whole dump of MindSpore, whose files are the input. Whatever they contain,
// every question about the run gets an answer or an error with a message.
//
// An input is a script: for each file the number of its folder, its name unless
// the folder has only one, and its bytes.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/runs/files.h"
#include "server/runs/mindspore/dump_run.h"
#include "tests/fuzz/script.h"

namespace graphdbg::dumps {
namespace {

// Those that do not end with a slash are files.
constexpr std::array<const char*, 9> kPlaces = {
    "rank_0/Net/0/0/",
    "rank_0/Net/0/1/",
    "rank_0/Net/0/constants/",
    "rank_0/graphs/ms_output_trace_code_graph_0.pb",
    "rank_0/execution_order/ms_execution_order_graph_0.csv",
    "rank_0/execution_order/ms_global_execution_order_graph_0.csv",
    "rank_0/.dump_metadata/config.json",
    "Old/device_1/iteration_0/",
    "2/Old_graph_0/0/3/",
};
constexpr size_t kMaxFiles = 8;
constexpr size_t kMaxNameBytes = 200;

template <class T>
void NeedsMessage(const absl::StatusOr<T>& result) {
  if (!result.ok() && result.status().message().empty()) std::abort();
}

void AskAbout(DumpRun& run, const std::string& node, uint32_t rank) {
  NeedsMessage(run.Tensors(node, rank, 1));
  model::RunHistoryQuery history;
  history.node = node;
  history.rank = rank;
  history.points = 3;
  NeedsMessage(run.History(history));
  model::TensorQuery tensor;
  tensor.node = node;
  tensor.rank = rank;
  tensor.max_bytes = 1 << 20;
  tensor.want_statistics = true;
  NeedsMessage(run.Tensor(tensor, std::nullopt));
}

void Ask(const std::string& path) {
  const auto folder = recorded::Folder::Open(path);
  if (!folder.ok()) std::abort();
  DumpRun run("dump", *folder, nullptr);
  run.Refresh();
  run.hits();
  const model::Run description = run.Describe();
  for (const auto& [file, reason] : description.damage) {
    if (reason.empty()) std::abort();
  }
  NeedsMessage(run.Steps({}));
  for (const model::Rank& rank : description.job.ranks) {
    model::StatisticsQuery query;
    query.rank = rank.rank;
    NeedsMessage(run.Statistics(query));
    const auto nodes = std::min<size_t>(run.graph().node_count(), 3);
    for (graph::NodeIndex i = 0; i < nodes; ++i) {
      AskAbout(run, run.graph().node(i).name, rank.rank);
    }
  }
}

// Names are those of files, not paths.
std::string FileName(std::string name) {
  name.resize(std::min(name.size(), kMaxNameBytes));
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '\0', '_');
  return name.empty() || name == "." || name == ".." ? "x" : name;
}

// A folder of this process, which each input uses.
const std::string& DumpFolder() {
  static const auto* const kPath = [] {
    const char* const base = std::getenv("TEST_TMPDIR");
    std::string path = (base == nullptr ? "/tmp" : std::string(base)) +
                       "/dump_files_fuzzer." + std::to_string(getpid());
    return new std::string(std::move(path));
  }();
  return *kPath;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& dump = DumpFolder();
  std::filesystem::remove_all(dump);
  std::filesystem::create_directories(dump);
  graphdbg::fuzz::Script script(data, size);
  for (size_t i = 0; i < kMaxFiles && !script.done(); ++i) {
    std::string path = dump + "/" + kPlaces[script.Byte() % kPlaces.size()];
    if (path.ends_with('/')) path += FileName(script.Text());
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << script.Text();
  }
  Ask(dump);
  std::filesystem::remove_all(dump);
  return 0;
}

}  // namespace graphdbg::dumps
