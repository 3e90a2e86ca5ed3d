// Where ranks, graphs and iterations are in the directory of a dump.
#ifndef SERVER_RUNS_MINDSPORE_DUMP_LAYOUT_H_
#define SERVER_RUNS_MINDSPORE_DUMP_LAYOUT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runs/files.h"

namespace graphdbg::dumps {

// Names of folders, from the dump's directory on.
using Path = std::vector<std::string>;

// The files of one execution of a graph.
struct GraphFolder {
  uint32_t graph = 0;
  Path path;
};

struct RankLayout {
  Path path;
  // The name of the network that the user configured.
  std::string net;
  // By iteration, which MindSpore counts from 0.
  std::map<uint64_t, std::vector<GraphFolder>> iterations;
  // Values that are the same in all iterations.
  std::vector<GraphFolder> constants;
};

struct Layout {
  // By number.
  std::map<uint32_t, RankLayout> ranks;
  // Directories that cannot be read, with the reason, by path.
  std::map<std::string, std::string> damage;
};

// Reads names of directories only:
//   rank_0/NET/GRAPH/ITERATION       1.2 and later
//   NET/0/iteration_ITERATION        1.1, synchronous; or NET/device_0/...
//   0/NET_graph_GRAPH/GRAPH/ITERATION   1.0 and 1.1, asynchronous
// `dump` may also be the directory of one rank of 1.2 or later. Links are
// refused.
Layout ScanLayout(const recorded::Folder& dump);

// Whether the directory is a dump. Looks at few entries.
bool IsDump(const recorded::Folder& folder);

absl::StatusOr<recorded::Folder> OpenPath(const recorded::Folder& dump,
                                          const Path& path);

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_DUMP_LAYOUT_H_
