/* The interface between preload.c and libgraphdbg_torch_cpp.so. */
#ifndef AGENT_ADAPTERS_PYTORCH_CPP_PROGRAM_API_H_
#define AGENT_ADAPTERS_PYTORCH_CPP_PROGRAM_API_H_

#include "graphdbg/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A member function of LibTorch at the level of the calling convention: all
 * arguments and results are in general-purpose registers. The first two are the
 * address of the result and `this`, or `this` and the first argument. */
typedef void* (*graphdbg_member)(void*, void*, void*, void*, void*, void*);

typedef struct graphdbg_member_call {
  graphdbg_member function;
  void* registers[6];
} graphdbg_member_call;

/* Each function makes the call and returns its result. Exceptions propagate. */
typedef struct graphdbg_cpp_program {
  /* torch::optim's X::step and Optimizer::zero_grad, add_param_group. */
  void* (*step)(const graphdbg_member_call* call);
  void* (*zero_grad)(const graphdbg_member_call* call);
  void* (*add_group)(const graphdbg_member_call* call);
  /* A member function of torch::nn::Module that is called on a model, with and
   * without a result that is returned through a pointer. */
  void* (*model_by_result)(const graphdbg_member_call* call);
  void* (*model)(const graphdbg_member_call* call);
  /* torch::nn's XImpl::forward. */
  void* (*forward)(const graphdbg_member_call* call);
} graphdbg_cpp_program;

/* Exported by libgraphdbg_torch_cpp.so. Opens the agent; returns null if the
 * program is not debugged. Called once, before main. */
GRAPHDBG_EXPORT const graphdbg_cpp_program* graphdbg_cpp_program_open(
    const char* torch_version);
typedef const graphdbg_cpp_program* (*graphdbg_cpp_program_opener)(
    const char* torch_version);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* AGENT_ADAPTERS_PYTORCH_CPP_PROGRAM_API_H_ */
