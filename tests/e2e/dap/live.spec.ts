// A live job, launched by the adapter: breakpoints, moves and values.
import assert from "node:assert/strict";
import { Client, type Json, line, script } from "./client.js";

const source = { path: script };

describe("a live job", () => {
  let client: Client;

  beforeEach(async () => {
    client = new Client();
    await client.initialize({ supportsProgressReporting: true, supportsMemoryEvent: true });
  });

  afterEach(() => client.close());

  /** Sets breakpoints on lines, and launches the job. */
  async function startAt(marks: string[], args: Json = {}): Promise<Json[]> {
    await client.launchScript(args);
    const breakpoints = marks.map((mark) => ({ line: line(`line: ${mark}`) }));
    const set = await client.ask("setBreakpoints", { source, breakpoints });
    await client.ask("setExceptionBreakpoints", { filters: [] });
    await client.ask("configurationDone");
    const stopped = await client.event("stopped");
    assert.equal(stopped.reason, "entry");
    return set.breakpoints as Json[];
  }

  /** Launches the job, and continues to a node in the second step, when all nodes are known. */
  async function secondStepAt(node: string, count = 2): Promise<void> {
    await startAt([]);
    const breakpoints = [{ name: node, hitCondition: `== ${count}` }];
    await client.ask("setFunctionBreakpoints", { breakpoints });
    await client.move("continue");
    assert.equal(await client.node(), node);
    assert.equal((await client.scope("Job")).step!.value, "2");
  }

  it("stops at the entry, with a progress until the job is there", async () => {
    await startAt([]);
    assert.deepEqual((await client.ask("threads")).threads, [{ id: 1, name: "rank 0" }]);
    const frames = await client.frames();
    assert.deepEqual(frames.map((each) => each.presentationHint), ["label"]);
    assert.match(frames[0]!.name as string, /before the first step/);
    const title = (await client.event("progressStart")).title;
    assert.equal(title, "Waiting for the job");
    // PyTorch takes longer than a second to be imported.
    assert.equal((await client.event("progressUpdate")).message, "1 s");
    await client.event("progressEnd");
    assert.equal((await client.event("process")).startMethod, "launch");
  });

  it("stops at a source line in the first step, and has the line of each scope", async () => {
    const [calls, set] = await startAt(["block", "relu"]);
    // The line makes no op; its module is entered for the first time.
    assert.deepEqual((await client.move("continue")).hitBreakpointIds, [calls!.id]);
    assert.match(await client.node(), /^forward\/blocks\/0\/fc\//);
    const selected = (await client.frames()).find((each) => each.presentationHint !== "subtle")!;
    assert.deepEqual([selected.name, selected.line], ["forward", line("line: block")]);
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "breakpoint");
    assert.deepEqual(stopped.hitBreakpointIds, [set!.id]);
    assert.equal(stopped.allThreadsStopped, true);
    const frames = await client.frames();
    const lines = Object.fromEntries(frames.map((each) => [each.name, each.line]));
    assert.equal(frames[0]!.name, "forward/blocks/0/relu");
    assert.equal(lines["forward/blocks/0/relu"], line("line: relu"));
    assert.equal(lines.forward, line("line: block"));
    assert.equal(lines.main, line("line: model"));
    assert.equal(frames[0]!.source.path, script);
    assert.match((await client.scope("Locals")).hidden!.value as string, /^float32\[16, 8\]/);
    assert.equal(frames.at(-1)!.name, "<module>");
    await client.eventThat("breakpoint", ({ breakpoint }) => breakpoint.verified === true && breakpoint.id === set!.id);
    assert.deepEqual((await client.move("continue")).hitBreakpointIds, [calls!.id]);
    await client.move("continue");
    assert.equal(await client.node(), "forward/blocks/1/relu");
    const part = await client.ask("stackTrace", { threadId: 1, startFrame: 1, levels: 1 });
    assert.deepEqual([part.stackFrames.length, part.totalFrames > 2], [1, true]);
  });

  it("moves node by node, to targets, and out of scopes", async () => {
    await secondStepAt("forward/blocks/0/relu");
    const stepped = await client.move("stepIn", { singleThread: true });
    assert.equal(stepped.reason, "step");
    assert.match(await client.node(), /^forward\/blocks\/1\/fc\//);
    const frame = (await client.frames())[0]!;
    const targets = (await client.ask("stepInTargets", { frameId: frame.id })).targets as Json[];
    const head = targets.find((each) => each.label === "forward/head/addmm")!;
    assert.equal(head.line, line("line: head"));
    assert.equal((await client.move("stepIn", { targetId: head.id })).reason, "goto");
    assert.equal(await client.node(), "forward/head/addmm");
    const at = await client.ask("gotoTargets", { source, line: line("line: loss") });
    const loss = (at.targets as Json[]).find((each) => each.label === "forward/div")!;
    assert.equal((await client.move("goto", { targetId: loss.id })).reason, "goto");
    assert.equal(await client.node(), "forward/div");
  });

  it("steps over lines and out of a module", async () => {
    await secondStepAt("forward/blocks/0/fc/addmm");
    await client.move("stepOut");
    assert.equal(await client.node(), "forward/blocks/0/relu");
    await client.move("next", { granularity: "instruction" });
    assert.equal(await client.node(), "forward/blocks/1/fc/t");
    await client.move("next");
    assert.equal(await client.node(), "forward/blocks/1/relu");
  });

  it("steps over the lines that call modules, and into these", async () => {
    await secondStepAt("forward/blocks/0/relu");
    // What a client selects: the first frame that is not subtle.
    const selected = async () => {
      const { name, line: number } = (await client.frames()).find((each) => each.presentationHint !== "subtle")!;
      return [name, number];
    };
    await client.move("next");
    assert.equal(await client.node(), "forward/blocks/1/fc/t");
    assert.deepEqual(await selected(), ["forward", line("line: block")]);
    assert.equal((await client.frames())[0]!.source.presentationHint, "deemphasize");
    await client.move("stepIn");
    assert.equal(await client.node(), "forward/blocks/1/fc/t");
    assert.deepEqual(await selected(), ["forward/blocks/1/fc/t", line("line: fc")]);
    await client.move("next");
    assert.deepEqual(await selected(), ["forward/blocks/1/relu", line("line: relu")]);
    await client.move("next");
    assert.deepEqual(await selected(), ["forward/head/t", line("line: head")]);
    // The rest of a module is passed over with its line.
    await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "forward/blocks/0/relu" }] });
    await client.move("continue");
    await client.ask("setFunctionBreakpoints", { breakpoints: [] });
    await client.move("next");
    assert.deepEqual(await selected(), ["forward", line("line: block")]);
    await client.move("next");
    assert.deepEqual(await selected(), ["forward/head/t", line("line: head")]);
  });

  it("keeps what is unchanged, and honours conditions, counts and messages", async () => {
    const [first] = await startAt(["relu"]);
    const changed = await client.ask("setBreakpoints", {
      source,
      breakpoints: [
        { line: line("line: relu"), condition: "abs_max > 1e9" },
        { line: line("line: head"), hitCondition: "2" },
        { line: line("line: loss"), logMessage: "loss {max} in step {step}" },
      ],
    });
    assert.equal(changed.breakpoints[0].id, first!.id);
    const stopped = await client.move("continue");
    assert.deepEqual(stopped.hitBreakpointIds, [changed.breakpoints[1].id]);
    const job = await client.scope("Job");
    assert.equal(job.step!.value, "2");
    assert.match(client.output.console!, /^loss 1\.\d+ in step 1$/m);
    const output = await client.eventThat("output", (each) => /in step 1/.test(each.output));
    assert.equal(output.line, line("line: loss"));
  });

  it("moves a breakpoint on a line without ops", async () => {
    await startAt([]);
    await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "forward/head/addmm" }] });
    await client.move("continue");
    const wanted = line("line: fc") + 1;
    const moved = (await client.ask("setBreakpoints", { source, breakpoints: [{ line: wanted }] })).breakpoints[0];
    assert.deepEqual([moved.verified, moved.line], [true, line("line: relu")]);
    const found = await client.ask("breakpointLocations", { source, line: 1, endLine: line("line: relu") });
    assert.deepEqual(found.breakpoints, [{ line: line("line: fc") }, { line: line("line: relu") }]);
    // A line that only calls modules stops at what they execute first, in its own frame, for each round of the loop.
    await client.ask("setFunctionBreakpoints", { breakpoints: [] });
    const calls = line("line: block");
    const set = (await client.ask("setBreakpoints", { source, breakpoints: [{ line: calls }] })).breakpoints[0];
    assert.deepEqual([set.verified, set.line], [true, calls]);
    for (const block of [0, 1]) {
      assert.deepEqual((await client.move("continue")).hitBreakpointIds, [set.id]);
      assert.match(await client.node(), new RegExp(`^forward/blocks/${block}/fc/`));
      const selected = (await client.frames()).find((each) => each.presentationHint !== "subtle")!;
      assert.deepEqual([selected.name, selected.line], ["forward", calls]);
    }
  });

  it("stops at functions: a node, a pattern and the class of a module", async () => {
    await startAt([]);
    const breakpoints = [{ name: "forward/blocks/*/relu", condition: "min >= 0" }, { name: "forward/head/addmm" }];
    const set = (await client.ask("setFunctionBreakpoints", { breakpoints })).breakpoints as Json[];
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "function breakpoint");
    assert.deepEqual(stopped.hitBreakpointIds, [set[0]!.id]);
    assert.equal(await client.node(), "forward/blocks/0/relu");
    await client.ask("setFunctionBreakpoints", { breakpoints: [breakpoints[1]] });
    await client.move("continue");
    assert.equal(await client.node(), "forward/head/addmm");
    const named = (await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "Block" }] })).breakpoints[0];
    assert.equal(named.verified, true);
    await client.move("continue");
    assert.match(await client.node(), /^forward\/blocks\/0\//);
    const unknown = (await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "forward/heat/addmm" }] }))
      .breakpoints[0];
    assert.match(unknown.message, /no node is called forward\/heat\/addmm; did you mean forward\/head\/addmm/);
  });

  it("stops when a parameter changes", async () => {
    await startAt(["head"]);
    await client.move("continue");
    await client.ask("setBreakpoints", { source, breakpoints: [] });
    const frame = (await client.frames())[0]!;
    const scopes = (await client.ask("scopes", { frameId: frame.id })).scopes as Json[];
    const parameters = scopes.find((each) => each.name === "Parameters")!;
    const info = await client.ask("dataBreakpointInfo", {
      name: "weight",
      variablesReference: parameters.variablesReference,
    });
    assert.deepEqual([info.dataId, info.accessTypes], ["forward/head/weight:0", ["write"]]);
    const none = await client.ask("dataBreakpointInfo", { name: "weight.abs_max", frameId: frame.id });
    assert.equal(none.dataId, null);
    const set = await client.ask("setDataBreakpoints", { breakpoints: [{ dataId: info.dataId }] });
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "data breakpoint");
    assert.deepEqual(stopped.hitBreakpointIds, [set.breakpoints[0].id]);
  });

  it("stops at NaN and infinities, and explains them", async () => {
    await client.launchScript({ args: ["5", "3"] });
    const filters = await client.ask("setExceptionBreakpoints", {
      filters: ["nan"],
      filterOptions: [{ filterId: "inf", condition: "forward/*" }],
    });
    await client.ask("configurationDone");
    await client.event("stopped");
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "exception");
    assert.match(stopped.text, /^inf at forward\/div:0, step 3/);
    assert.deepEqual(stopped.hitBreakpointIds, [filters.breakpoints[1].id]);
    const info = await client.ask("exceptionInfo", { threadId: 1 });
    assert.equal(info.exceptionId, "inf");
    assert.match(info.description, /Division/);
    assert.match(info.details.message, /forward\/div:0, step 3, rank 0 \(origin\)/);
    assert.match(info.details.stackTrace, new RegExp(`train\\.py:${line("line: loss")}`));
    const hit = await client.scope("Hit");
    assert.match(hit.cause!.value as string, /Division/);
  });

  it("shows a tensor by its parts, page by page", async () => {
    await startAt(["relu"]);
    await client.move("continue");
    const outputs = await client.scope("Outputs");
    const out = outputs.out0!;
    assert.match(out.value as string, /^float32\[16, 8\]: min 0, max /);
    assert.deepEqual([out.type, out.indexedVariables], ["float32[16, 8]", 16]);
    const variablesReference = out.variablesReference as number;
    const named = await client.rows({ variablesReference, filter: "named" });
    assert.deepEqual(Object.keys(named), ["shape", "dtype", "statistics", "histogram", "history"]);
    const statistics = await client.rows({ variablesReference: named.statistics!.variablesReference });
    assert.equal(statistics.count!.value, "128");
    assert.equal(statistics.min!.value, "0.0");
    const histogram = await client.rows({ variablesReference: named.histogram!.variablesReference });
    const counts = Object.values(histogram).map((each) => parseInt(each.value as string));
    assert.equal(counts.reduce((sum, each) => sum + each), 128);
    const page = await client.rows({ variablesReference, filter: "indexed", start: 14, count: 5 });
    assert.deepEqual(Object.keys(page), ["[14]", "[15]"]);
    const row = page["[15]"]!;
    const elements = await client.rows({
      variablesReference: row.variablesReference,
      filter: "indexed",
      start: 6,
      count: 2,
    });
    assert.deepEqual(Object.keys(elements), ["[6]", "[7]"]);
    const again = await client.ask("evaluate", { expression: elements["[7]"]!.evaluateName, context: "variables" });
    assert.equal(again.result, elements["[7]"]!.value);

    const memory = await client.ask("readMemory", { memoryReference: out.memoryReference, offset: 15 * 32 + 28, count: 8 });
    const bytes = Buffer.from(memory.data as string, "base64");
    assert.deepEqual([bytes.length, memory.unreadableBytes], [4, 4]);
    assert.equal(bytes.readFloatLE(0), Math.fround(Number(elements["[7]"]!.value)));
  });

  it("shows inputs, parameters, attributes and gradients", async () => {
    await secondStepAt("forward/head/addmm");
    const inputs = await client.scope("Inputs");
    assert.ok(Object.keys(inputs).some((each) => each.includes("forward/blocks/1/relu")), Object.keys(inputs).join());
    assert.deepEqual(Object.keys(await client.scope("Parameters")), ["weight", "bias"]);
    assert.equal((await client.scope("Attributes")).op_type!.value, "aten::addmm");
    assert.deepEqual(Object.keys(await client.scope("Gradients")), ["none"]);
    await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "backward/head/mm_1" }] });
    await client.move("continue");
    assert.ok("mm_1" in (await client.scope("Gradients")));
  });

  it("evaluates expressions in watches, hovers and the console", async () => {
    await startAt(["relu"]);
    await client.move("continue");
    const frameId = (await client.frames())[0]!.id as number;
    const value = async (expression: string, context = "watch", more: Json = {}) =>
      (await client.ask("evaluate", { expression, frameId, context, ...more })).result as string;
    assert.match(await value("$"), /^float32\[16, 8\]/);
    assert.match(await value("self.fc.weight", "hover"), /^float32\[8, 8\]/);
    assert.equal(await value("fc/weight.count"), "64");
    assert.equal(await value("fc/weight.count", "watch", { format: { hex: true } }), "0x40");
    assert.equal(await value("max(abs(fc/weight)) == fc/weight.abs_max", "repl"), "True");
    assert.match(await value("info scope", "repl"), /forward\/blocks\/0: Block/);
    assert.match(await client.refused("evaluate", { expression: "kill", frameId, context: "repl" }), /not available/);
    const refusal = await client.refused("evaluate", { expression: "fc/weigt", frameId, context: "repl" });
    assert.match(refusal, /no node is called/);
    const targets = (await client.ask("completions", { text: "fc/we", column: 6, frameId })).targets as Json[];
    assert.deepEqual(targets.map((each) => [each.label, each.start, each.length]), [["weight", 1, 5]]);
    const fields = (await client.ask("completions", { text: "$.abs_", column: 7, frameId })).targets as Json[];
    assert.deepEqual(fields.map((each) => each.label), ["abs_mean", "abs_max"]);
  });

  it("refuses values of an earlier stop", async () => {
    await startAt(["relu"]);
    await client.move("continue");
    const frameId = (await client.frames())[0]!.id as number;
    const { scopes } = await client.ask("scopes", { frameId });
    await client.move("continue");
    const stale = "this value belongs to an earlier stop";
    const variablesReference = scopes[0].variablesReference as number;
    assert.equal(await client.refused("variables", { variablesReference }), stale);
    assert.equal(await client.refused("scopes", { frameId }), stale);
    assert.equal(await client.refused("evaluate", { expression: "$", frameId }), stale);
  });

  it("lists ops as instructions, and stops at one", async () => {
    await secondStepAt("forward/blocks/0/relu");
    const here = (await client.frames())[0]!.instructionPointerReference as string;
    const { instructions } = await client.ask("disassemble", {
      memoryReference: here,
      instructionOffset: -3,
      instructionCount: 8,
    });
    assert.equal(instructions.length, 8);
    assert.equal(instructions[3].address, here);
    assert.match(instructions[3].instruction as string, /^forward\/blocks\/0\/relu {2}aten::relu float32\[16, 8\]/);
    assert.equal(instructions[3].line, line("line: relu"));
    const outside = await client.ask("disassemble", {
      memoryReference: here,
      instructionOffset: -500,
      instructionCount: 2,
    });
    assert.deepEqual(outside.instructions.map((each: Json) => each.presentationHint), ["invalid", "invalid"]);
    const set = await client.ask("setInstructionBreakpoints", {
      breakpoints: [{ instructionReference: here, offset: 2 }],
    });
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "instruction breakpoint");
    assert.deepEqual(stopped.hitBreakpointIds, [set.breakpoints[0].id]);
    assert.equal((await client.frames())[0]!.instructionPointerReference, instructions[5].address);
  });

  it("lists graphs and files, and has the text of files", async () => {
    await startAt(["relu"]);
    await client.move("continue");
    const { modules, totalModules } = await client.ask("modules", { startModule: 0, moduleCount: 10 });
    assert.equal(modules.length, totalModules);
    const { sources } = await client.ask("loadedSources");
    assert.ok(sources.some((each: Json) => each.path === script));
    const { content } = await client.ask("source", { source, sourceReference: 0 });
    assert.match(content, /# line: relu/);
    assert.match((await client.ask("graphdbg/pageAddress")).url, /^http:\/\/127\.0\.0\.1:\d+\/#\/jobs\/train\?code=/);
  });

  it("says which files and graphs are new, and that memory which was read has changed", async () => {
    await startAt(["relu"]);
    await client.move("continue");
    const loaded = await client.eventThat("loadedSource", (each) => each.source.path === script);
    assert.equal(loaded.reason, "new");
    const { reason, module } = await client.event("module");
    const { modules } = await client.ask("modules");
    assert.deepEqual([reason, module], ["new", modules[0]]);
    const { memoryReference } = (await client.scope("Outputs")).out0!;
    await client.ask("readMemory", { memoryReference, offset: 4, count: 16 });
    await client.move("continue");
    assert.deepEqual(await client.event("memory"), { memoryReference, offset: 0, count: 20 });
  });

  it("evaluates variables of the program", async () => {
    const [set] = await startAt(["loss"]);
    assert.equal((await client.move("continue")).hitBreakpointIds[0], set!.id);
    const frameId = (await client.frames())[0]!.id as number;
    const outputs = await client.ask("evaluate", { expression: "outputs", frameId, context: "watch" });
    assert.match(outputs.result, /^float32\[16, 3\]/);
    const completed = (await client.ask("completions", { text: "outp", column: 5, frameId })).targets as Json[];
    assert.ok(completed.some((each) => each.label === "outputs"), JSON.stringify(completed));
  });

  it("pauses a running job", async () => {
    await startAt([], { args: ["100000"] });
    await client.ask("continue", { threadId: 1 });
    await client.eventThat("output", (each) => /step 3 /.test(each.output));
    const stopped = await client.move("pause");
    assert.equal(stopped.reason, "pause");
    assert.match(await client.refused("setVariable", { name: "x", value: "1", variablesReference: 1 }), /only be read/);
  });

  it("cancels a request that takes long", async () => {
    await startAt(["relu"]);
    await client.move("continue");
    const frameId = (await client.frames())[0]!.id as number;
    const number = client.nextNumber();
    // Either it was answered before, or it is cancelled.
    const value = client.ask("evaluate", { expression: "fc/weight", frameId }).catch((error: Error) => error.message);
    await client.ask("cancel", { requestId: number });
    const answer = await value;
    assert.ok(answer === "cancelled" || typeof (answer as Json).result === "string", JSON.stringify(answer));
  });

  it("starts again with the same breakpoints", async () => {
    const [set] = await startAt(["relu"]);
    await client.move("continue");
    await client.ask("restart");
    assert.equal((await client.event("stopped")).reason, "entry");
    const stopped = await client.move("continue");
    assert.deepEqual(stopped.hitBreakpointIds, [set!.id]);
  });

  it("terminates the job", async () => {
    await startAt([], { args: ["100000"] });
    await client.ask("terminate");
    const { exitCode } = await client.event("exited");
    assert.notEqual(exitCode, 0);
    await client.event("terminated");
  });

  it("reports the end of a job that runs through", async () => {
    await client.launchScript({ stopOnEntry: false, args: ["2"], breakOn: ["tensor_too_large:max_gt=1e30"] });
    await client.ask("configurationDone");
    assert.deepEqual(await client.event("exited"), { exitCode: 0 });
    await client.event("terminated");
    assert.match(client.output.stdout!, /step 2 loss/);
  });

  it("stops at an exception of the program", async () => {
    await startAt([], { args: ["5", "0", "2"] });
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "exception");
    const info = await client.ask("exceptionInfo", { threadId: 1 });
    assert.deepEqual([info.exceptionId, info.description], ["RuntimeError", "the data ends here"]);
    assert.match(info.details.stackTrace, /train\.py/);
    await client.ask("continue", { threadId: 1 });
    assert.deepEqual(await client.event("exited"), { exitCode: 1 });
  });
});
