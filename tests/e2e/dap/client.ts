// A client of `graphdbg dap`: that of VS Code's test support. It checks every message against the
// protocol's schema, and remembers what was requested, so that a test can see what was never tried.
import { DebugClient } from "@vscode/debugadapter-testsupport";
import draft04 from "ajv-draft-04";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type Json = Record<string, any>;

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "../../../..");
export const python = process.env.GRAPHDBG_TEST_PYTHON ?? join(root, ".venv/bin/python");
export const graphdbg = join(dirname(python), "graphdbg");
export const script = join(root, "tests/e2e/dap/train.py");

/** Successful requests of all tests, and what adapters have advertised. */
export const requested: { command: string; args: Json }[] = [];
export const advertised = new Set<string>();

const schema = JSON.parse(
  readFileSync(join(root, "third_party/debug_adapter_protocol/debugProtocol.json"), "utf8"),
) as Json;
const ajv = new draft04.default({ strict: false, logger: false });
ajv.addSchema({ $schema: schema.$schema, id: "dap", definitions: schema.definitions });

function check(message: Json): void {
  const name = (message.event ?? message.command) as string;
  const kind = message.type === "response" && !message.success ? "Error" : name[0]!.toUpperCase() + name.slice(1);
  const suffix = (message.type as string)[0]!.toUpperCase() + (message.type as string).slice(1);
  const definition = `${kind}${suffix}`;
  // Requests of our own have no definition.
  if (!(definition in schema.definitions) && name.startsWith("graphdbg/")) return;
  const validate = ajv.compile({ $ref: `dap#/definitions/${definition}` });
  if (!validate(message)) throw new Error(`${JSON.stringify(message)}: ${ajv.errorsText(validate.errors)}`);
}

/** The number of the line of the script that has this mark. */
export function line(mark: string, file = script): number {
  return readFileSync(file, "utf8").split("\n").findIndex((text) => text.endsWith(`# ${mark}`)) + 1;
}

export class Client extends DebugClient {
  /** The text of `output` events by category. */
  readonly output: Record<string, string> = {};
  /** What is done with requests of the adapter; returns the body of the response. */
  readonly answers: Record<string, (args: Json) => Json | undefined> = {};
  private readonly arrived: Record<string, Json[]> = {};
  private readonly waiting: Record<string, ((body: Json) => void)[]> = {};
  private readonly problems: Error[] = [];
  private hasLeft = false;

  constructor() {
    super(graphdbg, "dap", "graphdbg", { env: { ...process.env } }, true);
    // Methods of the library that its types call private.
    const library = this as unknown as { dispatch: (body: string) => void };
    const dispatch = library.dispatch.bind(this);
    library.dispatch = (body) => {
      this.receive(JSON.parse(body) as Json);
      dispatch(body);
    };
  }

  /** The body of the next event of a name that no earlier call has returned. */
  event(name: string): Promise<Json> {
    const body = this.arrived[name]?.shift();
    if (body) return Promise.resolve(body);
    return new Promise((resolve) => (this.waiting[name] ??= []).push(resolve));
  }

  /** Waits for an event whose body passes a test, and drops those before it. */
  async eventThat(name: string, passes: (body: Json) => boolean): Promise<Json> {
    for (;;) {
      const body = await this.event(name);
      if (passes(body)) return body;
    }
  }

  /** The body of the response to a request. */
  async ask(command: string, args: Json = {}): Promise<Json> {
    const response = (await this.send(command, args)) as Json;
    requested.push({ command, args });
    this.hasLeft ||= command === "disconnect";
    if (command === "initialize") for (const name of flags(response.body)) advertised.add(name);
    return (response.body ?? {}) as Json;
  }

  /** The message of the refusal of a request. */
  async refused(command: string, args: Json = {}): Promise<string> {
    try {
      await this.send(command, args);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error(`${command} was not refused`);
  }

  /** The number of the next request. */
  nextNumber(): number {
    return (this as unknown as { sequence: number }).sequence;
  }

  /** Moves the job, and returns the body of the stop that follows. */
  async move(command: string, args: Json = {}): Promise<Json> {
    await this.ask(command, { threadId: 1, ...args });
    return this.event("stopped");
  }

  async initialize(abilities: Json = {}): Promise<Json> {
    await this.start();
    return this.ask("initialize", { adapterID: "graphdbg", clientID: "test", ...abilities });
  }

  /** Launches the script, and waits until breakpoints can be set. */
  async launchScript(args: Json): Promise<void> {
    const launched = this.ask("launch", { program: script, python, stopOnEntry: true, ...args });
    await Promise.race([this.event("initialized"), launched.then(() => this.event("initialized"))]);
  }

  /** Launches the script, and returns the body of the stop before its first step. */
  async launchToEntry(args: Json): Promise<Json> {
    await this.launchScript(args);
    await this.ask("configurationDone");
    return this.event("stopped");
  }

  async frames(threadId = 1): Promise<Json[]> {
    return (await this.ask("stackTrace", { threadId })).stackFrames as Json[];
  }

  /** The node at which a rank stands. */
  async node(threadId = 1): Promise<string> {
    return (await this.frames(threadId))[0]!.name as string;
  }

  /** The rows of a scope of the innermost frame, by name. */
  async scope(name: string, frameId?: number): Promise<Record<string, Json>> {
    const frame = frameId ?? ((await this.frames())[0]!.id as number);
    const scopes = (await this.ask("scopes", { frameId: frame })).scopes as Json[];
    const found = scopes.find((each) => each.name === name);
    if (!found) throw new Error(`no scope ${name} among ${scopes.map((each) => each.name).join(", ")}`);
    return this.rows({ variablesReference: found.variablesReference });
  }

  async rows(args: Json): Promise<Record<string, Json>> {
    const variables = (await this.ask("variables", args)).variables as Json[];
    return Object.fromEntries(variables.map((each) => [each.name, each]));
  }

  /** Ends the session, and fails if a message did not follow the protocol. */
  async close(): Promise<void> {
    if (!this.hasLeft) await this.ask("disconnect", { terminateDebuggee: true });
    (this as unknown as { stopAdapter: () => void }).stopAdapter();
    if (this.problems.length > 0) throw this.problems[0];
  }

  private receive(message: Json): void {
    try {
      check(message);
    } catch (error) {
      this.problems.push(error as Error);
    }
    if (message.type === "event") this.take(message.event as string, (message.body ?? {}) as Json);
    if (message.type === "request") this.answer(message);
  }

  private take(name: string, body: Json): void {
    if (name === "output") this.output[body.category] = (this.output[body.category] ?? "") + body.output;
    if (name === "capabilities") for (const each of flags(body.capabilities)) advertised.add(each);
    const waiting = this.waiting[name]?.shift();
    if (waiting) waiting(body);
    else (this.arrived[name] ??= []).push(body);
  }

  private answer(message: Json): void {
    const command = message.command as string;
    const body = this.answers[command]?.(message.arguments as Json);
    const fields = { type: "response", seq: 0, request_seq: message.seq, command, success: body !== undefined, body };
    const content = Buffer.from(JSON.stringify(fields));
    const stream = (this as unknown as { outputStream: NodeJS.WritableStream }).outputStream;
    stream.write(Buffer.concat([Buffer.from(`Content-Length: ${content.length}\r\n\r\n`), content]));
    (this.arrived[`request ${command}`] ??= []).push(message.arguments as Json);
  }

  /** The arguments of the next request of the adapter. */
  async requestOf(command: string): Promise<Json> {
    for (;;) {
      const found = this.arrived[`request ${command}`]?.shift();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Runs a program as a terminal does. */
export function runInTerminal(args: Json): Json {
  const env: NodeJS.ProcessEnv = { ...process.env };
  for (const [name, value] of Object.entries(args.env as Record<string, string | null>)) {
    if (value === null) delete env[name];
    else env[name] = value;
  }
  const [program, ...rest] = args.args as string[];
  return { processId: spawn(program!, rest, { cwd: args.cwd as string, env, stdio: "ignore" }).pid };
}

function flags(capabilities: Json): string[] {
  const names = Object.keys(capabilities).filter((name) => capabilities[name] === true);
  if (capabilities.exceptionBreakpointFilters) names.push("exceptionBreakpointFilters");
  if (capabilities.completionTriggerCharacters) names.push("completionTriggerCharacters");
  return names;
}
