/* The C API of graphdbg's agent. A framework adapter or a custom engine calls
 * it to make a running program debuggable. */

/* clang-format off */
/* A program that takes 100 steps:
 *
 *   int main(void) {
 *     const graphdbg_options options = {.struct_size = sizeof options,
 *                                       .abi_version = GRAPHDBG_ABI_VERSION,
 *                                       .framework = "my engine"};
 *     graphdbg_agent* agent;
 *     graphdbg_open(&options, &agent);      // null unless GRAPHDBG_ENABLE=1
 *     graphdbg_status status = graphdbg_start(agent);
 *     for (int step = 0; step < 100 && status != GRAPHDBG_TERMINATE; ++step) {
 *       status = train_one_step(agent);     // may wait for the user
 *     }
 *     const graphdbg_ending ending = {.struct_size = sizeof ending,
 *                                     .exit_code = 0};
 *     graphdbg_close(agent, &ending);
 *     return ending.exit_code;
 *   }
 *
 * A step with one op, whose output is a vector of 4 numbers:
 *
 *   static graphdbg_status train_one_step(graphdbg_agent* agent) {
 *     static uint32_t node = 0;
 *     if (node == 0) {                      // once per op
 *       const graphdbg_node_info info = {.struct_size = sizeof info,
 *                                        .name = "forward/layer1/relu",
 *                                        .kind = GRAPHDBG_OP,
 *                                        .category = GRAPHDBG_ACTIVATION,
 *                                        .op_type = "relu"};
 *       graphdbg_declare_node(agent, &info, &node);
 *     }
 *     const float values[4] = {0, 1.5f, 0, 2};
 *     if (graphdbg_interest(agent, node)) { // whenever the op has run
 *       const int64_t shape[] = {4};
 *       const graphdbg_tensor output = {.struct_size = sizeof output,
 *                                       .dtype = GRAPHDBG_FLOAT32,
 *                                       .device = GRAPHDBG_CPU,
 *                                       .data = values,
 *                                       .ndim = 1,
 *                                       .shape = shape};
 *       const graphdbg_execution execution = {.struct_size = sizeof execution,
 *                                             .node = node,
 *                                             .outputs = &output,
 *                                             .output_count = 1};
 *       const graphdbg_status status = graphdbg_executed(agent, &execution);
 *       if (status == GRAPHDBG_TERMINATE) return status;
 *     }
 *     return graphdbg_step_end(agent);      // once per step
 *   }
 */
/* clang-format on */

/* agent/examples/regression.c is a complete program with inputs, parameters and
 * all callbacks. Rules that apply to the whole API:
 *
 * Errors. No function throws, aborts or exits. Every function may be called
 * with a null agent, and with an agent that is inert because debugging is
 * disabled, the server rejected it, an internal error occurred, the process was
 * forked from one that had started, or the agent is closed. It then returns
 * GRAPHDBG_DETACHED or 0 immediately, so a program needs no check of its own
 * whether it is being debugged. graphdbg_last_error() describes other errors.
 *
 * Threads. All functions may be called on any thread at any time, except that
 * graphdbg_open and graphdbg_close are called once each for an agent. A process
 * has one agent at a time; after graphdbg_close it may open another one.
 * graphdbg_start, graphdbg_executed and graphdbg_step_end block while the user
 * has paused the program; around each wait, the agent calls host.begin_wait and
 * host.end_wait on the waiting thread. graphdbg_close blocks for at most 5
 * seconds. No other function blocks.
 *
 * Ownership. Structs, arrays and strings passed to a function are read only
 * during the call. Tensor memory is read during the call, and afterwards only
 * between host.retain() and host.release() of its owner.
 *
 * Strings are UTF-8, terminated by a zero byte. Optional strings may be null.
 * Fields that are zero have no effect unless described otherwise.
 *
 * Growth. Each struct begins with its size as known to the caller. New fields
 * are only added at the end.
 */
#ifndef GRAPHDBG_AGENT_H_
#define GRAPHDBG_AGENT_H_

#include <stddef.h>
#include <stdint.h>

/* Makes enums of C++ compatible with those of C: a field may contain any int.
 * Functions reject values that are not defined. */
#ifdef __cplusplus
#define GRAPHDBG_INT : int
#else
#define GRAPHDBG_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GRAPHDBG_ABI_VERSION 1

#if defined(__GNUC__)
#define GRAPHDBG_EXPORT __attribute__((visibility("default")))
#else
#define GRAPHDBG_EXPORT
#endif

typedef struct graphdbg_agent graphdbg_agent;

typedef enum graphdbg_status GRAPHDBG_INT {
  GRAPHDBG_OK = 0,
  /* The agent is inert; the program continues without debugging. */
  GRAPHDBG_DETACHED = 1,
  /* The user has ended the program: unwind as after Ctrl-C, then call
   * graphdbg_close. All later blocking calls return it, too. */
  GRAPHDBG_TERMINATE = 2,
  /* A wait ended because host.interrupted() returned nonzero. */
  GRAPHDBG_INTERRUPTED = 3,
  /* The call had no effect; graphdbg_last_error() names the argument. */
  GRAPHDBG_INVALID_ARGUMENT = 4,
  /* A limit was reached; graphdbg_last_error() names it. */
  GRAPHDBG_RESOURCE_EXHAUSTED = 5,
  /* An internal error. The agent is inert from now on. */
  GRAPHDBG_INTERNAL = 6
} graphdbg_status;

/* Element types, with the names of NumPy and ml_dtypes. */
typedef enum graphdbg_dtype GRAPHDBG_INT {
  GRAPHDBG_DTYPE_UNSPECIFIED = 0,
  GRAPHDBG_BOOL = 1,
  GRAPHDBG_INT8 = 2,
  GRAPHDBG_INT16 = 3,
  GRAPHDBG_INT32 = 4,
  GRAPHDBG_INT64 = 5,
  GRAPHDBG_UINT8 = 6,
  GRAPHDBG_UINT16 = 7,
  GRAPHDBG_UINT32 = 8,
  GRAPHDBG_UINT64 = 9,
  GRAPHDBG_FLOAT16 = 10,
  GRAPHDBG_BFLOAT16 = 11,
  GRAPHDBG_FLOAT32 = 12,
  GRAPHDBG_FLOAT64 = 13,
  GRAPHDBG_COMPLEX64 = 14,
  GRAPHDBG_COMPLEX128 = 15,
  /* Any other type; its values are not read. */
  GRAPHDBG_DTYPE_OTHER = 16,
  GRAPHDBG_FLOAT8_E4M3FN = 17,
  GRAPHDBG_FLOAT8_E5M2 = 18
} graphdbg_dtype;

typedef enum graphdbg_device GRAPHDBG_INT {
  GRAPHDBG_CPU = 0,
  /* NVIDIA GPUs. */
  GRAPHDBG_CUDA = 1,
  /* Ascend NPUs. */
  GRAPHDBG_NPU = 2,
  /* Any other device; values on it are not read. */
  GRAPHDBG_DEVICE_OTHER = 3
} graphdbg_device;

typedef enum graphdbg_node_kind GRAPHDBG_INT {
  GRAPHDBG_OP = 1,
  GRAPHDBG_PARAMETER = 2,
  GRAPHDBG_BUFFER = 3,
  GRAPHDBG_CONSTANT = 4,
  GRAPHDBG_INPUT = 5
} graphdbg_node_kind;

typedef enum graphdbg_category GRAPHDBG_INT {
  GRAPHDBG_OTHER = 0,
  GRAPHDBG_WEIGHT = 1,
  GRAPHDBG_GRADIENT = 2,
  GRAPHDBG_ACTIVATION = 3,
  GRAPHDBG_OPTIMIZER = 4
} graphdbg_category;

/* The purpose of a model's call. */
typedef enum graphdbg_mode GRAPHDBG_INT {
  GRAPHDBG_MODE_UNKNOWN = 0,
  GRAPHDBG_TRAIN = 1,
  GRAPHDBG_EVAL = 2,
  GRAPHDBG_PREDICT = 3
} graphdbg_mode;

/* A strided view of a tensor. */
typedef struct graphdbg_tensor {
  uint32_t struct_size;
  graphdbg_dtype dtype;
  graphdbg_device device;
  int32_t device_id;
  /* Address of the element with index 0 in all dimensions; null if the tensor
   * has no values. */
  const void* data;
  /* Number of dimensions: 0 for a scalar, at most 64. */
  uint32_t ndim;
  /* Array of `ndim` sizes, in elements. */
  const int64_t* shape;
  /* Array of `ndim` strides, in elements; may be 0 or negative. Null means
   * contiguous in row-major order. */
  const int64_t* strides;
  /* Identifies the storage: equal for all views of it; 0 if unknown. */
  uint64_t storage_id;
  /* Argument of host.retain and host.release. If null, the tensor is checked
   * but not kept, so its values cannot be displayed. */
  void* owner;
  /* The framework's name of the dtype, such as "torch.float32"; optional. */
  const char* framework_dtype;
} graphdbg_tensor;

/* A frame of a source stack. Stacks start with the innermost frame. */
typedef struct graphdbg_source_frame {
  /* Preferably an absolute path. */
  const char* file;
  /* From 1; 0 if unknown. */
  uint32_t line;
  const char* function;
  /* Nonzero for the user's own code, 0 for code of a framework or library. */
  int user;
} graphdbg_source_frame;

/* The ops that led to an execution, with which it can be repeated in another
 * process. */
typedef struct graphdbg_tape {
  uint32_t struct_size;
  /* If the ops cannot be repeated: why not, and a word for programs. Otherwise
   * null. */
  const char* error;
  const char* reason;
  /* The ops as JSON, described in agent/docs/bundles.md. */
  const char* text;
  /* The memory that the ops start from, each a vector of uint8, and the names
   * of the vectors in `text`. */
  const struct graphdbg_tensor* leaves;
  const char* const* leaf_names;
  size_t leaf_count;
  /* The output of the execution; null if its value is gone. */
  const struct graphdbg_tensor* expected;
  /* Whether the ops begin where the step did. Otherwise, if a tape of the step
   * was asked for, why they do not, or null. */
  int whole_step;
  const char* why_not_step;
  /* The states of random number generators, as leaves and leaf_names. */
  const struct graphdbg_tensor* random;
  const char* const* random_names;
  size_t random_count;
} graphdbg_tape;

/* How much of a step is kept so that all of it can be repeated. */
typedef enum graphdbg_tape_mode {
  GRAPHDBG_TAPE_OFF = 0,
  /* Up to the optimizer, which overwrites what it reads. */
  GRAPHDBG_TAPE_FORWARD_BACKWARD = 1,
  GRAPHDBG_TAPE_WHOLE_STEP = 2
} graphdbg_tape_mode;

/* A change of the training that the user orders. */
typedef enum graphdbg_change_kind GRAPHDBG_INT {
  /* `value` becomes the learning rate. */
  GRAPHDBG_SET_LEARNING_RATE = 1,
  /* The next step of each optimizer does nothing. */
  GRAPHDBG_SKIP_STEP = 2,
  /* What the step in progress has overwritten gets the values that it had when
   * the step began. */
  GRAPHDBG_RESTORE_STEP = 3
} graphdbg_change_kind;

typedef struct graphdbg_change {
  uint32_t struct_size;
  graphdbg_change_kind kind;
  double value;
  /* Which optimizer, in the order in which they were made, and which of its
   * groups of parameters; -1: all. */
  int32_t optimizer;
  int32_t group;
} graphdbg_change;

/* Callbacks of the program. Each of them may be null. They must not call
 * functions of the agent. `user` is passed to all of them. */
typedef struct graphdbg_host {
  uint32_t struct_size;
  void* user;

  /* Increments the reference count of the memory that belongs to `owner`.
   * Called on the thread that is in graphdbg_executed, graphdbg_start or
   * graphdbg_step_end. Must not block. */
  void (*retain)(void* user, void* owner);
  /* Undoes one call of retain. Called on any thread. */
  void (*release)(void* user, void* owner);

  /* Called before and after each wait, on the waiting thread. Use them to let
   * other threads run (release an interpreter lock) and to listen for
   * interrupts. The result of begin_wait is passed to the other two functions.
   */
  void* (*begin_wait)(void* user);
  void (*end_wait)(void* user, void* token);
  /* Polled at least 10 times per second during a wait. If it returns nonzero,
   * the wait ends with GRAPHDBG_INTERRUPTED. */
  int (*interrupted)(void* user, void* token);

  /* Describes the current view of a tensor passed to graphdbg_bind_tensor:
   * fills *out and returns 0, or returns nonzero if the tensor no longer
   * exists. The fields `shape` and `strides` may point to the buffers of the
   * same names, which have room for 64 numbers each. Called on a training
   * thread at the start and end of a step, or on the agent's thread while the
   * program is paused. */
  int (*resolve)(void* user, void* bound, graphdbg_tensor* out, int64_t* shape,
                 int64_t* strides);

  /* Sets the level of detail that the agent needs from now on, one of
   * GRAPHDBG_LEVEL_*. Called on any thread, including from graphdbg_open. */
  void (*set_level)(void* user, int level);

  /* Stores the source stack of the op that this thread executes and returns the
   * number of frames, at most `max`. The strings must stay valid until the next
   * call on this thread. Called from graphdbg_executed, for hits only. */
  size_t (*capture_stack)(void* user, graphdbg_source_frame* out, size_t max);

  /* Returns the stream (cudaStream_t, aclrtStream) on which this thread's ops
   * on a device run. Null means the device's default stream, which is also used
   * without this callback. Called on training threads, from graphdbg_executed,
   * graphdbg_start and graphdbg_step_end, for tensors on accelerators. */
  void* (*current_stream)(void* user, graphdbg_device device,
                          int32_t device_id);

  /* Stores this process's rank and the number of ranks, as the framework's own
   * communication knows them, and returns 0; returns nonzero if it does not
   * know them, so that the variables of the launcher apply. Called once, from
   * the first graphdbg_start. */
  int (*place)(void* user, uint32_t* rank, uint32_t* world_size);

  /* Calls `take` once, with the ops that led to the last execution of `node` in
   * this step: the op itself, of whose output `slot` the values matter, and up
   * to `upstream` ops that made its inputs. What is passed is valid during that
   * call. If an op has overwritten its input, it is to be kept when the node
   * executes next. Called on a training thread from graphdbg_executed or
   * graphdbg_step_end, or on the agent's thread while the program is paused. */
  void (*capture)(void* user, uint32_t node, uint32_t slot, uint32_t upstream,
                  void (*take)(void* context, const graphdbg_tape* tape),
                  void* context);

  /* Returns a JSON object that describes the program's software, or null. Valid
   * as long as the process. Called on any thread, with no lock of the agent
   * held; may be slow. */
  const char* (*environment)(void* user);

  /* From the next step on, memory that ops overwrite is copied first, at most
   * `budget` bytes in each step, so that `capture` can give all ops from the
   * step's start on. Called on any thread. */
  void (*set_tape)(void* user, graphdbg_tape_mode mode, uint64_t budget);

  /* Returns a JSON object with the state of the training, such as learning
   * rates, and below "random" with the states of the interpreter's random
   * number generators when the step began; or null. Valid until the next call.
   * Called where `capture` is. */
  const char* (*training)(void* user);

  /* The three functions below are called on the agent's thread while the
   * program is paused. They return 0 if it is done, and store a text that is
   * valid until the next call of any of them: the result, or why it cannot be
   * done, or null if the reason is not known. */

  /* Repeats the ops of a bundle, which is the content of the file descriptor
   * `bundle`, in other ways. `experiments` are their ids, separated by spaces;
   * empty: all that make a difference. Changes nothing in the program. The text
   * is a JSON object, described in agent/docs/bundles.md. */
  int (*experiment)(void* user, int bundle, const char* experiments,
                    const char** text);
  /* Writes to the elements of a view: `values` has one for all of them, or as
   * many as there are, row-major. */
  int (*assign)(void* user, const graphdbg_tensor* view, const double* values,
                size_t count, const char** text);
  /* The text says what was done. */
  int (*change)(void* user, const graphdbg_change* change, const char** text);
} graphdbg_host;

/* Levels of host.set_level. Ignoring the level is correct, but slower. */
enum {
  /* No calls are needed: the agent is inert permanently. */
  GRAPHDBG_LEVEL_OFF = 0,
  /* Only graphdbg_start and graphdbg_step_end are needed. */
  GRAPHDBG_LEVEL_STEPS = 1,
  /* graphdbg_interest and graphdbg_executed are needed as well. */
  GRAPHDBG_LEVEL_OPS = 2
};

/* Describes the program. All other settings (server, token, job, rank, tensor
 * budget and so on) come from environment variables, see README.md. */
typedef struct graphdbg_options {
  uint32_t struct_size;
  /* GRAPHDBG_ABI_VERSION. */
  uint32_t abi_version;
  /* Name and version of the framework, such as "pytorch" and "2.13.0". */
  const char* framework;
  const char* framework_version;
  /* The device of the computation: "cpu", "cuda" or "npu", and its number. */
  const char* device;
  int32_t device_id;
  /* Display name if GRAPHDBG_JOB is not set. Null means the program's name. */
  const char* job_name;
  /* Copied by graphdbg_open; optional. */
  const graphdbg_host* host;
  /* Any of GRAPHDBG_OPTION_*. */
  uint32_t flags;
} graphdbg_options;

/* Flags of the options. */
enum {
  /* The program tests the conditions of training that are watched, and reports
   * them with graphdbg_report. */
  GRAPHDBG_OPTION_REPORTS = 1
};

/* An input of a node: output number `slot`, from 0, of `node`. */
typedef struct graphdbg_edge {
  uint32_t node;
  uint32_t slot;
} graphdbg_edge;

/* A property of a node for display, such as "strides" and "[1, 1]". */
typedef struct graphdbg_attribute {
  const char* name;
  const char* value;
} graphdbg_attribute;

typedef struct graphdbg_node_info {
  uint32_t struct_size;
  /* Full name "scope/.../name", unique within the job, at most 4,096 bytes. */
  const char* name;
  graphdbg_node_kind kind;
  graphdbg_category category;
  /* For example "aten::conv2d". */
  const char* op_type;
  /* The source location, at most 64 frames. */
  const graphdbg_source_frame* stack;
  size_t stack_depth;
  /* For a backward op, the node of its forward op; 0 if none. */
  uint32_t forward_node;
  /* Types and shapes of the outputs if known in advance; `data` is ignored. An
   * execution replaces them. */
  const graphdbg_tensor* outputs;
  size_t output_count;
  /* Any of GRAPHDBG_NODE_*. */
  uint32_t flags;
  /* The inputs if known in advance. Their nodes must have been declared. An
   * execution replaces them. */
  const graphdbg_edge* inputs;
  size_t input_count;
  const graphdbg_attribute* attributes;
  size_t attribute_count;
  /* The id of the node's graph if the program has several. Null or empty means
   * the main graph. */
  const char* graph;
  /* The node's position in the execution order, from 1, if known in advance. If
   * 0, the first execution determines it. */
  uint64_t order;
} graphdbg_node_info;

/* Flags of a node. */
enum {
  /* Repeats a part of the forward pass within the backward pass, because its
   * results were not kept (activation checkpointing). */
  GRAPHDBG_NODE_RECOMPUTED = 1,
  /* Its first output is the loss: the program asks for its gradients. */
  GRAPHDBG_NODE_LOSS = 2
};

/* An input of an execution: the tensor, and the output that produced it. `node`
 * is 0 if unknown. */
typedef struct graphdbg_input {
  uint32_t node;
  uint32_t slot;
  graphdbg_tensor tensor;
} graphdbg_input;

/* Flags of an execution. */
enum {
  /* The outputs are uninitialized memory (empty, resize_) and are not checked.
   */
  GRAPHDBG_UNINITIALIZED = 1,
  /* The op only copies values (view, copy, transpose) and therefore cannot be
   * the origin of a NaN. */
  GRAPHDBG_MOVES_VALUES = 2,
  /* The user passed a non-finite number (masked_fill(-inf)), so infinities in
   * the outputs are intentional. */
  GRAPHDBG_EXPLICIT_NONFINITE = 4,
  /* The op overwrote an input that shares memory with an output, so inputs no
   * longer have the values that the op read. */
  GRAPHDBG_IN_PLACE = 8,
  /* The node is an input, and its output is a tensor passed to a model. */
  GRAPHDBG_GIVEN = 16,
  /* Each output is memory of an input, which the op did not write to. What is
   * known about values there need not be found out again. */
  GRAPHDBG_VIEW = 32
};

typedef struct graphdbg_execution {
  uint32_t struct_size;
  uint32_t node;
  /* Any of the flags of an execution. */
  uint32_t flags;
  const graphdbg_input* inputs;
  size_t input_count;
  /* In order of slots. */
  const graphdbg_tensor* outputs;
  size_t output_count;
  /* The factor by which gradients in the outputs are too large, because the
   * loss was multiplied by it (mixed precision training); 0 if none. */
  double grad_scale;
  /* Number of the pass within its step, from 1, if gradients of several passes
   * are accumulated; 0 if unknown. */
  uint32_t micro_step;
  graphdbg_mode mode;
  /* Iteration of the innermost loop in the graph that contains the node, from
   * 1; 0 if there is no loop. */
  uint32_t iteration;
  /* The message of the error that the op raised, empty if it is not known, in
   * which case there are no outputs. Null if it raised none. */
  const char* error;
  /* Optional, instead of `inputs`, for hosts that save time by not describing
   * them: sets *inputs and returns their number. Called during
   * graphdbg_executed, on its thread, if they are needed, at most once. They
   * are those of the op before it ran, and stay valid during
   * graphdbg_executed. */
  size_t (*describe_inputs)(void* context, const graphdbg_input** inputs);
  void* describe_inputs_context;
} graphdbg_execution;

/* How the program ends. */
typedef struct graphdbg_ending {
  uint32_t struct_size;
  int32_t exit_code;
  /* Describe the exception that ends the program; null if none. */
  const char* exception_type;
  const char* exception_message;
  const char* exception_traceback;
} graphdbg_ending;

/* Starts the agent, which connects to the server in the background. If
 * debugging is not enabled in the environment (GRAPHDBG_ENABLE), sets *agent to
 * null and returns GRAPHDBG_DETACHED. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_open(const graphdbg_options* options,
                                              graphdbg_agent** agent);

/* Reports that an exception ends the program, before graphdbg_close does. Waits
 * if the program is to stop there (GRAPHDBG_ON_ERROR), while the values of the
 * step in progress can still be looked at. The exit code is ignored. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_failed(graphdbg_agent* agent,
                                                const graphdbg_ending* ending);

/* Reports to the server how the program ended, and releases all tensors. Waits
 * at most 5 seconds until pending messages are sent. `ending` may be null,
 * which means exit code 0. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_close(graphdbg_agent* agent,
                                               const graphdbg_ending* ending);

/* Adds a node to the graph and stores its id in *node: 1 for the first node, 2
 * for the second, and so on; 0 on failure. If a node of this name exists,
 * stores its id and ignores all other fields. A job has at most 4,000,000
 * nodes. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_declare_node(
    graphdbg_agent* agent, const graphdbg_node_info* info, uint32_t* node);

/* Sets the class of a module scope, such as "Conv2d" for "forward/conv1".
 * Optional: scopes exist because names of nodes contain them. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_declare_scope(graphdbg_agent* agent,
                                                       const char* name,
                                                       const char* type);

/* Like graphdbg_declare_scope, for a scope of the graph with this id. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_declare_scope_in(graphdbg_agent* agent,
                                                          const char* graph,
                                                          const char* name,
                                                          const char* type);

/* Binds the node of a parameter, buffer or input to a tensor that outlives
 * steps. The agent obtains its current value by host.resolve(bound): at the
 * start and at the end of each step if a watchpoint covers the node, and at the
 * user's request while the program is paused. Replaces an earlier binding of
 * the node. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_bind_tensor(graphdbg_agent* agent,
                                                     uint32_t node,
                                                     void* bound);

/* Returns nonzero if graphdbg_executed has to be called for this execution of
 * the node. Call it exactly once per execution, because it also counts
 * executions. Takes an array lookup and an atomic increment. */
GRAPHDBG_EXPORT int graphdbg_interest(graphdbg_agent* agent, uint32_t node);

/* Results of graphdbg_interest. */
enum {
  GRAPHDBG_INTEREST_NONE = 0,
  /* The values should be available if the program stops at another node, or the
   * node has not executed yet. An adapter may skip the node if reporting it
   * requires splitting an op that runs as a unit, such as a loop. */
  GRAPHDBG_INTEREST_OPTIONAL = 1,
  /* A watchpoint or a command of the user refers to this node or to all nodes.
   */
  GRAPHDBG_INTEREST_REQUIRED = 2
};

/* The same for several nodes that are about to execute: stores the interest in
 * each of them, and returns the greatest. */
GRAPHDBG_EXPORT int graphdbg_interests(graphdbg_agent* agent,
                                       const uint32_t* nodes, size_t count,
                                       uint8_t* interests);

/* Returns nonzero if executions are required only in order to find NaN and
 * infinities. An adapter that can repeat a step on the same inputs may then
 * test the results of the step itself, and report executions only if these are
 * not finite. */
GRAPHDBG_EXPORT int graphdbg_seeks_only_nonfinite(graphdbg_agent* agent);

/* Call if an adapter has repeated a part of the step in order to report
 * executions. Where only recordings or the overview wanted these, the time
 * counts as theirs, so that they stay within their share of the program's time.
 * Optional. */
GRAPHDBG_EXPORT void graphdbg_add_repetition(graphdbg_agent* agent,
                                             uint64_t nanoseconds);

/* Call before a node executes, and afterwards on the same thread, also if it
 * has failed: recordings then show which op each thread was in when the process
 * died or hung. Optional, and independent of graphdbg_interest. On a thread,
 * executions do not nest. */
GRAPHDBG_EXPORT void graphdbg_begin_op(graphdbg_agent* agent, uint32_t node);
GRAPHDBG_EXPORT void graphdbg_end_op(graphdbg_agent* agent);

/* Call when an adapter's own code begins and ends on this thread: its time
 * counts as the debugger's, as that of all functions does, of which some are
 * called in between. Calls may be nested. Optional. */
GRAPHDBG_EXPORT void graphdbg_begin_overhead(graphdbg_agent* agent);
GRAPHDBG_EXPORT void graphdbg_end_overhead(graphdbg_agent* agent);

/* Call before the first step. Waits for the server and, unless GRAPHDBG_WAIT=0,
 * for the user. Later calls have no effect. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_start(graphdbg_agent* agent);

/* Call after a node has executed. Evaluates watchpoints, keeps the tensors if
 * needed, and waits if the program has to stop at this node. */
GRAPHDBG_EXPORT graphdbg_status
graphdbg_executed(graphdbg_agent* agent, const graphdbg_execution* execution);

/* With nonzero `finite`, the tensors bound to these nodes have been tested and
 * contain neither NaN nor infinities, so the agent does not read them at the
 * end of this step to find out. With zero, that no longer holds, since they
 * have been written to. Optional. */
GRAPHDBG_EXPORT void graphdbg_tested_finite(graphdbg_agent* agent,
                                            const uint32_t* nodes, size_t count,
                                            int finite);

/* Call at the end of each step. The next step begins. May wait. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_step_end(graphdbg_agent* agent);

/* Call when a model is called, unless by another model: recordings distinguish
 * what the program computes by purpose. Nonzero `within_step`: the call is no
 * step of its own, but an evaluation within the training step in progress, and
 * lasts until graphdbg_end_pass, the next graphdbg_begin_pass or the end of the
 * step. Optional. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_begin_pass(graphdbg_agent* agent,
                                                    graphdbg_mode mode,
                                                    int within_step);
GRAPHDBG_EXPORT graphdbg_status graphdbg_end_pass(graphdbg_agent* agent);

/* Whatever graphdbg_begin_pass reported, the program computes for this purpose
 * until further notice; GRAPHDBG_MODE_UNKNOWN ends that. In a program with an
 * optimizer, evaluation and prediction are a pass within the step in progress,
 * which lasts until the next call or the end of the step. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_set_mode(graphdbg_agent* agent,
                                                  graphdbg_mode mode);

/* Records a value: as if a node of this name, which is declared if necessary,
 * had executed with this output. `collection` is one of the configuration,
 * whose settings apply, or another name; then the statistics of "metrics" and
 * the values of all others are recorded. The name must not be that of another
 * node. Evaluates watchpoints, and may wait, like graphdbg_executed. */
GRAPHDBG_EXPORT graphdbg_status
graphdbg_save_tensor(graphdbg_agent* agent, const char* name,
                     const char* collection, const graphdbg_tensor* tensor);

/* Something that the program has found out about its training, such as a
 * parameter that no optimizer trains. */
typedef struct graphdbg_finding {
  uint32_t struct_size;
  /* A condition of the catalogue whose target is "training". */
  const char* condition;
  /* The node that it concerns. */
  uint32_t node;
  /* One sentence for the user: what was found. At most 4,096 bytes. */
  const char* message;
  /* The line of the user's code that it concerns. Null means the line of the
   * node. */
  const graphdbg_source_frame* source;
} graphdbg_finding;

/* Returns nonzero if nothing is watched, recorded or asked for, except
 * conditions of training. A program with short steps may then call nothing but
 * graphdbg_step_end, and ask again after it. Always 0 in the first steps. */
GRAPHDBG_EXPORT int graphdbg_is_idle(graphdbg_agent* agent);

/* Returns nonzero if a watchpoint has this condition of training; with null, if
 * one has any of them. */
GRAPHDBG_EXPORT int graphdbg_watches(graphdbg_agent* agent,
                                     const char* condition);

/* Reports a finding: a hit of each watchpoint with this condition that covers
 * the node. Watchpoints that stop the program stop it when the step ends. */
GRAPHDBG_EXPORT graphdbg_status
graphdbg_report(graphdbg_agent* agent, const graphdbg_finding* finding);

/* A tensor of which all ranks of a group should have equal copies. */
typedef struct graphdbg_replica {
  uint32_t node;
  /* graphdbg_digest of its values. */
  uint64_t digest;
} graphdbg_replica;

typedef struct graphdbg_replicas {
  uint32_t struct_size;
  /* The name of the group, the same on all of its ranks. At most 4,096 bytes.
   */
  const char* group;
  /* The number of ranks in the group. */
  uint32_t group_size;
  /* Digests of the same moment are compared. An ascending number, which is
   * equal on all ranks when they have computed the same. */
  uint64_t moment;
  const graphdbg_replica* replicas;
  /* At most 100,000. */
  size_t count;
} graphdbg_replicas;

/* Has the server compare these tensors with those of the other ranks. If they
 * differ, a finding with the condition "replicas_differ" is reported on the
 * ranks that differ from most others, as by graphdbg_report. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_compare_replicas(
    graphdbg_agent* agent, const graphdbg_replicas* replicas);

/* A digest of `count` contiguous elements of 1, 2, 4, 8 or 16 bytes in host
 * memory, which depends on their bits and order. 0 for other sizes. The formula
 * is in proto/runs/digest.h. */
GRAPHDBG_EXPORT uint64_t graphdbg_digest(const void* data, uint64_t count,
                                         size_t item_size);

/* The process's agent; null if none is open. */
GRAPHDBG_EXPORT graphdbg_agent* graphdbg_current(void);

/* Shows a line of text to the user: on stderr with the prefix "graphdbg:", and
 * in the debugger. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_notify(graphdbg_agent* agent,
                                                const char* line);

/* The checksum that the files of recorded runs have (CRC-32C): of the bytes
 * whose checksum is `before`, 0 if there are none, followed by `size` bytes.
 * Like the next function, it needs no agent. */
GRAPHDBG_EXPORT uint32_t graphdbg_checksum(uint32_t before, const void* data,
                                           size_t size);

/* The checksums of `count` records of a recorded run: 160 bytes each, one after
 * the other at `records`, which is aligned to 8 bytes. Each is seeded with its
 * position. The checksums that they contain are ignored. */
GRAPHDBG_EXPORT void graphdbg_checksum_records(const void* records,
                                               const uint64_t* positions,
                                               size_t count,
                                               uint32_t* checksums);

/* Returns a description of the last error on this thread, one line; empty if
 * the last call on this thread succeeded. Valid until the next call on this
 * thread. */
GRAPHDBG_EXPORT const char* graphdbg_last_error(void);

/* Returns a report of this machine's accelerators and their support by this
 * build, as JSON described in agent/docs/devices.md. Loads the vendors'
 * libraries. Valid until the next call on this thread. */
GRAPHDBG_EXPORT const char* graphdbg_accelerators(void);

/* Returns the agent's version, such as "0.1.0". */
GRAPHDBG_EXPORT const char* graphdbg_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GRAPHDBG_AGENT_H_ */
