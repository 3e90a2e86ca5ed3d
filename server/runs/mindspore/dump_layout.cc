#include "server/runs/mindspore/dump_layout.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/runs/mindspore/dump_name.h"

namespace graphdbg::dumps {
namespace {

using recorded::Folder;

constexpr size_t kMaxRanks = 65'536;
constexpr size_t kMaxNets = 1'000;
constexpr size_t kMaxGraphs = 100'000;
constexpr size_t kMaxIterations = 1'000'000;
// Steps are numbers in JSON.
constexpr uint64_t kMaxIteration = uint64_t{1} << 50;
// A directory with more entries is no dump of 1.1.
constexpr size_t kMaxLook = 256;
constexpr char kMetadata[] = ".dump_metadata";

std::optional<uint64_t> NumberBehind(std::string_view prefix,
                                     std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return ParseNumber(name.substr(prefix.size()));
}

std::optional<uint32_t> Checked(std::optional<uint64_t> rank) {
  if (!rank || *rank >= kMaxRanks) return std::nullopt;
  return static_cast<uint32_t>(*rank);
}

std::optional<uint32_t> RankOf(std::string_view name) {
  return Checked(NumberBehind("rank_", name));
}

// Releases that numbered devices.
std::optional<uint32_t> DeviceOf(std::string_view name) {
  const auto device = Checked(ParseNumber(name));
  return device ? device : Checked(NumberBehind("device_", name));
}

bool IsNet(const std::string& name) {
  return !name.starts_with('.') && name != "graphs" &&
         name != "execution_order" && name != "debug_files";
}

Path Below(const Path& path, const std::string& name) {
  Path below = path;
  below.push_back(name);
  return below;
}

std::string LastName(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "";
  const size_t slash = path.rfind('/', end);
  return path.substr(slash + 1, end - slash);
}

class Scanner {
 public:
  Scanner(const Folder& dump, Layout& layout) : dump_(dump), layout_(layout) {}

  void Run() {
    const auto names = List(dump_, kMaxRanks);
    if (std::find(names.begin(), names.end(), kMetadata) != names.end()) {
      const std::string name = LastName(dump_.path());
      ScanRank(RankOf(name).value_or(0), {});
      return;
    }
    for (const std::string& name : names) {
      if (const auto rank = RankOf(name)) {
        ScanRank(*rank, {name});
      } else if (const auto device = DeviceOf(name)) {
        ScanRank(*device, {name});
      } else if (IsNet(name)) {
        ScanOldNet(name);
      }
    }
    // A directory of releases that have no ranks counts if it has iterations.
    std::erase_if(layout_.ranks, [](const auto& rank) {
      return rank.second.iterations.empty() &&
             !RankOf(rank.second.path.front());
    });
  }

 private:
  std::vector<std::string> List(const Folder& folder, size_t most) {
    auto names = folder.List(most);
    if (names.ok()) return *std::move(names);
    layout_.damage[folder.path()] = std::string(names.status().message());
    return {};
  }
  // Files, and directories that are no part of a dump, are passed over.
  std::optional<Folder> Open(const Folder& in, const std::string& name) {
    auto folder = in.OpenFolder(name);
    if (folder.ok()) return *std::move(folder);
    if (!absl::IsDataLoss(folder.status())) {
      layout_.damage[in.PathOf(name)] = std::string(folder.status().message());
    }
    return std::nullopt;
  }

  void ScanRank(uint32_t rank, const Path& path) {
    const auto folder = OpenPath(dump_, path);
    if (!folder.ok()) return;
    RankLayout& to = layout_.ranks[rank];
    to.path = path;
    for (const std::string& net : List(*folder, kMaxNets)) {
      if (!IsNet(net)) continue;
      const auto in = Open(*folder, net);
      if (in) ScanNet(Below(path, net), *in, to);
    }
  }

  void ScanNet(const Path& path, const Folder& net, RankLayout& to) {
    for (const std::string& name : List(net, kMaxGraphs)) {
      const auto graph = ParseNumber(name);
      if (!graph || *graph > UINT32_MAX) continue;
      const auto folder = Open(net, name);
      if (folder) {
        ScanGraph(static_cast<uint32_t>(*graph), Below(path, name), *folder,
                  to);
        to.net = path.back();
      }
    }
  }

  void ScanGraph(uint32_t graph, const Path& path, const Folder& folder,
                 RankLayout& to) {
    for (const std::string& name : List(folder, kMaxIterations)) {
      if (name == "constants") {
        to.constants.push_back({graph, Below(path, name)});
      } else if (const auto iteration = ParseNumber(name)) {
        Add(*iteration, {graph, Below(path, name)}, to);
      }
    }
  }

  // NET/DEVICE/iteration_N.
  void ScanOldNet(const std::string& net) {
    const auto folder = Open(dump_, net);
    if (!folder) return;
    const auto names = folder->List(kMaxLook);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      const auto device = DeviceOf(name);
      if (!device) continue;
      const auto in = Open(*folder, name);
      if (!in) continue;
      const Path path = {net, name};
      for (const std::string& each : List(*in, kMaxIterations)) {
        const auto iteration = NumberBehind("iteration_", each);
        if (!iteration) continue;
        RankLayout& to = layout_.ranks[*device];
        to.path = path;
        to.net = net;
        Add(*iteration, {0, Below(path, each)}, to);
      }
    }
  }

  void Add(uint64_t iteration, GraphFolder folder, RankLayout& to) {
    if (iteration > kMaxIteration) {
      layout_.damage[absl::StrCat(dump_.path(), "/.../", folder.path.back())] =
          "the number of the iteration is too large";
      return;
    }
    to.iterations[iteration].push_back(std::move(folder));
  }

  const Folder& dump_;
  Layout& layout_;
};

}  // namespace

Layout ScanLayout(const Folder& dump) {
  Layout layout;
  Scanner(dump, layout).Run();
  return layout;
}

bool IsDump(const Folder& folder) {
  const auto names = folder.List(kMaxRanks);
  if (!names.ok()) return false;
  for (const std::string& name : *names) {
    if (name == kMetadata || RankOf(name)) return true;
  }
  return names->size() <= kMaxLook && !ScanLayout(folder).ranks.empty();
}

absl::StatusOr<Folder> OpenPath(const Folder& dump, const Path& path) {
  Folder folder = dump;
  for (const std::string& name : path) {
    ASSIGN_OR_RETURN(folder, folder.OpenFolder(name));
  }
  return folder;
}

}  // namespace graphdbg::dumps
