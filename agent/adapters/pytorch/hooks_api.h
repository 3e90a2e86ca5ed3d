/* The interface between the PyTorch adapter and its Python side.
 *
 * libgraphdbg_torch.so depends on PyTorch and not on Python; the extension
 * module _hooks depends on Python and not on PyTorch. Each provides a table of
 * C functions, so that neither is compiled against the headers of the other and
 * either can be replaced: C++ programs use the adapter without Python.
 *
 * No function throws. Scopes are numbers returned by declare_scope.
 */
#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_API_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_API_H_

#include <stddef.h>
#include <stdint.h>

#include "graphdbg/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented with each change of the tables; both sides must agree. */
#define GRAPHDBG_HOOKS_API_VERSION 15

/* Functions of the Python side. May be called on any thread, with or without
 * the interpreter's lock. */
typedef struct graphdbg_interpreter {
  /* The calling thread's Python stack, innermost frame first. The strings live
   * as long as the process. */
  size_t (*source_stack)(graphdbg_source_frame* out, size_t max);
  /* Like the members of graphdbg_host, without `user`. */
  void* (*begin_wait)(void);
  void (*end_wait)(void* token);
  int (*interrupted)(void* token);
  /* Ends the program like an exception in the main thread. */
  void (*terminate)(void);
  /* Called before the first step, on the thread that begins it: whether this
   * process is to be debugged. If not, it is asked again at the next occasion.
   * `trains` is 0 for a call of a model, which may also be inference. Stores
   * the rank and the number of ranks, or 0 ranks if PyTorch does not know them.
   * Null means yes. */
  int (*begins_training)(int trains, uint32_t* rank, uint32_t* world_size);
  /* Nonzero if the Python side tests the conditions of training. */
  int tests_training;
  /* A JSON object that describes the interpreter and its packages; null if it
   * cannot. Lives as long as the process. Null means that there is none. */
  const char* (*environment)(void);
  /* Called when a step begins whose ops may have to be repeated: remembers the
   * states of the interpreter's random number generators. May be null. */
  void (*step_begins)(void);
  /* Same as graphdbg_host.training. May be null. */
  const char* (*training)(void);
  /* Same as graphdbg_host.experiment and graphdbg_host.change. May be null. */
  int (*experiment)(int bundle, const char* experiments, const char** text);
  int (*change)(const graphdbg_change* change, const char** text);
} graphdbg_interpreter;

/* Functions of the adapter. */
typedef struct graphdbg_torch_adapter {
  uint32_t api_version;

  /* Opens the agent and installs the hooks in PyTorch: at the end of `import
   * torch`, and again for each further job after `close`. Called while no op
   * runs. `interpreter` must live as long as the process. With `joins`, the
   * program trains already, ops may run, and nothing but `connect` starts the
   * job. */
  graphdbg_status (*open)(const char* torch_version, const char* job_name,
                          const graphdbg_interpreter* interpreter, int joins);

  /* Called before the interpreter is finalized: stops tracing and calls into
   * the interpreter. */
  void (*detach_interpreter)(void);
  /* Called once the interpreter has been finalized, when the process exits:
   * storages that are still kept are not released any more, because some, such
   * as those of NumPy arrays, need the interpreter for it. */
  void (*leak_storages)(void);
  /* Called before `close` if an exception ends the program. It was raised by
   * what a line of code in this scope has called; `file` is empty if that line
   * raised it itself. May wait for the user. */
  graphdbg_status (*failed)(const graphdbg_ending* ending, uint32_t scope,
                            const char* file, uint32_t line);
  void (*close)(const graphdbg_ending* ending);

  /* Returns the scope of a module path ("layer1/conv", "" for the model itself)
   * with its class. The same path always has the same scope. The scope is added
   * to the graph now, or with its first op. */
  uint32_t (*declare_scope)(const char* path, const char* type, int now);
  /* Binds the parameter or buffer `name` of a scope; `tensor` is the address of
   * its TensorImpl, which the caller keeps alive during the call. */
  void (*bind_tensor)(uint32_t scope, const char* name, graphdbg_node_kind kind,
                      const void* tensor);
  /* Called before and after the contents of tensors are swapped. The first
   * releases a parameter or buffer and returns its binding, or null if it has
   * none; the second binds a tensor again. */
  void* (*release_tensor)(const void* tensor);
  void (*hold_tensor)(void* binding, const void* tensor);

  /* Whether enter, enter_model and enter_backward, with what belongs to them,
   * need not be called now. */
  int (*is_idle)(void);
  /* Enters a module's scope on this thread; the result is passed to leave. */
  size_t (*enter)(uint32_t scope);
  /* Enters the program's own code from within an optimizer. */
  size_t (*enter_program)(void);
  /* Enters code whose ops are not part of the program. */
  size_t (*enter_ignored)(void);
  void (*leave)(size_t depth);
  /* Called before and after a region of compiled code, which is one node;
   * tensors are addresses of their TensorImpl. If enter_region returns 0, the
   * region is not traced and must not be left. `outputs` is null if the region
   * raised an exception. leave_region may wait for the user. */
  int (*enter_region)(const void* const* inputs, size_t count);
  void (*leave_region)(const void* const* outputs, size_t count);
  /* Returns the innermost module scope on this thread, 0 if there is none (or
   * only the one with the empty path). Sets *inside if the thread is inside any
   * scope or a backward pass. */
  uint32_t (*current_scope)(int* inside);

  /* Whether inputs of models have to be reported now. */
  int (*wants_inputs)(void);
  /* Reports an input of the model that this thread calls next; `name` is the
   * name of the argument. The caller keeps the tensor alive until enter_model
   * has returned. */
  void (*give_input)(uint32_t scope, const char* name, const void* tensor);

  /* Called before and after a call of a model from outside all scopes. These
   * functions and all below that return a status may wait for the user. */
  graphdbg_status (*enter_model)(uint32_t scope, int training);
  graphdbg_status (*leave_model)(void);
  /* Called when an optimizer exists: from now on, optimizer steps define steps.
   */
  void (*optimizer_seen)(void);
  graphdbg_status (*step_end)(void);
  /* Called before the program ends normally. */
  void (*last_step)(void);
  /* Begins the first step of a program that trains without modules. Later calls
   * have no effect. */
  graphdbg_status (*start)(void);

  /* Called before and after a call of the autograd engine; calls may be nested.
   * The value that the first stores in *token is passed to the second. */
  graphdbg_status (*enter_backward)(int creates_graph, uint64_t* token);
  graphdbg_status (*leave_backward)(int creates_graph, int accumulates,
                                    uint64_t token);
  /* Sets the factor that the loss is multiplied by; 0 means none. */
  void (*set_grad_scale)(double scale);

  /* Shows a line to the user, on stderr and in the debugger. */
  void (*notify)(const char* line);

  /* Whether autograd records the ops of this thread. */
  int (*records_gradients)(void);
  /* Whether a watchpoint has this condition of training; null: any of them. */
  int (*watches)(const char* condition);
  /* Reports a finding about a tensor: a parameter, a buffer, an input, or one
   * that an op of this step has produced. Returns 0 if its node is not known.
   * The line is the user's own; `file` may be null. */
  int (*report)(const char* condition, const void* tensor, const char* message,
                const char* file, uint32_t line);
  /* The node of such a tensor; 0 if it is not known. */
  uint32_t (*node_of)(const void* tensor);

  /* For a program that trains already. `connect` is called after `open`, on any
   * thread but the one that trains: it waits for the server in its place, and
   * traces nothing yet. `follow` is called on the thread that trains, between
   * two steps, the first of which begins. */
  graphdbg_status (*connect)(void);
  void (*follow)(void);
  /* Called after `close` if the program goes on: releases all tensors. */
  void (*forget)(void);

  /* Enters and leaves a range, such as "Optimizer.step#SGD.step", that PyTorch
   * does not mark itself; the result of the first is passed to the second. */
  int (*enter_range)(const char* name);
  void (*leave_range)(int kind);
  /* Whether ops are traced, but those of this thread only from now on. */
  int (*misses_thread)(void);
  /* Called if so, within PyTorch's range for the step of an optimizer of this
   * class, or before it. */
  void (*enter_step)(const char* optimizer);
} graphdbg_torch_adapter;

/* Exported by libgraphdbg_torch.so. */
GRAPHDBG_EXPORT const graphdbg_torch_adapter* graphdbg_torch_adapter_get(void);
typedef const graphdbg_torch_adapter* (*graphdbg_torch_adapter_getter)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* AGENT_ADAPTERS_PYTORCH_HOOKS_API_H_ */
