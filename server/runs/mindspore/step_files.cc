#include "server/runs/mindspore/step_files.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/runs/mindspore/csv.h"
#include "server/runs/mindspore/overflow.h"

namespace graphdbg::dumps {
namespace {

constexpr size_t kMaxFiles = 1'000'000;
constexpr uint64_t kMaxCsvBytes = uint64_t{256} << 20;
constexpr char kMapping[] = "mapping.csv";
constexpr char kStatistics[] = "statistic.csv";
// Besides its name.
constexpr uint64_t kBytesPerFile = 120;

void AddDamage(const std::string& path, const absl::Status& status,
               Damage& damage) {
  if (!status.ok()) damage[path] = std::string(status.message());
}

// The names that were too long for the file system, by the name on disk. Each
// row has both, in an order that depends on the release.
std::map<std::string, std::string> ReadMapping(const recorded::Folder& folder,
                                               Damage& damage) {
  std::map<std::string, std::string> original;
  const auto text = folder.ReadAll(kMapping, kMaxCsvBytes);
  AddDamage(folder.PathOf(kMapping), text.status(), damage);
  if (!text.ok()) return original;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const CsvRow row = TakeCsvRow(rest);
    if (row.size() < 2) continue;
    const bool first_is_original = row[0].size() > row[1].size();
    original[row[first_is_original]] = row[!first_is_original];
  }
  return original;
}

void ReadRows(
    const GraphFolder& in, const recorded::Folder& folder,
    const std::function<void(uint32_t, std::vector<StatisticRow>)>& use_rows,
    Damage& damage) {
  const std::string path = folder.PathOf(kStatistics);
  const auto text = folder.ReadAll(kStatistics, kMaxCsvBytes);
  AddDamage(path, text.status(), damage);
  if (!text.ok()) return;
  uint64_t bad_rows = 0;
  auto rows = ParseStatisticCsv(*text, bad_rows);
  AddDamage(path, rows.status(), damage);
  if (!rows.ok()) return;
  if (bad_rows > 0) {
    damage[path] = absl::StrCat(bad_rows, " rows cannot be read");
  }
  use_rows(in.graph, *std::move(rows));
}

void ListFolder(
    const recorded::Folder& folder, const GraphFolder& in, uint32_t place,
    const std::function<void(const DumpFile&)>& use,
    const std::function<void(uint32_t, std::vector<StatisticRow>)>& use_rows,
    Damage& damage) {
  const auto names = folder.List(kMaxFiles);
  AddDamage(folder.path(), names.status(), damage);
  if (!names.ok()) return;
  const std::set<std::string_view> all(names->begin(), names->end());
  std::map<std::string, std::string> mapping;
  if (all.contains(kMapping)) mapping = ReadMapping(folder, damage);
  if (use_rows && all.contains(kStatistics)) {
    ReadRows(in, folder, use_rows, damage);
  }
  if (!use) return;
  for (const std::string& name : *names) {
    const auto mapped = mapping.find(name);
    const auto parsed =
        ParseDumpName(mapped == mapping.end() ? name : mapped->second);
    if (parsed) use({folder, place, in.graph, name, *parsed});
  }
}

// A later execution in the same iteration replaces an earlier one.
template <class Map, class Key>
void Keep(Map& map, const Key& key, KeptFile file) {
  const auto kept = map.find(key);
  if (kept == map.end()) {
    map.emplace(key, std::move(file));
  } else if (kept->second.time_us <= file.time_us) {
    kept->second = std::move(file);
  }
}

}  // namespace

void ListFiles(
    const recorded::Folder& dump, const std::vector<GraphFolder>& folders,
    const std::function<void(const DumpFile&)>& use,
    const std::function<void(uint32_t, std::vector<StatisticRow>)>& use_rows,
    Damage& damage) {
  for (uint32_t place = 0; place < folders.size(); ++place) {
    const GraphFolder& each = folders[place];
    const auto folder = OpenPath(dump, each.path);
    if (folder.ok()) {
      ListFolder(*folder, each, place, use, use_rows, damage);
    } else {
      damage[absl::StrCat(dump.path(), "/.../", each.path.back())] =
          std::string(folder.status().message());
    }
  }
}

StepFiles::StepFiles(recorded::Folder dump, std::vector<GraphFolder> folders,
                     const NodeNames& names, Damage& damage)
    : dump_(std::move(dump)), folders_(std::move(folders)) {
  ListFiles(
      dump_, folders_, [&](const DumpFile& file) { Add(file, names); },
      [&](uint32_t graph, std::vector<StatisticRow> rows) {
        for (StatisticRow& row : rows) {
          const uint32_t node = names.Find(row.name, graph);
          if (node == 0 || !row.name.is_output) continue;
          rows_.insert_or_assign(TensorKey{node, row.name.slot},
                                 std::move(row));
          bytes_ += sizeof(StatisticRow);
        }
      },
      damage);
}

void StepFiles::Add(const DumpFile& file, const NodeNames& names) {
  const DumpName& name = file.parsed;
  KeptFile kept{file.place, name.kind, name.time_us, file.name};
  bytes_ += kBytesPerFile + file.name.size();
  if (name.kind == DumpName::Kind::kOverflow) {
    overflows_.push_back(std::move(kept));
    return;
  }
  const uint32_t node = names.Find(name, file.graph);
  if (node == 0) return;
  if (name.task != 0 || name.stream != 0) {
    tasks_.try_emplace({name.task, name.stream}, node);
  }
  if (name.kind == DumpName::Kind::kMessage) {
    Keep(messages_, node, std::move(kept));
    return;
  }
  Keep(name.is_output ? outputs_ : inputs_, TensorKey{node, name.slot},
       std::move(kept));
}

absl::StatusOr<recorded::File> StepFiles::Open(const KeptFile& file) const {
  ASSIGN_OR_RETURN(const recorded::Folder folder,
                   OpenPath(dump_, folders_[file.place].path));
  return folder.OpenFile(file.name);
}

std::string StepFiles::ReadOverflow(const KeptFile& file) const {
  const auto folder = OpenPath(dump_, folders_[file.place].path);
  if (!folder.ok()) return "";
  return folder->ReadAll(file.name, kMaxOverflowBytes).value_or("");
}

std::string StepFiles::PathOf(const KeptFile& file) const {
  std::string path = dump_.path();
  for (const std::string& name : folders_[file.place].path) {
    absl::StrAppend(&path, "/", name);
  }
  return absl::StrCat(path, "/", file.name);
}

uint32_t StepFiles::NodeOfTask(uint64_t task, uint64_t stream) const {
  const auto found = tasks_.find({task, stream});
  return found == tasks_.end() ? 0 : found->second;
}

}  // namespace graphdbg::dumps
