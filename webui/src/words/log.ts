// Texts of the log.

import type { Rank } from '../api/types';

export const log = 'Log';
export const empty = 'No events yet';
export const noneMatch = 'No matching entries';
export const filterLog = 'Filter log';
export const allEntries = 'all entries';
export const filters = {
  commands: 'commands',
  stops: 'stops',
  watchpoints: 'watchpoints',
  ranks: 'ranks',
  messages: 'messages',
};

// Who sent a command.
export const thisPage = 'this page';
export const anotherBrowser = 'another browser';
export const unknownClient = 'unknown client';
export const clientAt = (client: string, host: string) => `${client} at ${host}`;
export const clientOf = (user: string, client: string) => `${user}, ${client}`;

// Entries.
export const failedAt = (step: number, why: string) => `Failed, step ${step}: ${why}`;
export const stateAt = (state: string, step: number) => `${state}, step ${step}`;
export const stoppedBy = (state: string, watchpoints: readonly string[]) => `${state}: ${watchpoints.join(', ')}`;
export const rankConnected = (again: boolean, { rank, pid, host, device }: Rank) =>
  `Rank ${rank} ${again ? 'reconnected' : 'connected'}: process ${pid} on ${host}, ${device}`;
export const rankLeft = ({ rank, step }: Rank, state: string) => `Rank ${rank} left: ${state.toLowerCase()}, step ${step}`;
export const controlTaken = (name: string) => `${name} took over the control`;
export const onRank = (rank: number) => `on rank ${rank}`;
export const fromRank = (rank: number, message: string) => `Rank ${rank}: ${message}`;
export const refused = (command: string | undefined, why: string) => `${command ?? 'A command'} was refused: ${why}`;
export const watchpointSet = (id: number, what: string) => `Watchpoint ${id} set: ${what}`;
export const watchpointChanged = (id: number, what: string) => `Watchpoint ${id} changed: ${what}`;
export const watchpointDeleted = (id: number, what: string | null) =>
  what === null ? `Watchpoint ${id} deleted` : `Watchpoint ${id} deleted: ${what}`;
export const watchpointSwitched = (id: number, on: boolean) => `Watchpoint ${id} switched ${on ? 'on' : 'off'}`;
export const watchpointError = (id: number, error: string) => `Watchpoint ${id}: ${error}`;
export const connectionLost = 'Connection to the server lost';
export const reconnected = 'Reconnected to the server';
export const messageFromJob = (level: string) => (level === 'info' ? 'Message from job' : `Message from job (${level})`);
