// Macros for functions that are compiled for a GPU by nvcc and, for tests, for
// the CPU by any compiler.
#ifndef AGENT_KERNELS_CUDA_PORTABLE_H_
#define AGENT_KERNELS_CUDA_PORTABLE_H_

#ifdef __CUDACC__
#define GRAPHDBG_PORTABLE __host__ __device__ __forceinline__
#define GRAPHDBG_UNROLL _Pragma("unroll")
#else
#define GRAPHDBG_PORTABLE inline
#define GRAPHDBG_UNROLL
#endif

#endif  // AGENT_KERNELS_CUDA_PORTABLE_H_
