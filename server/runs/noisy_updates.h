// Biases that an adaptive optimizer moves by rounding errors, and what is
// computed from them. agent/python/graphdbg/runs/noisy_updates.py does the
// same.
//
// Adam divides a gradient by its own size. Where an element of a gradient is
// zero in theory, as for the key's part of a joint bias in attention, the
// optimizer makes whole steps of its rounding errors, which differ from run to
// run. The statistics of a tensor do not show which of its elements these are.
// The elements of a bias with an adaptive optimizer may therefore differ by
// twice what they have moved. What ops compute from such a bias may differ by
// kSlack times the relative difference of the bias: a softmax, or a
// normalization, cancels it out.
#ifndef SERVER_RUNS_NOISY_UPDATES_H_
#define SERVER_RUNS_NOISY_UPDATES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/runs/record.h"
#include "server/runs/compared_rank.h"
#include "server/runs/measures_apart.h"
#include "server/runs/updates.h"

namespace graphdbg::recorded {

// Not thread safe.
class NoisyUpdates {
 public:
  // The nodes are those here.
  NoisyUpdates(const ComparedNodes& nodes, const Updates& updates);

  // The next step begins.
  void Begin();
  // Widens what two records of statistics allow. Once for each, in order of
  // execution.
  void Widen(const runs::Record& here, const runs::Record& there,
             Allowance& allowance);

 private:
  using Readers = absl::flat_hash_map<uint32_t, std::vector<uint32_t>>;
  // The least, the greatest and the greatest absolute element.
  using Extremes = std::array<double, 3>;
  // A tensor so far.
  struct Moved {
    // Of its last record.
    Extremes here;
    Extremes there;
    // How far its elements have moved, on the side where that is less.
    double sum = 0;
  };
  // The largest relative difference of a bias.
  struct Spread {
    double before_step = 0;
    double so_far = 0;
  };

  void Add(uint32_t bias, const ComparedNodes& nodes, const Readers& readers);
  double Movement(uint64_t tensor, const runs::Record& here,
                  const runs::Record& there);
  static Extremes ExtremesOf(const runs::Record& record);

  // By tensor: the bias that it is, or that an op of the optimizer has written.
  absl::flat_hash_map<uint64_t, uint32_t> biases_;
  // By node: the biases that it is computed from.
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> behind_;
  absl::flat_hash_map<uint64_t, Moved> moved_;
  // By bias.
  absl::flat_hash_map<uint32_t, Spread> spreads_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_NOISY_UPDATES_H_
