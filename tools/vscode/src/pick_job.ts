// Lets the user choose a job of this machine's servers, for `${command:pickJob}` in launch.json.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { findProgramOrTell } from './program';

const TIMEOUT_MS = 20_000;

interface Job {
  id: string;
  name: string;
  state: string;
  step: number;
}

async function listJobs(program: string): Promise<Job[]> {
  const { stdout } = await promisify(execFile)(program, ['jobs', '--all', '--json'], { timeout: TIMEOUT_MS });
  return (JSON.parse(stdout) as { jobs: Job[] }).jobs;
}

/** The id of the chosen job; undefined if the user chose none, which cancels the launch. */
export async function pickJob(): Promise<string | undefined> {
  const program = await findProgramOrTell();
  if (program === undefined) return undefined;
  try {
    const jobs = await listJobs(program);
    if (jobs.length === 0) throw new Error('No job is connected to a graphdbg server of this machine.');
    const items = jobs.map(({ id, name, state, step }) => ({ label: name, description: `${state}, step ${step}`, detail: id, id }));
    return (await vscode.window.showQuickPick(items, { placeHolder: 'Job to attach to' }))?.id;
  } catch (error) {
    void vscode.window.showErrorMessage((error as Error).message);
    return undefined;
  }
}
