/* A stub of libgraphdbg.so for linking the adapter: it has the same soname and
 * functions, so that the linker records the dependency and detects misspelled
 * names without building the agent first. Neither shipped nor run. */
#include "graphdbg/agent.h"

graphdbg_status graphdbg_open(const graphdbg_options* options,
                              graphdbg_agent** agent) {
  (void)options;
  *agent = NULL;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_failed(graphdbg_agent* agent,
                                const graphdbg_ending* ending) {
  (void)agent;
  (void)ending;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_close(graphdbg_agent* agent,
                               const graphdbg_ending* ending) {
  (void)agent;
  (void)ending;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_declare_node(graphdbg_agent* agent,
                                      const graphdbg_node_info* info,
                                      uint32_t* node) {
  (void)agent;
  (void)info;
  (void)node;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_declare_scope(graphdbg_agent* agent, const char* name,
                                       const char* type) {
  (void)agent;
  (void)name;
  (void)type;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_bind_tensor(graphdbg_agent* agent, uint32_t node,
                                     void* bound) {
  (void)agent;
  (void)node;
  (void)bound;
  return GRAPHDBG_DETACHED;
}

int graphdbg_interest(graphdbg_agent* agent, uint32_t node) {
  (void)agent;
  (void)node;
  return 0;
}

int graphdbg_interests(graphdbg_agent* agent, const uint32_t* nodes,
                       size_t count, uint8_t* interests) {
  (void)agent;
  (void)nodes;
  (void)count;
  (void)interests;
  return 0;
}

void graphdbg_begin_op(graphdbg_agent* agent, uint32_t node) {
  (void)agent;
  (void)node;
}

void graphdbg_end_op(graphdbg_agent* agent) { (void)agent; }

void graphdbg_begin_overhead(graphdbg_agent* agent) { (void)agent; }

void graphdbg_end_overhead(graphdbg_agent* agent) { (void)agent; }

graphdbg_status graphdbg_start(graphdbg_agent* agent) {
  (void)agent;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_executed(graphdbg_agent* agent,
                                  const graphdbg_execution* execution) {
  (void)agent;
  (void)execution;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_begin_pass(graphdbg_agent* agent, graphdbg_mode mode,
                                    int within_step) {
  (void)agent;
  (void)mode;
  (void)within_step;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_end_pass(graphdbg_agent* agent) {
  (void)agent;
  return GRAPHDBG_DETACHED;
}

int graphdbg_is_idle(graphdbg_agent* agent) {
  (void)agent;
  return 0;
}

int graphdbg_watches(graphdbg_agent* agent, const char* condition) {
  (void)agent;
  (void)condition;
  return 0;
}

graphdbg_status graphdbg_report(graphdbg_agent* agent,
                                const graphdbg_finding* finding) {
  (void)agent;
  (void)finding;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_notify(graphdbg_agent* agent, const char* line) {
  (void)agent;
  (void)line;
  return GRAPHDBG_DETACHED;
}

graphdbg_status graphdbg_step_end(graphdbg_agent* agent) {
  (void)agent;
  return GRAPHDBG_DETACHED;
}
