/* A training program without a framework, debuggable with graphdbg: fits a line
 * to points by gradient descent. Plain C; see README.md in this directory.
 *
 *   regression [--steps N] [--rate R]
 *
 * With a rate above 1, each step overshoots more than the previous one: the
 * loss grows until it is infinite, and then the weights become NaN.
 *
 *   forward/points        input      x of 64 points
 *   forward/line/weight   parameter  slope and intercept
 *   forward/line/predict  op         64 predictions
 *   forward/loss          op         mean squared error
 *   backward/gradient     op         2 derivatives of the loss
 *   optimizer/descend     op         updates the weight
 */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphdbg/agent.h"

enum { POINTS = 64, EXIT_INTERRUPTED = 130, EXIT_TERMINATED = 143 };

/* --- Tensors. They have reference counts, so that the agent can retain tensors
 * that the program no longer needs. */

struct tensor {
  atomic_int references;
  int64_t size;
  float values[];
};

static struct tensor* new_tensor(int64_t size) {
  struct tensor* tensor =
      malloc(sizeof(*tensor) + (size_t)size * sizeof(float));
  if (tensor == NULL) abort();
  atomic_init(&tensor->references, 1);
  tensor->size = size;
  return tensor;
}

static void drop(struct tensor* tensor) {
  if (atomic_fetch_sub(&tensor->references, 1) == 1) free(tensor);
}

/* --- The host: callbacks of the agent. */

static volatile sig_atomic_t interrupts = 0;

static void on_interrupt(int signal) {
  (void)signal;
  interrupts = 1;
}

static graphdbg_tensor view_of(struct tensor* tensor) {
  graphdbg_tensor view = {0};
  view.struct_size = sizeof(view);
  view.dtype = GRAPHDBG_FLOAT32;
  view.device = GRAPHDBG_CPU;
  view.data = tensor->values;
  view.ndim = 1;
  view.shape = &tensor->size;
  view.storage_id = (uintptr_t)tensor;
  view.owner = tensor;
  view.framework_dtype = "float";
  return view;
}

static void host_retain(void* user, void* owner) {
  (void)user;
  atomic_fetch_add(&((struct tensor*)owner)->references, 1);
}

static void host_release(void* user, void* owner) {
  (void)user;
  drop(owner);
}

/* Ctrl-C ends a wait. */
static int host_interrupted(void* user, void* token) {
  (void)user;
  (void)token;
  return interrupts;
}

/* Bound tensors live as long as the program. */
static int host_resolve(void* user, void* bound, graphdbg_tensor* out,
                        int64_t* shape, int64_t* strides) {
  (void)user;
  (void)strides;
  *out = view_of(bound);
  shape[0] = *out->shape;
  out->shape = shape;
  return 0;
}

/* --- Reports to the debugger. All functions may be called with a null agent
 * and then have no effect. */

struct debug_state {
  graphdbg_agent* agent;
  uint32_t points, weight, predict, loss, gradient, descend;
};

static uint32_t declare(graphdbg_agent* agent, const char* name,
                        graphdbg_node_kind kind, graphdbg_category category,
                        uint32_t line) {
  const graphdbg_source_frame frame = {__FILE__, line, "train", 1};
  graphdbg_node_info info = {0};
  uint32_t node = 0;
  info.struct_size = sizeof(info);
  info.name = name;
  info.kind = kind;
  info.category = category;
  info.op_type = kind == GRAPHDBG_OP ? strrchr(name, '/') + 1 : "";
  info.stack = &frame;
  info.stack_depth = 1;
  graphdbg_declare_node(agent, &info, &node);
  return node;
}

static void attach(struct debug_state* d, struct tensor* points,
                   struct tensor* weight) {
  const graphdbg_host host = {.struct_size = sizeof(host),
                              .retain = host_retain,
                              .release = host_release,
                              .interrupted = host_interrupted,
                              .resolve = host_resolve};
  const graphdbg_options options = {.struct_size = sizeof(options),
                                    .abi_version = GRAPHDBG_ABI_VERSION,
                                    .framework = "plain C",
                                    .framework_version = "11",
                                    .device = "cpu",
                                    .host = &host};
  /* Null unless GRAPHDBG_ENABLE is set. */
  graphdbg_open(&options, &d->agent);
  graphdbg_agent* agent = d->agent;
  d->points = declare(agent, "forward/points", GRAPHDBG_INPUT, GRAPHDBG_OTHER,
                      __LINE__);
  d->weight = declare(agent, "forward/line/weight", GRAPHDBG_PARAMETER,
                      GRAPHDBG_WEIGHT, __LINE__);
  graphdbg_declare_scope(agent, "forward/line", "Line");
  graphdbg_bind_tensor(agent, d->points, points);
  graphdbg_bind_tensor(agent, d->weight, weight);
}

/* Reports that an op has run. Declares its node at the first call, with the
 * line of the caller. Inputs refer to the nodes that produced them. */
struct operand {
  uint32_t node;
  struct tensor* tensor;
};

static graphdbg_status op_executed(graphdbg_agent* agent, uint32_t* node,
                                   const char* name, graphdbg_category category,
                                   uint32_t line, uint32_t flags,
                                   const struct operand* operands, size_t count,
                                   struct tensor* output) {
  if (*node == 0) *node = declare(agent, name, GRAPHDBG_OP, category, line);
  if (!graphdbg_interest(agent, *node)) return GRAPHDBG_OK;
  graphdbg_input inputs[4];
  const graphdbg_tensor out = view_of(output);
  graphdbg_execution execution = {0};
  for (size_t i = 0; i < count; ++i) {
    inputs[i] =
        (graphdbg_input){operands[i].node, 0, view_of(operands[i].tensor)};
  }
  execution.struct_size = sizeof(execution);
  execution.node = *node;
  execution.flags = flags;
  execution.inputs = inputs;
  execution.input_count = count;
  execution.outputs = &out;
  execution.output_count = 1;
  return graphdbg_executed(agent, &execution);
}

/* --- The training. */

static struct tensor* predict(const struct tensor* x, const struct tensor* w) {
  struct tensor* y = new_tensor(x->size);
  for (int64_t i = 0; i < x->size; ++i) {
    y->values[i] = w->values[0] * x->values[i] + w->values[1];
  }
  return y;
}

static float truth(float x) { return 3 * x - 1; }

static struct tensor* squared_error(const struct tensor* x,
                                    const struct tensor* y) {
  struct tensor* loss = new_tensor(1);
  loss->values[0] = 0;
  for (int64_t i = 0; i < y->size; ++i) {
    const float error = y->values[i] - truth(x->values[i]);
    loss->values[0] += error * error / (float)y->size;
  }
  return loss;
}

static struct tensor* derivative(const struct tensor* x,
                                 const struct tensor* y) {
  struct tensor* gradient = new_tensor(2);
  gradient->values[0] = gradient->values[1] = 0;
  for (int64_t i = 0; i < y->size; ++i) {
    const float error = 2 * (y->values[i] - truth(x->values[i]));
    gradient->values[0] += error * x->values[i] / (float)y->size;
    gradient->values[1] += error / (float)y->size;
  }
  return gradient;
}

static void descend(struct tensor* w, const struct tensor* g, float rate) {
  for (int64_t i = 0; i < w->size; ++i) w->values[i] -= rate * g->values[i];
}

/* Takes one step. If the result is GRAPHDBG_TERMINATE or GRAPHDBG_INTERRUPTED,
 * the training has to end. */
static graphdbg_status train(struct debug_state* d, struct tensor* x,
                             struct tensor* w, float rate, float* loss_value) {
  graphdbg_status status;
  struct tensor *y = predict(x, w), *loss, *gradient;
  status = op_executed(
      d->agent, &d->predict, "forward/line/predict", GRAPHDBG_ACTIVATION,
      __LINE__, 0, (struct operand[]){{d->points, x}, {d->weight, w}}, 2, y);
  loss = squared_error(x, y);
  *loss_value = loss->values[0];
  if (status == GRAPHDBG_OK) {
    status =
        op_executed(d->agent, &d->loss, "forward/loss", GRAPHDBG_ACTIVATION,
                    __LINE__, 0, (struct operand[]){{d->predict, y}}, 1, loss);
  }
  gradient = derivative(x, y);
  if (status == GRAPHDBG_OK) {
    status = op_executed(d->agent, &d->gradient, "backward/gradient",
                         GRAPHDBG_GRADIENT, __LINE__, 0,
                         (struct operand[]){{d->predict, y}, {d->points, x}}, 2,
                         gradient);
  }
  descend(w, gradient, rate);
  if (status == GRAPHDBG_OK) {
    status = op_executed(
        d->agent, &d->descend, "optimizer/descend", GRAPHDBG_OPTIMIZER,
        __LINE__, GRAPHDBG_IN_PLACE,
        (struct operand[]){{d->weight, w}, {d->gradient, gradient}}, 2, w);
  }
  drop(y);
  drop(loss);
  drop(gradient);
  return status == GRAPHDBG_OK ? graphdbg_step_end(d->agent) : status;
}

static int finish(struct debug_state* d, graphdbg_status status) {
  graphdbg_ending ending = {0};
  ending.struct_size = sizeof(ending);
  ending.exit_code = status == GRAPHDBG_TERMINATE     ? EXIT_TERMINATED
                     : status == GRAPHDBG_INTERRUPTED ? EXIT_INTERRUPTED
                                                      : EXIT_SUCCESS;
  graphdbg_close(d->agent, &ending);
  return ending.exit_code;
}

int main(int argc, char** argv) {
  long steps = 20;
  float rate = 0.5f;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--steps") == 0) steps = atol(argv[i + 1]);
    if (strcmp(argv[i], "--rate") == 0) rate = strtof(argv[i + 1], NULL);
  }
  signal(SIGINT, on_interrupt);

  struct tensor* x = new_tensor(POINTS);
  struct tensor* w = new_tensor(2);
  for (int i = 0; i < POINTS; ++i) x->values[i] = sinf((float)i);
  w->values[0] = w->values[1] = 0;

  struct debug_state d = {0};
  attach(&d, x, w);
  graphdbg_status status = graphdbg_start(d.agent);
  /* GRAPHDBG_DETACHED means that the program is not being debugged. */
  for (long step = 1; step <= steps; ++step) {
    float loss = 0;
    if (status == GRAPHDBG_TERMINATE || status == GRAPHDBG_INTERRUPTED) break;
    status = train(&d, x, w, rate, &loss);
    printf("step %ld loss %g\n", step, loss);
    fflush(stdout);
  }
  printf("weight %g %g\n", w->values[0], w->values[1]);
  const int code = finish(&d, status);
  drop(x);
  drop(w);
  return code;
}
