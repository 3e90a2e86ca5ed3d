// A fixture that runs a training job under `graphdbg run`: the job's process, the address of
// its page, and a folder for screenshots.
import { test as base } from "@playwright/test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const bin = join(root, ".venv/bin");
const screenshots = join(root, ".build/screenshots");

export class DebuggedJob {
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  private readonly process: ChildProcess;
  private readonly address: Promise<string>;

  /** `options` are those of `graphdbg run`. */
  constructor(options: string[], script: string, args: string[]) {
    const command = ["run", ...options, "--", join(bin, "python"), join(root, "tests/hosts", script), ...args];
    this.process = spawn(join(bin, "graphdbg"), command, { stdio: ["ignore", "pipe", "pipe"] });
    createInterface({ input: this.process.stdout! }).on("line", (line) => this.stdout.push(line));
    this.address = new Promise((resolve, reject) => {
      createInterface({ input: this.process.stderr! }).on("line", (line) => {
        this.stderr.push(line);
        const match = /^graphdbg: page: (\S+)$/.exec(line);
        if (match?.[1]) resolve(match[1]);
      });
      this.process.once("exit", () => reject(new Error(`no page address:\n${this.stderr.join("\n")}`)));
    });
    // The error is reported where the address is awaited.
    this.address.catch(() => {});
  }

  /** The page's address with its one-time code. */
  url(): Promise<string> {
    return this.address;
  }

  /** The job's exit code once it has ended. */
  async exitCode(): Promise<number | null> {
    if (this.process.exitCode === null) await once(this.process, "exit");
    return this.process.exitCode;
  }

  /** As Ctrl-C does. */
  interrupt(): void {
    this.process.kill("SIGINT");
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null) return;
    this.process.kill("SIGTERM");
    await once(this.process, "exit");
  }
}

/** Where a test keeps a picture of what a person would see. */
export function screenshot(name: string): string {
  mkdirSync(screenshots, { recursive: true });
  return join(screenshots, `${name}.png`);
}

type Start = (script: string, ...args: string[]) => DebuggedJob;

// Starts jobs, and ends them with the test.
async function starting(options: string[], use: (start: Start) => Promise<void>): Promise<void> {
  const jobs: DebuggedJob[] = [];
  await use((script, ...args) => {
    const job = new DebuggedJob(options, script, args);
    jobs.push(job);
    return job;
  });
  for (const job of jobs) await job.stop();
}

// `debug` starts a job whose command ends with it; with `hold` the page stays.
export const test = base.extend<{ debug: Start; hold: Start }>({
  debug: ({}, use) => starting(["--no-hold"], use),
  hold: ({}, use) => starting([], use),
});
