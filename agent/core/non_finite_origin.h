// Finds where NaN and infinities came from.
#ifndef AGENT_CORE_NON_FINITE_ORIGIN_H_
#define AGENT_CORE_NON_FINITE_ORIGIN_H_

#include <cstdint>
#include <optional>

#include "agent/core/devices.h"
#include "agent/core/kept_tensors.h"
#include "agent/core/node_table.h"
#include "proto/graphdbg/v1/watch.pb.h"

namespace graphdbg::agent {

// Kinds of non-finite values.
struct NonFinite {
  bool nan = false;
  bool pos_inf = false;
  bool neg_inf = false;

  bool any() const { return nan || pos_inf || neg_inf; }
  void Add(const NonFinite& other) {
    nan |= other.nan;
    pos_inf |= other.pos_inf;
    neg_inf |= other.neg_inf;
  }
};

// Finds the first of the step's kept outputs that contains NaN, if NaN is
// wanted, or else one of the wanted infinities: masks usually contain -inf, so
// the sign matters. Tensors that were overwritten since do not count. Absent if
// there is none. Called on a training thread at the end of a step; reads the
// kept tensors up to the one that is found.
std::optional<v1::NonFiniteOrigin> FindOrigin(const NonFinite& wanted,
                                              uint64_t step, KeptTensors* kept,
                                              const NodeTable& nodes,
                                              Devices* devices);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_NON_FINITE_ORIGIN_H_
