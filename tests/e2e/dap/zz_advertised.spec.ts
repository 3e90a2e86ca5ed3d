// Runs last: what an adapter advertises, some test has tried.
import assert from "node:assert/strict";
import { advertised, type Json, requested } from "./client.js";

const asked = (command: string) => requested.some((each) => each.command === command);
const askedWith = (passes: (args: Json) => unknown) => requested.some((each) => passes(each.args));
const breakpointWith = (name: string) =>
  askedWith((args) => (args.breakpoints as Json[] | undefined)?.some((each) => each[name]));

/** How a request shows that a capability was used. */
const uses: Record<string, () => unknown> = {
  completionTriggerCharacters: () => asked("completions"),
  exceptionBreakpointFilters: () => askedWith((args) => args.filters?.length > 0),
  supportSuspendDebuggee: () => askedWith((args) => args.suspendDebuggee),
  supportTerminateDebuggee: () => askedWith((args) => args.terminateDebuggee),
  supportsBreakpointLocationsRequest: () => asked("breakpointLocations"),
  supportsCancelRequest: () => asked("cancel"),
  supportsCompletionsRequest: () => asked("completions"),
  supportsConditionalBreakpoints: () => breakpointWith("condition"),
  supportsConfigurationDoneRequest: () => asked("configurationDone"),
  supportsDataBreakpoints: () => asked("dataBreakpointInfo") && asked("setDataBreakpoints"),
  supportsDelayedStackTraceLoading: () => askedWith((args) => args.levels),
  supportsDisassembleRequest: () => asked("disassemble"),
  supportsEvaluateForHovers: () => askedWith((args) => args.context === "hover"),
  supportsExceptionFilterOptions: () => askedWith((args) => args.filterOptions?.[0].condition),
  supportsExceptionInfoRequest: () => asked("exceptionInfo"),
  supportsFunctionBreakpoints: () => asked("setFunctionBreakpoints"),
  supportsGotoTargetsRequest: () => asked("gotoTargets") && asked("goto"),
  supportsHitConditionalBreakpoints: () => breakpointWith("hitCondition"),
  supportsInstructionBreakpoints: () => asked("setInstructionBreakpoints"),
  supportsLoadedSourcesRequest: () => asked("loadedSources"),
  supportsLogPoints: () => breakpointWith("logMessage"),
  supportsModulesRequest: () => asked("modules"),
  supportsReadMemoryRequest: () => asked("readMemory"),
  supportsRestartRequest: () => asked("restart"),
  supportsSingleThreadExecutionRequests: () => askedWith((args) => args.singleThread),
  supportsStepBack: () => asked("stepBack") && asked("reverseContinue"),
  supportsStepInTargetsRequest: () => asked("stepInTargets") && askedWith((args) => args.targetId),
  supportsSteppingGranularity: () => askedWith((args) => args.granularity === "instruction"),
  supportsTerminateRequest: () => asked("terminate"),
  supportsValueFormattingOptions: () => askedWith((args) => args.format?.hex),
};

describe("capabilities", () => {
  it("are all used by a test", () => {
    assert.ok(advertised.size > 20);
    assert.deepEqual([...advertised].filter((name) => !uses[name]?.()), []);
  });
});
