// A fixture that runs `graphdbg start`. The server can be killed and restarted with the same
// ports and data, and its address is in the environment of the jobs.
import { test as base } from "@playwright/test";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const bin = join(root, ".venv/bin");

interface Addresses {
  url: string;
  http_address: string;
  debugger_address: string;
}

const portOf = (address: string) => address.slice(address.lastIndexOf(":") + 1);

export class DebugServer {
  private process: ChildProcess | null = null;
  private addresses: Addresses | null = null;
  private readonly data = mkdtempSync(join(tmpdir(), "graphdbg-journey-"));
  private readonly jobs: ChildProcess[] = [];

  /**
   * The page's address with its one-time code. On the ports of before, if there were any;
   * `options` are further ones of `graphdbg start`.
   */
  async start(...options: string[]): Promise<string> {
    const known = this.addresses;
    const port = known === null ? "0" : portOf(known.http_address);
    const debuggerPort = known === null ? "0" : portOf(known.debugger_address);
    const args = ["start", "--json", "--data-dir", this.data, "--port", port, "--debugger-port", debuggerPort, ...options];
    const started = spawn(join(bin, "graphdbg"), args, { stdio: ["ignore", "pipe", "inherit"] });
    this.process = started;
    const [line] = (await once(createInterface({ input: started.stdout! }), "line")) as [string];
    this.addresses = JSON.parse(line) as Addresses;
    return this.addresses.url;
  }

  /** A new address for the running server; `options` are those of `graphdbg url`. */
  async url(...options: string[]): Promise<string> {
    const args = ["url", "--data-dir", this.data, ...options];
    const { stdout } = await promisify(execFile)(join(bin, "graphdbg"), args);
    return stdout.trim();
  }

  /** As a crash would. */
  async kill(): Promise<void> {
    const running = this.process;
    this.process = null;
    if (running === null || running.exitCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  }

  /** Starts a training job; `command` is what follows `python`. */
  job(name: string, command: string[], environment: Record<string, string> = {}): void {
    const known = this.addresses;
    if (known === null) throw new Error("start the server first");
    const env = {
      ...process.env,
      GRAPHDBG_ENABLE: "1",
      GRAPHDBG_JOB: name,
      GRAPHDBG_PORT: portOf(known.debugger_address),
      GRAPHDBG_TOKEN_FILE: join(this.data, "agent_token"),
      ...environment,
    };
    this.jobs.push(spawn(join(bin, "python"), command, { env, stdio: "ignore" }));
  }

  /** Starts a program that is not debugged; `command` is what follows `python`. */
  program(command: string[]): ChildProcess {
    const started = spawn(join(bin, "python"), command, { stdio: "ignore" });
    this.jobs.push(started);
    return started;
  }

  /** As the machine of the jobs would when it fails. */
  killJobs(): Promise<void> {
    return this.endJobs("SIGKILL");
  }

  private async endJobs(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    for (const job of this.jobs) {
      if (job.exitCode !== null || job.signalCode !== null) continue;
      job.kill(signal);
      await once(job, "exit");
    }
  }

  async stop(): Promise<void> {
    await this.endJobs("SIGTERM");
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }
}

/** A script among those that are debugged in tests. */
export function host(script: string): string {
  return join(root, "tests/hosts", script);
}

export const test = base.extend<{ server: DebugServer }>({
  server: async ({}, use) => {
    const server = new DebugServer();
    await use(server);
    await server.stop();
  },
});
