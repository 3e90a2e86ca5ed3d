// A fixture that follows a page of the guide: it runs the commands that the page shows, and
// takes its pictures. With GRAPHDBG_GUIDE=1 the pictures replace those of the guide.
import { expect, type Locator, type Page, test as base } from "@playwright/test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { press, tabTo, violations } from "./accessibility.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const guide = join(root, "webui/docs/guide");
const retake = process.env.GRAPHDBG_GUIDE === "1";
const pictures = retake ? join(guide, "images") : join(root, ".build/screenshots/guide");

export const WAIT = { timeout: 60_000 };
// Each process of a launcher imports PyTorch before there is a job, which takes a minute on a busy machine.
const START = { timeout: 200_000 };

const fence = /^```sh\n([\s\S]*?)^```$/gm;

/** The commands of a page, without their comments. */
export function commandsOf(name: string): string[] {
  const text = readFileSync(join(guide, `${name}.md`), "utf8");
  const blocks = [...text.matchAll(fence)].map((match) => match[1] ?? "");
  return blocks
    .flatMap((block) => block.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

/** A command of the guide while it runs. */
class Running {
  readonly lines: string[] = [];
  private readonly process: ChildProcess;
  private readonly address: Promise<string>;

  constructor(command: string, directory: string) {
    // Files in /tmp are written to the directory instead.
    const env = { ...process.env, PATH: `${join(root, ".venv/bin")}:${process.env.PATH}`, GRAPHDBG_KEEP_JOBS: "0", OMP_NUM_THREADS: "1" };
    const text = command.replaceAll(/\/tmp\//g, `${directory}/`);
    this.process = spawn("bash", ["-c", `exec ${text}`], { cwd: root, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.address = new Promise((resolve, reject) => {
      for (const stream of [this.process.stdout!, this.process.stderr!]) {
        createInterface({ input: stream }).on("line", (line) => {
          this.lines.push(line);
          const match = /(http:\/\/127\.0\.0\.1:\S+)/.exec(line);
          if (match?.[1]) resolve(match[1]);
        });
      }
      this.process.once("exit", () => reject(new Error(`no address:\n${this.lines.join("\n")}`)));
    });
    // The error is reported where the address is awaited.
    this.address.catch(() => {});
  }

  url(): Promise<string> {
    return this.address;
  }

  async end(code: number): Promise<string> {
    if (this.process.exitCode === null) await once(this.process, "exit");
    expect(this.process.exitCode, this.lines.join("\n")).toBe(code);
    return this.lines.join("\n");
  }

  /** Ends it as Ctrl-C does, which is needed twice: for the job, and for the page that stays after it. */
  async stop(): Promise<void> {
    const ended = () => this.process.exitCode !== null || this.process.signalCode !== null;
    for (let tries = 0; !ended(); tries += 1) {
      const group = -(this.process.pid as number);
      process.kill(group, tries < 5 ? "SIGINT" : "SIGKILL");
      await Promise.race([once(this.process, "exit"), setTimeout(1500)]);
    }
  }
}

/** A page of the guide, followed by keys alone. */
export class Guide {
  private readonly left: string[];
  private readonly running: Running[] = [];
  private readonly directory = mkdtempSync(join(tmpdir(), "graphdbg-guide-"));

  constructor(
    readonly page: Page,
    name: string,
  ) {
    this.left = commandsOf(name);
  }

  /** Starts the next command of the page, which has to contain `part`. */
  start(part: string): Running {
    const command = this.left.shift() ?? "";
    expect(command).toContain(part);
    const started = new Running(command, this.directory);
    this.running.push(started);
    return started;
  }

  /** Runs the next command to its end and returns what it prints. */
  run(part: string, code = 0): Promise<string> {
    return this.start(part).end(code);
  }

  /** Runs the next command and opens the page of its job. */
  async open(part: string): Promise<void> {
    await this.stop();
    const started = this.start(part);
    await this.page.goto(await started.url());
    const job = this.page.getByRole("table").getByRole("link").first();
    await job.or(this.state()).first().waitFor(START);
    if (await job.isVisible()) await this.press(job);
    await expect(this.state()).toHaveText(/paused|model/i, START);
  }

  state(): Locator {
    return this.page.getByRole("status", { name: "Job state" });
  }

  tabTo(target: Locator): Promise<void> {
    return tabTo(this.page, target);
  }

  press(target: Locator, key = "Enter"): Promise<void> {
    return press(this.page, target, key);
  }

  /** Runs a command of the palette. */
  async command(text: string): Promise<void> {
    await this.page.keyboard.press("Control+k");
    await expect(this.page.getByRole("combobox", { name: "Command or node" })).toBeFocused();
    await this.page.keyboard.type(text);
    await this.page.keyboard.press("Enter");
    await expect(this.page.getByRole("dialog")).toBeHidden();
  }

  /** Takes a picture, and looks for defects of accessibility in what it shows. */
  async picture(name: string): Promise<void> {
    const { page } = this;
    mkdirSync(pictures, { recursive: true });
    await expect(page.getByText(/^Loading/)).toHaveCount(0, WAIT);
    await page.evaluate(() => document.fonts.ready);
    // Messages leave by themselves, cameras come to rest.
    await expect(page.getByRole("log", { name: "Messages" }).getByRole("status")).toHaveCount(0, WAIT);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(pictures, `${name}.png`), animations: "disabled", caret: "hide" });
    expect(await violations(page), name).toEqual([]);
  }

  /** All commands of the page have been run. */
  done(): void {
    expect(this.left).toEqual([]);
  }

  async stop(): Promise<void> {
    for (const each of this.running) await each.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export const test = base.extend<{ follow: (name: string) => Guide }>({
  viewport: { width: 1280, height: 720 },
  colorScheme: process.env.GRAPHDBG_SCHEME === "dark" ? "dark" : "light",
  follow: async ({ page }, use) => {
    const guides: Guide[] = [];
    await use((name) => {
      const opened = new Guide(page, name);
      guides.push(opened);
      return opened;
    });
    for (const each of guides) await each.close();
  },
});
