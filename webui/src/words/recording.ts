// Texts about the recording of a live job.

import type { RankRecording } from '../api/types';
import { formatBytes, formatCount } from '../base/format';

export const record = 'Record';
export const recordHint = 'Record this job’s statistics in files, to look at later';
export const recordingOf = 'Recording';
export const recordingNow = 'Recording';
export const start = 'Start recording';
export const stop = 'Stop recording';
export const directory = 'Directory of runs';
export const directoryHint = 'on the job’s machine; empty: as the job is configured';
export const asConfigured = 'as the job is configured';
export const level = 'Level';
export const levelNames = { light: 'light: counts and ranges', statistics: 'statistics', tensors: 'statistics and values' };
export const keep = 'Keep';
export const keepNames = { all: 'all steps', ring: 'only the newest steps, until a hit or the end' };
export const collections = 'Collections';
export const takesEffect = 'Takes effect between two steps. Each rank writes on its own machine.';
export const failed = 'The recording was not changed';
export const notLoaded = 'Could not load the recording';
export const unsupported = 'This job’s agent does not switch recording on and off.';
export const ranks = 'Ranks';
export const stateNames: Record<RankRecording['state'], string> = {
  off: 'not recorded',
  starting: 'starts with the next step',
  on: 'recording',
  stopping: 'ends with this step',
};
export const rank = (number: number) => `rank ${number}`;
export const place = (host: string, path: string) => `${host}:${path}`;
export const amount = ({ steps, bytes, dropped }: RankRecording) =>
  `${formatCount(steps)} ${steps === 1 ? 'step' : 'steps'}, ${formatBytes(bytes)}` +
  (dropped > 0 ? `, ${formatCount(dropped)} records dropped` : '');
