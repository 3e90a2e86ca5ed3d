#include "server/mindspore/client_files.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/mindspore/private_file.h"

namespace graphdbg::mindspore {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

constexpr char kState[] = ".client";
constexpr char kGraphs[] = ".graphs";

}  // namespace

ClientFiles::ClientFiles(std::string directory, Log log, Limits limits)
    : directory_(std::move(directory)), log_(std::move(log)), limits_(limits) {
  if (directory_.empty()) return;
  // Graphs are confidential: they show the user's program.
  mkdir(directory_.c_str(), 0700);
  MeasureFiles();
}

std::string ClientFiles::PathOf(const std::string& incarnation,
                                const char* extension) const {
  return absl::StrCat(directory_, "/", incarnation, extension);
}

void ClientFiles::LogError(const std::string& path,
                           const absl::Status& error) const {
  if (!log_) return;
  log_(absl::StrCat(
      "error: cannot store ", path,
      "; a MindSpore job will not outlive the server: ", error.message()));
}

void ClientFiles::MeasureFiles() {
  absl::MutexLock lock(&mu_);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    std::error_code unknown;
    const uint64_t size = entry.file_size(unknown);
    if (unknown) continue;
    if (entry.path().extension() == kGraphs) {
      sizes_[entry.path().stem()].graphs = size;
    } else if (entry.path().extension() == kState) {
      sizes_[entry.path().stem()].state = size;
    }
  }
  for (auto it = sizes_.begin(); it != sizes_.end();) {
    if (it->second.state != 0) {
      total_bytes_ += it->second.total();
      ++it;
      continue;
    }
    // The client had not been identified, so it cannot be recognized.
    std::remove(PathOf(it->first, kGraphs).c_str());
    it = sizes_.erase(it);
  }
}

ClientFiles::Sizes ClientFiles::SizesOf(const std::string& incarnation) const {
  absl::MutexLock lock(&mu_);
  const auto it = sizes_.find(incarnation);
  return it == sizes_.end() ? Sizes() : it->second;
}

absl::Status ClientFiles::SetSizes(const std::string& incarnation,
                                   const Sizes& sizes) {
  absl::MutexLock lock(&mu_);
  Sizes& known = sizes_[incarnation];
  const uint64_t total = total_bytes_ - known.total() + sizes.total();
  const bool grows = sizes.total() > known.total();
  if (grows && sizes.total() > limits_.client_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("its files would have ", sizes.total(),
                     " bytes; the limit is ", limits_.client_bytes));
  }
  if (grows && total > limits_.total_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the files of all MindSpore jobs would have ", total,
        " bytes; the limit is ", limits_.total_bytes, " (--max-disk)"));
  }
  total_bytes_ = total;
  known = sizes;
  return absl::OkStatus();
}

uint64_t ClientFiles::bytes() const {
  absl::MutexLock lock(&mu_);
  return total_bytes_;
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
  const Sizes before = SizesOf(incarnation);
  Sizes after = before;
  // The length of a delimited message takes at most 10 bytes.
  after.graphs += graph.ByteSizeLong() + 10;
  absl::Status stored = SetSizes(incarnation, after);
  if (!stored.ok()) return LogError(path, stored);
  // A client sends its graph only once.
  stored = AppendMessage(path, graph);
  if (stored.ok()) return;
  LogError(path, stored);
  SetSizes(incarnation, before).IgnoreError();
}

bool ClientFiles::Save(const std::string& incarnation,
                       const std::string& saved_client) {
  if (!open()) return false;
  const std::string path = PathOf(incarnation, kState);
  const Sizes before = SizesOf(incarnation);
  Sizes after = before;
  after.state = saved_client.size();
  absl::Status stored = SetSizes(incarnation, after);
  if (stored.ok()) {
    // Later states follow quickly; if the machine fails, one of them is enough.
    stored = ReplaceFile(path, saved_client, /*durable=*/before.state == 0);
    if (stored.ok()) return true;
    SetSizes(incarnation, before).IgnoreError();
  }
  LogError(path, stored);
  return false;
}

void ClientFiles::Remove(const std::string& incarnation) {
  if (!open()) return;
  // The graphs last: graphs without state are ignored.
  std::remove(PathOf(incarnation, kState).c_str());
  std::remove(PathOf(incarnation, kGraphs).c_str());
  absl::MutexLock lock(&mu_);
  const auto it = sizes_.find(incarnation);
  if (it == sizes_.end()) return;
  total_bytes_ -= it->second.total();
  sizes_.erase(it);
}

}  // namespace graphdbg::mindspore
