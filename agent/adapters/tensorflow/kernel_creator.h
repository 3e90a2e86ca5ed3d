#ifndef AGENT_ADAPTERS_TENSORFLOW_KERNEL_CREATOR_H_
#define AGENT_ADAPTERS_TENSORFLOW_KERNEL_CREATOR_H_

namespace graphdbg::tensorflow {

// Has TensorFlow make kernels through the adapter from now on. Kernels that
// exist are not affected, so this is called before the first op. TensorFlow has
// one creator of kernels; the one that it had, XLA's, is replaced by an equal
// one.
void InstallKernelCreator();

}  // namespace graphdbg::tensorflow

#endif  // AGENT_ADAPTERS_TENSORFLOW_KERNEL_CREATOR_H_
