// Texts of the log.

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
