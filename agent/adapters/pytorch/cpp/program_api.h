/* What preload.c and libgraphdbg_torch_cpp.so offer each other. */
#ifndef AGENT_ADAPTERS_PYTORCH_CPP_PROGRAM_API_H_
#define AGENT_ADAPTERS_PYTORCH_CPP_PROGRAM_API_H_

#include "graphdbg/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A member function of LibTorch, as the machine sees it: what it takes and
 * gives goes through general registers, the first two of which hold the place
 * of the result and `this`, or `this` and the first argument. */
typedef void* (*graphdbg_member)(void*, void*, void*, void*, void*, void*);

typedef struct graphdbg_member_call {
  graphdbg_member function;
  void* registers[6];
} graphdbg_member_call;

/* Each makes the call and returns what it returned; exceptions pass through. */
typedef struct graphdbg_cpp_program {
  /* torch::optim's X::step and Optimizer::zero_grad, add_param_group. */
  void* (*step)(const graphdbg_member_call* call);
  void* (*zero_grad)(const graphdbg_member_call* call);
  void* (*add_group)(const graphdbg_member_call* call);
  /* A function of torch::nn::Module, by which a model becomes known: one whose
   * result is returned through a pointer, and another. */
  void* (*model_by_result)(const graphdbg_member_call* call);
  void* (*model)(const graphdbg_member_call* call);
  /* torch::nn's XImpl::forward. */
  void* (*forward)(const graphdbg_member_call* call);
} graphdbg_cpp_program;

/* Exported by libgraphdbg_torch_cpp.so. Opens the agent; null if there is
 * nothing to debug. Called once, before main. */
GRAPHDBG_EXPORT const graphdbg_cpp_program* graphdbg_cpp_program_open(
    const char* torch_version);
typedef const graphdbg_cpp_program* (*graphdbg_cpp_program_opener)(
    const char* torch_version);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* AGENT_ADAPTERS_PYTORCH_CPP_PROGRAM_API_H_ */
