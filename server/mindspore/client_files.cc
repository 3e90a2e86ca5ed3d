#include "server/mindspore/client_files.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::mindspore {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

constexpr char kState[] = ".client";
constexpr char kGraphs[] = ".graphs";
constexpr char kUnfinished[] = ".new";

}  // namespace

ClientFiles::ClientFiles(std::string directory, Log log)
    : directory_(std::move(directory)), log_(std::move(log)) {
  // Graphs are confidential: they show the user's program.
  if (!directory_.empty()) mkdir(directory_.c_str(), 0700);
}

std::string ClientFiles::PathOf(const std::string& incarnation,
                                const char* extension) const {
  return absl::StrCat(directory_, "/", incarnation, extension);
}

void ClientFiles::LogWriteError(const std::string& path) const {
  if (!log_) return;
  log_(absl::StrCat("error: cannot write ", path,
                    "; a MindSpore job will not outlive the server"));
}

std::vector<SavedClient> ClientFiles::Load() const {
  std::vector<SavedClient> clients;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    if (entry.path().extension() != kState) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    SavedClient client;
    const bool good = client.ParseFromIstream(&file) &&
                      client.incarnation() == entry.path().stem();
    if (good) {
      clients.push_back(std::move(client));
    } else if (log_) {
      log_(absl::StrCat("error: cannot read ", entry.path().string(),
                        "; a MindSpore job cannot be restored"));
    }
  }
  return clients;
}

std::vector<debugger::GraphProto> ClientFiles::Graphs(
    const std::string& incarnation) const {
  std::vector<debugger::GraphProto> graphs;
  std::ifstream file(PathOf(incarnation, kGraphs), std::ios::binary);
  pb::io::IstreamInputStream stream(&file);
  while (true) {
    debugger::GraphProto graph;
    // The last graph is incomplete if the server was killed while writing it.
    if (!pb::util::ParseDelimitedFromZeroCopyStream(&graph, &stream, nullptr)) {
      return graphs;
    }
    graphs.push_back(std::move(graph));
  }
}

void ClientFiles::AddGraph(const std::string& incarnation,
                           const debugger::GraphProto& graph) {
  if (!open()) return;
  const std::string path = PathOf(incarnation, kGraphs);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  const bool written =
      pb::util::SerializeDelimitedToOstream(graph, &file) && file.flush();
  if (!written) LogWriteError(path);
}

bool ClientFiles::Save(const std::string& incarnation,
                       const std::string& saved_client) {
  if (!open()) return false;
  const std::string path = PathOf(incarnation, kState);
  const std::string unfinished = path + kUnfinished;
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << saved_client;
  file.close();
  if (file && std::rename(unfinished.c_str(), path.c_str()) == 0) return true;
  LogWriteError(path);
  return false;
}

void ClientFiles::Remove(const std::string& incarnation) {
  if (!open()) return;
  // The graphs last: graphs without state are ignored.
  std::remove(PathOf(incarnation, kState).c_str());
  std::remove(PathOf(incarnation, kGraphs).c_str());
}

}  // namespace graphdbg::mindspore
