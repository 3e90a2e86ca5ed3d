// A recording that nobody keeps.
#ifndef AGENT_CORE_NO_RECORDING_H_
#define AGENT_CORE_NO_RECORDING_H_

#include <string>

#include "agent/core/recording.h"

namespace graphdbg::agent {

// For a recorder whose measurements go only to the overview.
class NoRecording final : public Recording {
 public:
  bool AppendStatistics(const RecordKey&, const Statistics&, double) override {
    return true;
  }
  bool AppendChange(const RecordKey&, const RecordedChange&) override {
    return true;
  }
  bool AppendUnits(const RecordKey&, const RecordedUnits&) override {
    return true;
  }
  bool AppendBegin(const RecordKey&, const RecordedMark&) override {
    return true;
  }
  bool AppendEnd(const RecordKey&, const RecordedMark&) override {
    return true;
  }
  bool SaveTensor(const RecordKey&, const TensorToSave&) override {
    return true;
  }
  bool AppendHit(const RecordKey&, const v1::Hit&) override { return true; }
  bool AppendOpTimes(const v1::OverviewStep&) override { return true; }
  bool AppendUserChange(const v1::UserChange&) override { return true; }
  void BeginOp(const StartedOp&) override {}
  void EndOp() override {}
  bool HasRoom() const override { return true; }
  bool HasRoomForTensor(uint64_t) override { return true; }
  uint64_t records_dropped() const override { return 0; }
  uint64_t tensors_dropped() const override { return 0; }
  uint64_t tensor_bytes() const override { return 0; }
  uint64_t bytes() const override { return 0; }
  void AddCollectionLine(absl::string_view) override {}
  void GraphChanged() override {}
  void WriteDescriptions() override {}
  void KeepThrough(uint64_t) override {}
  bool Close(const v1::Goodbye&, absl::string_view) override { return true; }
  void GoInert() override {}
  const std::string& directory() const override { return directory_; }

 private:
  const std::string directory_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NO_RECORDING_H_
