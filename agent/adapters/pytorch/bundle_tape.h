#ifndef AGENT_ADAPTERS_PYTORCH_BUNDLE_TAPE_H_
#define AGENT_ADAPTERS_PYTORCH_BUNDLE_TAPE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/adapters/pytorch/tape.h"
#include "agent/adapters/pytorch/tensor_view.h"
#include "graphdbg/agent.h"

namespace graphdbg::pytorch {

// The reason if an op has overwritten its input.
constexpr char kInputOverwritten[] = "input_overwritten";

// A node as bundles describe it.
struct TapedNode {
  std::string name;
  // The line of the user's code; `file` is empty if it is unknown.
  std::string file;
  uint32_t line = 0;
};

// The part of a tape that repeats one execution: the op and some that led to
// it, in the form of agent/docs/bundles.md, and the memory they start from.
struct BundleTape {
  // Bytes of a storage.
  struct Leaf {
    StorageRef storage;
    // Its name in `text`.
    std::string name;
    int64_t begin = 0;
    int64_t bytes = 0;
    c10::Device device = c10::Device(c10::DeviceType::CPU);
  };

  // Empty unless the tape could be cut: why not, and a word for programs.
  std::string error;
  std::string reason;

  // Whether the ops begin where the step did, and otherwise, if the tape has a
  // mode, why they do not.
  bool whole_step = false;
  std::string why_not_step;

  std::string text;
  std::vector<Leaf> leaves;
  // States of random number generators.
  std::vector<Leaf> random;
  // The output of the execution if it still has the value; null otherwise.
  StorageRef expected;
  int64_t expected_offset = 0;
  c10::ScalarType expected_dtype = c10::ScalarType::Undefined;
  c10::Device expected_device = c10::Device(c10::DeviceType::CPU);
  std::vector<int64_t> expected_sizes;
  std::vector<int64_t> expected_strides;
};

// Cuts the tape to the last execution of `node`, whose output `slot` is of
// interest. If the tape has a mode, the cut has all ops of the step on which
// the output depends. Otherwise, or if some of them cannot be repeated, it has
// at most `upstream` ops that made the inputs.
//
// A value that an op reads is saved if it still is in memory and no later op
// has written to that memory. Otherwise the op that made it has to be repeated.
// Ops whose results differ each time, or depend on other ranks, are not.
BundleTape CutTape(const Tape::Content& content, uint32_t node, uint32_t slot,
                   uint32_t upstream,
                   const std::function<TapedNode(uint32_t)>& describe);

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_BUNDLE_TAPE_H_
