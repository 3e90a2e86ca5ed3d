/* What the PyTorch adapter and its Python side offer each other.
 *
 * libgraphdbg_torch.so knows PyTorch and no Python; the extension module _hooks
 * knows Python and no PyTorch. Each hands the other a table of C functions, so
 * neither is compiled against the other's headers and either can be replaced:
 * a C++ program uses the adapter without the Python side.
 *
 * No function throws. A function that takes a scope takes a number that
 * declare_scope returned.
 */
#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_API_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_API_H_

#include <stddef.h>
#include <stdint.h>

#include "graphdbg/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with each change of the tables; both sides must agree. */
#define GRAPHDBG_HOOKS_API_VERSION 3

/* The Python side. All may be called on any thread, with or without the
 * interpreter's lock. */
typedef struct graphdbg_interpreter {
  /* The calling thread's Python stack, innermost frame first. The strings live
   * as long as the process. */
  size_t (*source_stack)(graphdbg_source_frame* out, size_t max);
  /* As in graphdbg_host, without `user`. */
  void* (*begin_wait)(void);
  void (*end_wait)(void* token);
  int (*interrupted)(void* token);
  /* Ends the program as an exception in the main thread would. */
  void (*terminate)(void);
} graphdbg_interpreter;

/* The adapter. */
typedef struct graphdbg_torch_adapter {
  uint32_t api_version;

  /* Opens the agent and starts to follow PyTorch. Called once, at the end of
   * `import torch`. `interpreter` must live as long as the process. */
  graphdbg_status (*open)(const char* torch_version, const char* job_name,
                          const graphdbg_interpreter* interpreter);

  /* The interpreter is about to go: no more calls into it, no more ops. */
  void (*detach_interpreter)(void);
  void (*close)(const graphdbg_ending* ending);

  /* The scope of a module path ("layer1/conv", "" for the model itself) and
   * its class. The same path gives the same scope. It joins the graph now, or
   * with its first op. */
  uint32_t (*declare_scope)(const char* path, const char* type, int now);
  /* A parameter or buffer `name` of a scope; `tensor` is the address of its
   * TensorImpl, which the caller keeps alive during the call. */
  void (*bind_tensor)(uint32_t scope, const char* name, graphdbg_node_kind kind,
                      const void* tensor);
  /* Around a swap of what tensors hold. The first lets go of a parameter or
   * buffer and returns a handle, null if it is none; the second gives what the
   * handle stands for a tensor again. */
  void* (*release_tensor)(const void* tensor);
  void (*hold_tensor)(void* binding, const void* tensor);

  /* Enters a module's scope on this thread; the result goes to leave. */
  size_t (*enter)(uint32_t scope);
  /* Enters the program's own code again, from within an optimizer. */
  size_t (*enter_program)(void);
  void (*leave)(size_t depth);
  /* Around a region of compiled code, which is one node; tensors are addresses
   * of their TensorImpl. 0: it is not followed, and is not to be left.
   * `outputs` is null if it has raised. The second may wait for the user. */
  int (*enter_region)(const void* const* inputs, size_t count);
  void (*leave_region)(const void* const* outputs, size_t count);
  /* The innermost module scope on this thread: 0 if there is none (or only one
   * with the empty path), and whether the thread is inside any scope or a
   * backward pass. */
  uint32_t (*current_scope)(int* inside);

  /* Whether the tensors that models are given are of interest now. */
  int (*wants_inputs)(void);
  /* One that the model is given which this thread calls next; `name` is the
   * argument's. The caller keeps the tensor until enter_model has returned. */
  void (*give_input)(uint32_t scope, const char* name, const void* tensor);

  /* A model is about to be called, or has returned, outside all scopes. These
   * and all below that return a status may wait for the user. */
  graphdbg_status (*enter_model)(uint32_t scope, int training);
  graphdbg_status (*leave_model)(void);
  /* An optimizer exists: steps are the optimizer's from now on. */
  void (*optimizer_seen)(void);
  graphdbg_status (*step_end)(void);
  /* The program is about to end as it should. */
  void (*last_step)(void);
  /* The program trains without modules: the first step begins here. Only the
   * first call does anything. */
  graphdbg_status (*start)(void);

  /* Around a call of the autograd engine, which may be within another one.
   * What the first writes to *token goes to the second. */
  graphdbg_status (*enter_backward)(int creates_graph, uint64_t* token);
  graphdbg_status (*leave_backward)(int creates_graph, int accumulates,
                                    uint64_t token);
  /* What the loss is multiplied with, until it is set to 0. */
  void (*set_grad_scale)(double scale);

  /* A line for the user, on stderr and wherever the job is watched. */
  void (*notify)(const char* line);
} graphdbg_torch_adapter;

/* Exported by libgraphdbg_torch.so. */
GRAPHDBG_EXPORT const graphdbg_torch_adapter* graphdbg_torch_adapter_get(void);
typedef const graphdbg_torch_adapter* (*graphdbg_torch_adapter_getter)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* AGENT_ADAPTERS_PYTORCH_HOOKS_API_H_ */
