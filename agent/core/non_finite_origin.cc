#include "agent/core/non_finite_origin.h"

#include "absl/strings/match.h"
#include "agent/conditions/tensor_measurements.h"

namespace graphdbg::agent {
namespace {

// Whether the op is in one of the namespaces of PyTorch's collectives.
bool IsCollective(const std::string& op_type) {
  return absl::StartsWith(op_type, "c10d::") ||
         absl::StartsWith(op_type, "_c10d_functional::");
}

bool HasAny(const NonFinite& wanted, const graphdbg_tensor& tensor,
            uint64_t step, Devices* devices) {
  const TensorView view = ViewOf(tensor);
  const TensorAccess access(devices, tensor, /*running=*/true);
  conditions::TensorMeasurements measurements(&view, nullptr, step);
  measurements.set_backend(access.backend());
  if (!access.ok() || !measurements.Measure({}) || measurements.all_finite()) {
    return false;
  }
  const Statistics& statistics = measurements.statistics();
  if (wanted.nan) return statistics.nan_count > 0;
  return (wanted.pos_inf && statistics.pos_inf_count > 0) ||
         (wanted.neg_inf && statistics.neg_inf_count > 0);
}

}  // namespace

std::optional<v1::NonFiniteOrigin> FindOrigin(const NonFinite& wanted,
                                              uint64_t step, KeptTensors* kept,
                                              const NodeTable& nodes,
                                              Devices* devices) {
  for (const KeptTensors::Kept& each : kept->All()) {
    const KeptTensor& tensor = *each.tensor;
    const NodeFacts& facts = *nodes.Facts(each.node);
    if (tensor.step() != step || kept->Overwritten(tensor) ||
        facts.uninitialized_in_step.load() == step ||
        !HasAny(wanted, tensor.tensor(), step, devices)) {
      continue;
    }
    v1::NonFiniteOrigin origin;
    origin.set_step(step);
    origin.set_node_id(each.node);
    origin.set_slot(each.slot);
    origin.set_order(nodes.LastExecutionOf(each.node).order);
    // At the end of the step, collectives have written their results.
    origin.set_received(IsCollective(nodes.InfoOf(each.node).op_type));
    return origin;
  }
  return std::nullopt;
}

}  // namespace graphdbg::agent
