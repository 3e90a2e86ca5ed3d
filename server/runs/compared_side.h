// The records of one of two ranks that are compared, a step at a time.
#ifndef SERVER_RUNS_COMPARED_SIDE_H_
#define SERVER_RUNS_COMPARED_SIDE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/model/divergence.h"
#include "server/runs/compared_rank.h"
#include "server/runs/node_alignment.h"
#include "server/runs/step_records.h"

namespace graphdbg::recorded {

// A name in the other run: with the longest of the names or scopes that it
// begins with replaced.
std::string Renamed(const std::string& name,
                    const std::vector<model::Renaming>& renamings);

// "#ID" if the node is not known.
std::string NameOf(const ComparedRank& rank, uint32_t node);

// The names by which nodes of two ranks are the same: those in the other run.
// Refers to what the constructor receives.
class SharedNames {
 public:
  SharedNames(const ComparedRank& here, const ComparedRank& there,
              const std::vector<model::Renaming>& renamings);

  std::string OfHere(uint32_t node) const;
  // Of a node here, by its name.
  std::string Translate(const std::string& name) const {
    return Renamed(name, renamings_);
  }
  std::string OfThere(uint32_t node) const;
  // The nodes here and there that are the same.
  std::vector<std::pair<uint32_t, uint32_t>> Pairs() const;
  const NodeAlignment& alignment() const { return alignment_; }

 private:
  const ComparedRank& here_;
  const ComparedRank& there_;
  const std::vector<model::Renaming>& renamings_;
  const NodeAlignment alignment_;
};

// Numbers of nodes by their shared name.
using NodeNumbers = absl::flat_hash_map<std::string, uint32_t>;

// Node and slot in one number.
inline uint64_t TensorOf(uint32_t node, uint32_t slot) {
  return uint64_t{node} << 16 | slot;
}

// The properties by which executions of both sides are matched.
struct Execution {
  // With the node's number, not its id.
  uint64_t tensor = 0;
  uint16_t iteration = 0;
  uint16_t pass = 0;
  uint8_t mode = 0;
  // How many of the same tensor, iteration, pass and mode precede it.
  uint32_t occurrence = 0;

  bool operator==(const Execution&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const Execution& e) {
    return H::combine(std::move(h), e.tensor, e.iteration, e.pass, e.mode,
                      e.occurrence);
  }
};

// Not thread safe. Refers to what the constructor receives.
class ComparedSide {
 public:
  // `name_of` returns the shared name of a node.
  ComparedSide(const ComparedRank& rank,
               std::function<std::string(uint32_t)> name_of,
               NodeNumbers& numbers)
      : rank_(rank), name_of_(std::move(name_of)), numbers_(numbers) {}

  // Reads the records of a step in order of execution.
  void Read(uint64_t step, std::span<const StepEntry> entries,
            model::DivergenceMethod method);
  const std::vector<runs::Record>& records() const { return records_; }
  // Without their occurrence until NumberOccurrences() is called.
  const std::vector<Execution>& executions() const { return executions_; }
  void NumberOccurrences();

  // Adds the tensors of this step to those that were compared: the numbers of
  // tensors by this side's own id of the node, since several nodes may have the
  // same name there.
  void AddSeen();
  const absl::flat_hash_map<uint64_t, uint64_t>& seen() const { return seen_; }

  std::string NodeName(uint32_t node) const;
  // The name of a tensor by this side's own id.
  std::string TensorName(uint64_t own) const;
  // Null if the node is not known.
  const ComparedNode* FindNode(uint32_t node) const;

 private:
  uint32_t NumberOf(uint32_t node);

  const ComparedRank& rank_;
  const std::function<std::string(uint32_t)> name_of_;
  NodeNumbers& numbers_;
  // By id.
  absl::flat_hash_map<uint32_t, uint32_t> number_of_;
  std::vector<runs::Record> records_;
  std::vector<Execution> executions_;
  absl::flat_hash_map<uint64_t, uint64_t> seen_;
};

// Records of both sides that are of the same execution.
struct Matched {
  const runs::Record* here = nullptr;
  const runs::Record* there = nullptr;
  // The place of the record here.
  size_t place = 0;
};

// In order of execution here. Valid until a side reads another step.
std::vector<Matched> Match(ComparedSide& here, ComparedSide& there);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_COMPARED_SIDE_H_
