// Several ranks, a recorded run, a job of a running server, a terminal of the client, and a Python
// debugger beside ours.
import { DebugClient } from "@vscode/debugadapter-testsupport";
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client, graphdbg, type Json, line, python, root, runInTerminal, script } from "./client.js";

const source = { path: script };

describe("sessions", () => {
  let client: Client;
  let folder: string;

  beforeEach(() => {
    client = new Client();
    folder = mkdtempSync(join(tmpdir(), "graphdbg-dap-"));
  });

  afterEach(async () => {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("have a thread for each rank, which can be moved alone", async () => {
    await client.initialize();
    const torchrun = ["-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=0", "--rdzv-backend=c10d"];
    const command = [python, ...torchrun, "--rdzv-endpoint=127.0.0.1:0", join(root, "tests/hosts/digits_ddp.py")];
    await client.ask("launch", { command, stopOnEntry: true, args: ["--steps", "3"] });
    await client.ask("configurationDone");
    assert.equal((await client.event("stopped")).reason, "entry");
    const { threads } = await client.ask("threads");
    assert.deepEqual(threads, [
      { id: 1, name: "rank 0" },
      { id: 2, name: "rank 1" },
    ]);
    const file = join(root, "tests/hosts/digits_ddp.py");
    const breakpoints = [{ line: line("first bad value", file) }];
    await client.ask("setBreakpoints", { source: { path: file }, breakpoints });
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "breakpoint");
    const stoodAt = (await client.frames(2))[0]!;
    const first = (await client.frames(1))[0]!.name as string;
    const moved = await client.move("stepIn", { singleThread: true });
    assert.equal(moved.threadId, 1);
    assert.notEqual(await client.node(1), first);
    assert.equal(await client.node(2), stoodAt.name);
    const job = await client.scope("Job", (await client.frames(2))[0]!.id);
    assert.equal(job.rank!.value, "1");
  });

  it("go both ways in a recorded run", async () => {
    await client.initialize();
    await client.launchScript({ stopOnEntry: false, record: join(folder, "runs"), args: ["4", "3"] });
    await client.ask("configurationDone");
    await client.event("terminated");
    await client.close();

    const run = join(folder, "runs", readdirSync(join(folder, "runs"))[0]!);
    client = new Client();
    await client.initialize();
    await client.ask("attach", { run });
    await client.event("initialized");
    const { capabilities } = await client.event("capabilities");
    assert.deepEqual(capabilities, { supportsStepBack: true, supportsRestartRequest: false });
    await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "forward/head/addmm" }] });
    const breakpoints = [{ line: line("line: loss"), logMessage: "the loss of step {step}" }];
    await client.ask("setBreakpoints", { source, breakpoints });
    await client.ask("configurationDone");
    assert.equal((await client.event("stopped")).reason, "entry");
    assert.equal((await client.move("continue")).reason, "function breakpoint");
    await client.move("continue");
    assert.match(client.output.console!, /^the loss of step 1$/m);
    assert.equal((await client.eventThat("output", (each) => /of step 1/.test(each.output))).line, line("line: loss"));
    assert.equal((await client.scope("Job")).step!.value, "2");
    assert.equal(await client.node(), "forward/head/addmm");
    await client.move("stepBack", { granularity: "instruction" });
    assert.match(await client.node(), /^forward\/(blocks\/1|head)\//);
    await client.move("stepBack");
    await client.move("reverseContinue");
    assert.equal(await client.node(), "forward/head/addmm");
    assert.equal((await client.scope("Job")).step!.value, "1");
    await client.move("stepOut");
    const outside = await client.node();
    assert.doesNotMatch(outside, /^forward\/head\//);
    await client.move("next");
    assert.notEqual(await client.node(), outside);
    // The line that calls a block, as a client selects it, and the one behind the loop; then back again.
    const selected = async () => (await client.frames()).find((each) => each.presentationHint !== "subtle")!;
    await client.ask("setBreakpoints", { source, breakpoints: [] });
    await client.ask("setFunctionBreakpoints", { breakpoints: [{ name: "forward/blocks/0/fc/addmm" }] });
    await client.move("continue");
    for (const move of ["next", "stepBack"]) {
      await client.move(move);
      assert.match(await client.node(), /^forward\/blocks\/1\//);
      assert.deepEqual([(await selected()).name, (await selected()).line], ["forward", line("line: block")]);
      if (move === "next") await client.move("next");
      if (move === "next") assert.equal((await selected()).line, line("line: head"));
    }
    assert.match((await client.ask("graphdbg/pageAddress")).url, /#\/runs\//);
    assert.match(await client.refused("pause", { threadId: 1 }), /does not run/);
    assert.match(await client.refused("restart"), /only a program that was launched/);
  });

  it("attach to a job, and leave it as it was", async () => {
    const server = await Server.start(folder);
    try {
      const job = server.job([script, "100000"]);
      await server.state("train", "paused");
      await client.initialize();
      await client.ask("attach", { server: server.address, job: "train", tokenFile: join(folder, "token") });
      await client.event("initialized");
      await client.ask("setBreakpoints", { source, breakpoints: [{ line: line("line: head") }] });
      await client.ask("configurationDone");
      assert.equal((await client.event("stopped")).reason, "entry");
      await client.move("continue");
      assert.equal((await server.get("/jobs/train/watchpoints")).watchpoints.length, 1);
      await client.ask("disconnect", { suspendDebuggee: true });
      assert.deepEqual((await server.get("/jobs/train/watchpoints")).watchpoints, []);
      assert.equal((await server.get("/jobs/train")).state, "paused");
      job.kill("SIGKILL");
    } finally {
      await server.stop();
    }
  });

  it("run a program in a terminal of the client", async () => {
    client.answers.runInTerminal = runInTerminal;
    await client.initialize({ supportsRunInTerminalRequest: true });
    await client.launchToEntry({ console: "integratedTerminal", args: ["2"] });
    const { kind, args } = await client.requestOf("runInTerminal");
    assert.deepEqual([kind, args], ["integrated", [python, script, "2"]]);
    await client.ask("continue", { threadId: 1 });
    await client.event("terminated");
  });

  it("debug the Python code beside the graph", async () => {
    client.answers.startDebugging = () => ({});
    await client.initialize({ supportsStartDebuggingRequest: true });
    await client.launchScript({ debugPython: true, args: ["3"] });
    await client.ask("setBreakpoints", { source, breakpoints: [{ line: line("line: head") }] });
    await client.ask("configurationDone");
    const { request, configuration } = await client.requestOf("startDebugging");
    assert.deepEqual([request, configuration.type], ["attach", "debugpy"]);

    const debugpy = new DebugClient("", "", "debugpy");
    await debugpy.start(configuration.connect.port as number);
    await debugpy.initializeRequest();
    const attached = debugpy.attachRequest({ ...configuration, justMyCode: false });
    await debugpy.waitForEvent("initialized", 60_000);
    await debugpy.configurationDoneRequest();
    await attached;
    assert.equal((await client.event("stopped")).reason, "entry");
    const stopped = await client.move("continue");
    assert.equal(stopped.reason, "breakpoint");
    assert.equal(stopped.text, "Python continues when the graph does");
    assert.ok((await debugpy.threadsRequest()).body.threads.length > 0);
  });
});

/** `graphdbg start` with its data in a folder. */
class Server {
  private constructor(
    private readonly process: ChildProcess,
    private readonly folder: string,
    readonly address: string,
    private readonly port: string,
    private readonly token: string,
  ) {}

  static async start(folder: string): Promise<Server> {
    const args = ["start", "--json", "--port", "0", "--debugger-port", "0", "--data-dir", folder];
    const started = spawn(graphdbg, args, { stdio: ["ignore", "pipe", "ignore"] });
    const [first] = (await once(createInterface({ input: started.stdout! }), "line")) as [string];
    const { http_address: address, debugger_address: agents } = JSON.parse(first) as Json;
    const token = readFileSync(join(folder, "token"), "utf8").trim();
    return new Server(started, folder, address as string, (agents as string).split(":").at(-1)!, token);
  }

  job(command: string[]): ChildProcess {
    const env = {
      ...process.env,
      GRAPHDBG_ENABLE: "1",
      GRAPHDBG_PORT: this.port,
      GRAPHDBG_TOKEN_FILE: join(this.folder, "agent_token"),
      GRAPHDBG_JOB: "train",
    };
    return spawn(python, command, { env, stdio: "ignore" });
  }

  async get(path: string): Promise<Json> {
    const headers = { Authorization: `Bearer ${this.token}` };
    return (await (await fetch(`${this.address}/api/v1${path}`, { headers })).json()) as Json;
  }

  async state(job: string, state: string): Promise<void> {
    while ((await this.get(`/jobs/${job}`)).state !== state) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  async stop(): Promise<void> {
    this.process.kill("SIGTERM");
    if (this.process.exitCode === null) await once(this.process, "exit");
  }
}
