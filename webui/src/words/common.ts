// Texts that several parts of the page share.

export const loading = 'Loading';
export const tryAgain = 'Try again';
export const cancel = 'Cancel';
export const close = 'Close';
export const dismiss = 'Dismiss';
export const messages = 'Messages';
export const selectNodeFirst = 'Select a node first.';
export const andMore = (count: string | number) => `and ${count} more`;

// Marks of a node.
export const current = 'current';
export const watched = { all: 'watched', some: 'partly watched' };

export const undo = 'Undo';
export const copied = 'Copied';
export const copyFailed = 'Copy failed';
export const clipboardDenied = 'The browser denied access to the clipboard.';
export const serverUnreachable = 'The server is not responding.';
export const suggested = 'Suggestions';
