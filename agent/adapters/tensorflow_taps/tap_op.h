#ifndef AGENT_ADAPTERS_TENSORFLOW_TAPS_TAP_OP_H_
#define AGENT_ADAPTERS_TENSORFLOW_TAPS_TAP_OP_H_

namespace graphdbg::tensorflow_taps {

// Registers the op GraphdbgTap, which passes `values` on and reports them as
// the outputs of a node that has read `inputs`. False if TensorFlow refuses.
bool RegisterTapOp();

}  // namespace graphdbg::tensorflow_taps

#endif  // AGENT_ADAPTERS_TENSORFLOW_TAPS_TAP_OP_H_
