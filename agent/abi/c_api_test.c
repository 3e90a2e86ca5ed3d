/* The public header compiled as C, and the behavior of every function with a
 * null agent and in a program that is not debugged. */
/* For unsetenv. */
#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphdbg/agent.h"

static int failures = 0;

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      ++failures;                                                           \
    }                                                                       \
  } while (0)

static void SetLevel(void* user, int level) { *(int*)user = level; }

static void ANullAgentIsSafeEverywhere(void) {
  graphdbg_node_info info = {0};
  graphdbg_execution execution = {0};
  graphdbg_ending ending = {0};
  uint32_t node = 1;
  uint8_t interest = 1;
  EXPECT(graphdbg_declare_node(NULL, &info, &node) == GRAPHDBG_DETACHED);
  EXPECT(node == 0);
  EXPECT(graphdbg_declare_scope(NULL, "a", "b") == GRAPHDBG_DETACHED);
  EXPECT(graphdbg_bind_tensor(NULL, 1, &node) == GRAPHDBG_DETACHED);
  EXPECT(graphdbg_interest(NULL, 1) == 0);
  EXPECT(graphdbg_interests(NULL, &node, 1, &interest) == 0 && interest == 0);
  EXPECT(graphdbg_start(NULL) == GRAPHDBG_DETACHED);
  EXPECT(graphdbg_executed(NULL, &execution) == GRAPHDBG_DETACHED);
  graphdbg_tested_finite(NULL, &node, 1, 1);
  EXPECT(graphdbg_step_end(NULL) == GRAPHDBG_DETACHED);
  EXPECT(graphdbg_notify(NULL, "line") == GRAPHDBG_DETACHED);
  EXPECT(graphdbg_close(NULL, &ending) == GRAPHDBG_DETACHED);
}

static void OpeningIsDetachedUnlessEnabled(void) {
  int level = -1;
  graphdbg_host host = {0};
  graphdbg_options options = {0};
  graphdbg_agent* agent = (graphdbg_agent*)&level;
  host.struct_size = sizeof(host);
  host.user = &level;
  host.set_level = SetLevel;
  options.struct_size = sizeof(options);
  options.abi_version = GRAPHDBG_ABI_VERSION;
  options.framework = "c";
  options.host = &host;
  unsetenv("GRAPHDBG_ENABLE");
  unsetenv("ENABLE_MS_DEBUGGER");
  EXPECT(graphdbg_open(&options, &agent) == GRAPHDBG_DETACHED);
  EXPECT(agent == NULL);
  EXPECT(level == -1);
  EXPECT(graphdbg_open(&options, NULL) == GRAPHDBG_INVALID_ARGUMENT);
  EXPECT(strlen(graphdbg_last_error()) > 0);
}

static void ChecksumsAreThoseOfTheFormat(void) {
  /* 160 bytes: kind 6, in step 2. */
  const uint64_t hole[20] = {(uint64_t)6 << 32, 2};
  const uint64_t position = 3;
  uint32_t checksum = 0;
  EXPECT(graphdbg_checksum(0, "123456789", 9) == 0xE3069283u);
  EXPECT(graphdbg_checksum(graphdbg_checksum(0, "1234", 4), "56789", 5) ==
         0xE3069283u);
  graphdbg_checksum_records(hole, &position, 1, &checksum);
  EXPECT(checksum == 0x3B60E11Bu);
}

int main(void) {
  ANullAgentIsSafeEverywhere();
  OpeningIsDetachedUnlessEnabled();
  ChecksumsAreThoseOfTheFormat();
  EXPECT(strlen(graphdbg_version()) > 0);
  return failures == 0 ? 0 : 1;
}
