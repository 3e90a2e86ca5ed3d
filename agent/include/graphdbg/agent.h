/* graphdbg's agent: the C interface through which a framework's adapter, or an
 * engine of one's own, makes a running program debuggable.
 *
 *   graphdbg_agent* agent;
 *   graphdbg_open(&options, &agent);              once, early
 *   graphdbg_declare_node(agent, &info, &node);   once per op, parameter, input
 *   graphdbg_start(agent);                        before the first step; may
 * wait per op:   if (graphdbg_interest(agent, node)) graphdbg_executed(agent,
 * &e); per step: graphdbg_step_end(agent); graphdbg_close(agent, &ending);
 * once, at the end
 *
 * Errors. No function throws, aborts or exits. Every function is safe on a null
 * agent and after the agent has gone inert (switched off, no server, forked
 * child, internal error, closed): it then returns GRAPHDBG_DETACHED or 0 at
 * once. graphdbg_last_error() tells more about the last failure on this thread.
 *
 * Threads. Any thread may call any function at any time, except that
 * graphdbg_open and graphdbg_close are called once each. graphdbg_start,
 * graphdbg_executed and graphdbg_step_end may block while the user has the
 * program paused; around each wait the agent calls the host's begin_wait and
 * end_wait on the waiting thread. Nothing else blocks.
 *
 * Ownership. Structs and strings that are passed in are read during the call
 * only. Tensor memory is read during the call, and later only after
 * host.retain() was called for its owner and until host.release().
 *
 * Growth. Each struct begins with its size as the caller knows it; fields are
 * only ever added at the end.
 */
#ifndef GRAPHDBG_AGENT_H_
#define GRAPHDBG_AGENT_H_

#include <stddef.h>
#include <stdint.h>

/* In C++ as in C, any int may be in a field of such a type: whether it names
 * something is checked, and an error if not. */
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
  /* The agent is inert; the program goes on undebugged. */
  GRAPHDBG_DETACHED = 1,
  /* The user asked to end the program: unwind as after Ctrl-C. Returned from
   * the call at which it takes effect and from each blocking call after it. */
  GRAPHDBG_TERMINATE = 2,
  /* A wait was left because host.interrupted() said so. */
  GRAPHDBG_INTERRUPTED = 3,
  GRAPHDBG_INVALID_ARGUMENT = 4,
  /* A limit was reached; the message names it. */
  GRAPHDBG_RESOURCE_EXHAUSTED = 5,
  GRAPHDBG_INTERNAL = 6
} graphdbg_status;

/* Numbers as in proto/graphdbg/v1/tensor.proto. */
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
  GRAPHDBG_DTYPE_OTHER = 16,
  GRAPHDBG_FLOAT8_E4M3FN = 17,
  GRAPHDBG_FLOAT8_E5M2 = 18
} graphdbg_dtype;

typedef enum graphdbg_device GRAPHDBG_INT {
  GRAPHDBG_CPU = 0,
  GRAPHDBG_CUDA = 1,
  GRAPHDBG_NPU = 2,
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

/* What a model is called for. */
typedef enum graphdbg_mode GRAPHDBG_INT {
  GRAPHDBG_MODE_UNKNOWN = 0,
  GRAPHDBG_TRAIN = 1,
  GRAPHDBG_EVAL = 2
} graphdbg_mode;

/* A view of a tensor. */
typedef struct graphdbg_tensor {
  uint32_t struct_size;
  graphdbg_dtype dtype;
  graphdbg_device device;
  int32_t device_id;
  /* Address of the first element; null for a tensor without values. */
  const void* data;
  uint32_t ndim;
  const int64_t* shape;
  /* In elements; null: row major, contiguous. */
  const int64_t* strides;
  /* The same for all views of one storage; 0 if unknown. */
  uint64_t storage_id;
  /* For host.retain and host.release; null: the memory cannot be kept. */
  void* owner;
  /* The framework's own name of the dtype, as "torch.float32"; may be null. */
  const char* framework_dtype;
} graphdbg_tensor;

typedef struct graphdbg_source_frame {
  const char* file;
  uint32_t line;
  const char* function;
  /* In the user's code rather than in a framework or library. */
  int user;
} graphdbg_source_frame;

/* What the agent may ask of the program that hosts it. Any callback may be
 * null. None may call back into the agent. */
typedef struct graphdbg_host {
  uint32_t struct_size;
  void* user;

  /* Keep the memory behind `owner` alive. Called on the thread that is inside
   * graphdbg_executed, graphdbg_start or graphdbg_step_end. */
  void (*retain)(void* user, void* owner);
  /* Called on any thread. */
  void (*release)(void* user, void* owner);

  /* Around each wait at the gate, on the waiting thread. The adapter lets
   * other threads run (releases an interpreter lock) and listens for
   * interrupts. begin_wait's result is handed to the other two. */
  void* (*begin_wait)(void* user);
  void (*end_wait)(void* user, void* token);
  /* Polled at least 10 times a second during a wait: nonzero leaves it. */
  int (*interrupted)(void* user, void* token);

  /* The present view of a tensor given to graphdbg_bind_tensor: fills *out and
   * returns 0, or returns nonzero if the tensor is gone. `shape` and `strides`
   * of *out may point into the buffers given, which hold 64 numbers each.
   * Called on a training thread at a step's end or start, or on the agent's
   * thread while the program is paused. */
  int (*resolve)(void* user, void* bound, graphdbg_tensor* out, int64_t* shape,
                 int64_t* strides);

  /* How closely the agent needs to follow from now on. Called on any thread,
   * also from within graphdbg_open. */
  void (*set_level)(void* user, int level);

  /* The source stack of the execution in progress on this thread, innermost
   * frame first; returns the number of frames, at most `max`. The strings live
   * until the next call on this thread. Called from within graphdbg_executed,
   * for hits only. */
  size_t (*capture_stack)(void* user, graphdbg_source_frame* out, size_t max);

  /* The stream (cudaStream_t, aclrtStream) on which this thread's ops on a
   * device run; null, as without this callback: the device's default stream.
   * Called on training threads, from within graphdbg_executed,
   * graphdbg_start and graphdbg_step_end, for tensors on accelerators. */
  void* (*current_stream)(void* user, graphdbg_device device,
                          int32_t device_id);
} graphdbg_host;

/* Values of host.set_level. */
enum {
  /* Nothing: detached for good. */
  GRAPHDBG_LEVEL_OFF = 0,
  /* graphdbg_start and graphdbg_step_end only. */
  GRAPHDBG_LEVEL_STEPS = 1,
  /* Also graphdbg_executed, where graphdbg_interest asks for it. */
  GRAPHDBG_LEVEL_OPS = 2
};

/* What the adapter knows. Everything else (server, token, job, rank, budget
 * and so on) is read from the environment, see README. */
typedef struct graphdbg_options {
  uint32_t struct_size;
  uint32_t abi_version;          /* GRAPHDBG_ABI_VERSION */
  const char* framework;         /* "pytorch" */
  const char* framework_version; /* "2.13.0" */
  const char* device;            /* "cpu" */
  int32_t device_id;
  /* Shown when GRAPHDBG_JOB is not set; null: the program's name. */
  const char* job_name;
  const graphdbg_host* host; /* copied */
} graphdbg_options;

/* What a node reads: output `slot` of `node`. */
typedef struct graphdbg_edge {
  uint32_t node;
  uint32_t slot;
} graphdbg_edge;

/* A property of a node that people may want to see, as "strides" "[1, 1]". */
typedef struct graphdbg_attribute {
  const char* name;
  const char* value;
} graphdbg_attribute;

typedef struct graphdbg_node_info {
  uint32_t struct_size;
  /* Full name "scope/.../name", at most 4,096 bytes of UTF-8. */
  const char* name;
  graphdbg_node_kind kind;
  graphdbg_category category;
  const char* op_type; /* "aten::conv2d" */
  const graphdbg_source_frame* stack;
  size_t stack_depth;
  /* For a backward op: the node of its forward op; 0 if none. */
  uint32_t forward_node;
  /* Where a node is known only by its shape: outputs as they will be. */
  const graphdbg_tensor* outputs;
  size_t output_count;
  /* Flags of a node, below. */
  uint32_t flags;
  /* Where the graph is known before it runs: what the node will read. */
  const graphdbg_edge* inputs;
  size_t input_count;
  const graphdbg_attribute* attributes;
  size_t attribute_count;
  /* The id of the node's graph, where a program has several; null or empty:
   * its main graph. Names of nodes are unique over all graphs. */
  const char* graph;
  /* Where it is known beforehand in which order nodes will execute: the node's
   * place among them, from 1; 0: its first execution tells. */
  uint64_t order;
} graphdbg_node_info;

/* Flags of a node. */
enum {
  /* Runs a part of the forward pass again, within the backward pass, because
   * its results were not kept (activation checkpointing). */
  GRAPHDBG_NODE_RECOMPUTED = 1
};

/* An input of an execution and the node that produced it (0 if unknown). */
typedef struct graphdbg_input {
  uint32_t node;
  uint32_t slot;
  graphdbg_tensor tensor;
} graphdbg_input;

/* Flags of an execution. */
enum {
  /* The outputs are uninitialised memory (empty, resize_): not checked. */
  GRAPHDBG_UNINITIALIZED = 1,
  /* The op only moves values about (view, copy, transpose): it cannot be the
   * origin of a NaN. */
  GRAPHDBG_MOVES_VALUES = 2,
  /* The user named a non-finite number in the call (masked_fill(-inf)):
   * infinities in the outputs are meant. */
  GRAPHDBG_EXPLICIT_NONFINITE = 4,
  /* An output shares memory with an input that the op overwrote: inputs no
   * longer hold what the op read. */
  GRAPHDBG_IN_PLACE = 8,
  /* An input node's output: it was given to the program's model. */
  GRAPHDBG_GIVEN = 16
};

typedef struct graphdbg_execution {
  uint32_t struct_size;
  uint32_t node;
  uint32_t flags;
  const graphdbg_input* inputs;
  size_t input_count;
  /* In slot order. */
  const graphdbg_tensor* outputs;
  size_t output_count;
  /* The factor by which gradients in the outputs are too large, because the
   * loss was multiplied with it (mixed precision training); 0: none. */
  double grad_scale;
  /* Number of the pass within its step, from 1, where gradients of several
   * passes are added up; 0: unknown. */
  uint32_t micro_step;
  graphdbg_mode mode;
  /* Number of the iteration of the graph's innermost loop around the node,
   * from 1; 0: there is no loop. */
  uint32_t iteration;
} graphdbg_execution;

typedef struct graphdbg_ending {
  uint32_t struct_size;
  int32_t exit_code;
  /* Of an exception that ends the program; null if none. */
  const char* exception_type;
  const char* exception_message;
  const char* exception_traceback;
} graphdbg_ending;

/* Starts the agent and dials the server in the background. GRAPHDBG_DETACHED
 * with *agent null if debugging is not enabled in the environment. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_open(const graphdbg_options* options,
                                              graphdbg_agent** agent);

/* Tells the server how the program ended and frees what can be freed. Waits at
 * most 5 seconds for what is still to be sent. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_close(graphdbg_agent* agent,
                                               const graphdbg_ending* ending);

/* The node's id, from 1, dense. The same name gives the same id; kind, op type
 * and stack of the first declaration stay. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_declare_node(
    graphdbg_agent* agent, const graphdbg_node_info* info, uint32_t* node);

/* The class of a module scope, as "Conv2d" for "forward/conv1". */
GRAPHDBG_EXPORT graphdbg_status graphdbg_declare_scope(graphdbg_agent* agent,
                                                       const char* name,
                                                       const char* type);

/* The same for a scope of another graph than the main one, by that graph's
 * id. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_declare_scope_in(graphdbg_agent* agent,
                                                          const char* graph,
                                                          const char* name,
                                                          const char* type);

/* Binds a parameter's, buffer's or input's node to a tensor that outlives
 * steps; host.resolve(bound) is asked for its value. Binding again replaces.
 * Checked at the start and at each step's end if watched. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_bind_tensor(graphdbg_agent* agent,
                                                     uint32_t node,
                                                     void* bound);

/* Nonzero if graphdbg_executed has to be called for this node's execution.
 * Costs an array lookup. */
GRAPHDBG_EXPORT int graphdbg_interest(graphdbg_agent* agent, uint32_t node);

/* What graphdbg_interest returns. */
enum {
  GRAPHDBG_INTEREST_NONE = 0,
  /* Its values ought to be there if the program stops elsewhere, or nothing is
   * known of the node yet. An adapter that would have to take apart what runs
   * as one for it leaves it. */
  GRAPHDBG_INTEREST_OPTIONAL = 1,
  /* Somebody looks at this node, or at every node there is. */
  GRAPHDBG_INTEREST_REQUIRED = 2
};

/* The program is about to take its first step: waits for the server, and for
 * the user unless GRAPHDBG_WAIT=0. Only the first call does anything. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_start(graphdbg_agent* agent);

/* A node has executed: checks its watchpoints, keeps its tensors, and waits if
 * the program is to stop here. */
GRAPHDBG_EXPORT graphdbg_status
graphdbg_executed(graphdbg_agent* agent, const graphdbg_execution* execution);

/* A step has ended; the next one begins. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_step_end(graphdbg_agent* agent);

/* Tells the user a line: on stderr, marked as graphdbg's, and wherever the job
 * is watched. */
GRAPHDBG_EXPORT graphdbg_status graphdbg_notify(graphdbg_agent* agent,
                                                const char* line);

/* One line for people; empty if nothing failed on this thread. Valid until the
 * next call on this thread. */
GRAPHDBG_EXPORT const char* graphdbg_last_error(void);

/* What this machine has for accelerators and what this build can do with them,
 * as JSON; its fields are in agent/docs/devices.md. Opens vendors' libraries.
 * Valid until the next call on this thread. */
GRAPHDBG_EXPORT const char* graphdbg_accelerators(void);

/* The agent's version, as "0.1.0". */
GRAPHDBG_EXPORT const char* graphdbg_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GRAPHDBG_AGENT_H_ */
