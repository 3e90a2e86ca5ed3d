// Tensors that a recording saves, as files.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/recording/file_recording.h"
#include "agent/recording/testing/recovered_rank.h"
#include "proto/runs/crc32c.h"
#include "proto/runs/layout.h"

namespace graphdbg::recording {
namespace {

using agent::RecordKey;
using agent::TensorToSave;
using nlohmann::json;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A file in the format of safetensors.
struct SavedFile {
  json header;
  std::string data;

  std::string Bytes(const std::string& key) const {
    const auto offsets =
        header.at(key).at("data_offsets").get<std::vector<uint64_t>>();
    return data.substr(offsets[0], offsets[1] - offsets[0]);
  }
};

class SavedTensorsTest : public testing::Test {
 protected:
  SavedTensorsTest() {
    std::filesystem::remove_all(runs_);
    options_.directory = runs_;
    options_.ring_bytes = kMiB;
    options_.run = "job";
    options_.program = "train.py";
    options_.limits_tensor_rate = false;
  }
  ~SavedTensorsTest() override { std::filesystem::remove_all(runs_); }

  void Open() {
    v1::Hello hello;
    hello.set_agent_version("1.2");
    agent::RecordingCallbacks callbacks;
    callbacks.log = [this](const std::string& line) { lines_.push_back(line); };
    callbacks.take_graph_update = [](v1::GraphUpdate*) { return false; };
    auto opened = OpenFileRecording(options_, hello, std::move(callbacks));
    ASSERT_TRUE(opened.ok()) << opened.status();
    recording_ = *std::move(opened);
  }

  template <class T>
  bool Save(RecordKey key, const std::vector<T>& values, DType dtype,
            std::vector<int64_t> shape,
            const std::vector<int64_t>& strides = {}) {
    key.dtype = static_cast<uint8_t>(dtype);
    const TensorView view = {dtype, values.data(), shape.size(), shape.data(),
                             strides.empty() ? nullptr : strides.data()};
    TensorToSave tensor;
    tensor.view = view;
    tensor.node_name = name_;
    return recording_->SaveTensor(key, tensor);
  }
  bool SaveFloats(const RecordKey& key, uint64_t count, float first = 0) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return Save(key, values, DType::kFloat32, {static_cast<int64_t>(count)});
  }
  // Waits for the writer, so that all buffers are free.
  bool SaveWhenThereIsRoom(const RecordKey& key, uint64_t count) {
    while (!recording_->HasRoomForTensor(count * sizeof(float))) {
    }
    return SaveFloats(key, count);
  }
  void EndStep(uint64_t step) {
    RecordKey key;
    key.step = step;
    recording_->AppendEnd(key, {});
  }
  void Close() {
    EXPECT_TRUE(recording_->Close(v1::Goodbye(), "exit"));
    recorded_ = Recover(rank_, "");
  }

  static RecordKey KeyOf(uint64_t step, uint32_t node = 1) {
    RecordKey key;
    key.step = step;
    key.node = node;
    key.mode = runs::Mode::kTrain;
    key.pass = 1;
    return key;
  }

  SavedFile Read(const std::string& name) {
    const std::string file = ReadFile(rank_ + "/tensors/" + name);
    uint64_t size = 0;
    EXPECT_GE(file.size(), sizeof(size)) << name;
    std::memcpy(&size, file.data(), sizeof(size));
    EXPECT_EQ((sizeof(size) + size) % 4096, 0u);
    return {json::parse(file.substr(sizeof(size), size)),
            file.substr(sizeof(size) + size)};
  }
  std::vector<runs::Record> SavedRecords() const {
    std::vector<runs::Record> saved;
    for (const auto& [position, record] : recorded_.records) {
      if (record.known_kind() == runs::Kind::kTensor) saved.push_back(record);
    }
    return saved;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(rank_ + "/tensors")) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::string runs_ = testing::TempDir() + "/saved";
  const std::string rank_ = runs_ + "/job/rank-00000";
  std::string name_ = "forward/fc \"1\"";
  agent::RecordingOptions options_;
  std::vector<std::string> lines_;
  std::unique_ptr<agent::Recording> recording_;
  RecoveredRank recorded_;
};

template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

TEST_F(SavedTensorsTest, ThatAreStridedAreInRowMajorOrder) {
  Open();
  const std::vector<int32_t> values = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(Save(KeyOf(7), values, DType::kInt32, {3, 2}, {1, 3}));
  EndStep(7);
  Close();
  const SavedFile file = Read("00000007.safetensors");
  const std::string key = name_ + ":0";
  EXPECT_EQ(file.Bytes(key), BytesOf(std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(file.header[key]["shape"], json({3, 2}));
  EXPECT_EQ(file.header[key]["dtype"], "I32");
  EXPECT_EQ(file.header["__metadata__"], json({{"run", "job"},
                                               {"rank", "0"},
                                               {"step", "7"},
                                               {"mode", "train"},
                                               {"pass", "1"},
                                               {"graphdbg.version", "1.2"}}));
  const auto saved = SavedRecords();
  ASSERT_EQ(saved.size(), 1u);
  EXPECT_EQ(saved[0].tensor.bytes, 24u);
  EXPECT_EQ(saved[0].tensor.file, 1u);
  EXPECT_EQ(saved[0].tensor.data_crc,
            runs::ExtendCrc32c(0, file.data.data(), 24));
}

TEST_F(SavedTensorsTest, OfAllSizesFollowEachOther) {
  Open();
  // Within a buffer, over its end, over several, and none at all.
  const std::vector<uint64_t> counts = {1000, 2 * kMiB, 0, 5 * kMiB, 3};
  for (uint32_t i = 0; i < counts.size(); ++i) {
    RecordKey key = KeyOf(1);
    key.slot = i;
    while (!recording_->HasRoomForTensor(counts[i] * sizeof(float))) {
    }
    EXPECT_TRUE(SaveFloats(key, counts[i], static_cast<float>(i)));
  }
  EndStep(1);
  Close();
  const SavedFile file = Read("00000001.safetensors");
  uint64_t end = 0;
  for (uint32_t i = 0; i < counts.size(); ++i) {
    std::vector<float> values(counts[i]);
    std::iota(values.begin(), values.end(), static_cast<float>(i));
    const std::string key = absl::StrCat(name_, ":", i);
    EXPECT_TRUE(file.Bytes(key) == BytesOf(values)) << i;
    EXPECT_EQ(file.header[key]["data_offsets"][0], end);
    end += counts[i] * sizeof(float);
  }
  EXPECT_EQ(file.data.size(), end);
  EXPECT_EQ(recording_->tensors_dropped(), 0u);
  EXPECT_EQ(recording_->tensor_bytes(), end);
}

TEST_F(SavedTensorsTest, ThatAreLargerThanAllBuffersAreSaved) {
  Open();
  constexpr uint64_t kCount = 20 * kMiB;
  EXPECT_TRUE(SaveFloats(KeyOf(1, 1), kCount));
  EXPECT_TRUE(SaveFloats(KeyOf(1, 2), kCount, 7));
  EndStep(1);
  Close();
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), 7.0f);
  const std::vector<runs::Record> saved = SavedRecords();
  ASSERT_EQ(saved.size(), 2u);
  EXPECT_TRUE(
      Read("00000001.safetensors").data.substr(saved[1].tensor.offset) ==
      BytesOf(values));
}

TEST_F(SavedTensorsTest, ThatAreComplex128ArePairs) {
  Open();
  const std::vector<std::complex<double>> values = {{1, 2}, {3, 4}};
  EXPECT_TRUE(Save(KeyOf(1), values, DType::kComplex128, {2}));
  EndStep(1);
  Close();
  const SavedFile file = Read("00000001.safetensors");
  const std::string key = name_ + ":0";
  EXPECT_EQ(file.header[key]["dtype"], "F64");
  EXPECT_EQ(file.header[key]["shape"], json({2, 2}));
  EXPECT_EQ(file.header["__metadata__"]["complex128." + key], "1");
  EXPECT_EQ(file.Bytes(key), BytesOf(values));
}

TEST_F(SavedTensorsTest, HaveKeysOfTheirOwn) {
  Open();
  RecordKey key = KeyOf(1);
  SaveFloats(key, 1);
  SaveFloats(key, 1);
  key.pass = 2;
  SaveFloats(key, 1);
  key.mode = runs::Mode::kEval;
  key.pass = 1;
  SaveFloats(key, 1);
  EndStep(1);
  Close();
  const json train = Read("00000001.safetensors").header;
  EXPECT_EQ(train.size(), 4u);
  for (const char* suffix : {":0", ":0~2", ":0#2"}) {
    EXPECT_TRUE(train.contains(name_ + suffix)) << suffix;
  }
  const json eval = Read("00000001-2.safetensors").header;
  EXPECT_TRUE(eval.contains(name_ + ":0"));
  EXPECT_EQ(eval["__metadata__"]["mode"], "eval");
}

TEST_F(SavedTensorsTest, BeyondTheLimitOfAFileAreInTheNext) {
  options_.ring_bytes = 4 * kMiB;
  Open();
  constexpr uint32_t kTensors = 5'000;
  for (const uint64_t step : {1, 2}) {
    for (uint32_t slot = 0; slot < kTensors; ++slot) {
      RecordKey key = KeyOf(step);
      key.slot = slot;
      EXPECT_TRUE(SaveWhenThereIsRoom(key, 1));
    }
    EndStep(step);
  }
  Close();
  // The room of a header is limited, too, until it is known what steps need.
  size_t tensors = 0;
  for (const std::string& name : Files()) {
    const auto parsed = runs::ParseTensorFile(name);
    ASSERT_TRUE(parsed.has_value() && !parsed->part) << name;
    if (parsed->step == 2) tensors += Read(name).header.size() - 1;
    if (name == "00000002.safetensors") {
      EXPECT_EQ(Read(name).header.size(), 4'097u);
    }
  }
  EXPECT_EQ(tensors, kTensors);
  EXPECT_EQ(SavedRecords().size(), 2 * kTensors);
}

TEST_F(SavedTensorsTest, BeyondTheLimitOfBytesAreDropped) {
  options_.max_tensor_bytes = 10'000;
  Open();
  EXPECT_TRUE(SaveFloats(KeyOf(1), 2'000));
  EXPECT_FALSE(SaveFloats(KeyOf(1), 600));
  EXPECT_TRUE(recording_->AppendStatistics(KeyOf(1), Statistics(), 1));
  // A smaller one still fits.
  EXPECT_TRUE(SaveFloats(KeyOf(1), 500));
  EndStep(1);
  Close();
  EXPECT_EQ(recording_->tensors_dropped(), 1u);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(lines_[0], "record.max_bytes"));
  const json description = json::parse(ReadFile(rank_ + "/rank.json"));
  EXPECT_EQ(description["ended"]["tensors_dropped"], 1);
}

TEST_F(SavedTensorsTest, BeyondTheRateAreDropped) {
  options_.tensor_rate = 1;
  Open();
  // Only the buffers limit how much is saved at once.
  for (int i = 0; i < 9; ++i)
    EXPECT_TRUE(SaveWhenThereIsRoom(KeyOf(1), 2 * kMiB));
  EXPECT_FALSE(SaveFloats(KeyOf(1), 1));
  EndStep(1);
  Close();
  EXPECT_EQ(SavedRecords().size(), 9u);
}

TEST_F(SavedTensorsTest, ThatMatterLessLeaveRoom) {
  options_.tensor_rate = 1;
  Open();
  // A little more than an eighth of what may be saved at once.
  const std::vector<int64_t> shape = {static_cast<int64_t>(2 * kMiB + 1)};
  const std::vector<float> values(2 * kMiB + 1);
  TensorToSave tensor;
  tensor.view = {DType::kFloat32, values.data(), 1, shape.data(), nullptr};
  tensor.node_name = name_;
  tensor.share = 0.5;
  RecordKey key = KeyOf(1);
  key.dtype = static_cast<uint8_t>(DType::kFloat32);
  int saved = 0;
  do {
    while (!recording_->HasRoomForTensor(40 * kMiB)) {
    }
  } while (recording_->SaveTensor(key, tensor) && ++saved > 0);
  EXPECT_EQ(saved, 4);
  tensor.share = 1;
  EXPECT_TRUE(recording_->SaveTensor(key, tensor));
  EndStep(1);
  Close();
}

TEST_F(SavedTensorsTest, ThatCannotBeWrittenDoNotEndTheRecording) {
  Open();
  std::ofstream(rank_ + "/tensors") << "no directory";
  EXPECT_TRUE(SaveFloats(KeyOf(1), 10));
  EndStep(1);
  EXPECT_TRUE(recording_->AppendStatistics(KeyOf(2), Statistics(), 1));
  Close();
  EXPECT_EQ(recording_->tensors_dropped(), 1u);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(lines_[0], "no more values are recorded"));
  EXPECT_EQ(recorded_.records.size(), 3u);
}

TEST_F(SavedTensorsTest, WithTooManyDimensionsAreDropped) {
  Open();
  EXPECT_FALSE(Save(KeyOf(1), std::vector<float>{1}, DType::kFloat32,
                    std::vector<int64_t>(12, 1)));
  Close();
  EXPECT_EQ(recording_->tensors_dropped(), 1u);
}

}  // namespace
}  // namespace graphdbg::recording
