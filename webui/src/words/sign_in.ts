// Texts of signing in.

export const signIn = 'Sign in';
export const signInTitle = 'Sign in to graphdbg';
export const codeRefusedTitle = 'This address is no longer valid';
export const codeRefused = 'It expired or was used before: an address is valid for 60 seconds and for one visit.';
export const sessionEndedTitle = 'Your session has ended';
export const sessionEnded = 'It expired or was revoked. Sign in to continue; this page keeps its state.';
// Followed by a command.
export const getAddress = 'To get a new address, run this where the server runs:';
export const urlCommand = 'graphdbg url';
export const tokenOrUrl = 'Token or full URL';
export const enterToken = 'Enter a token or an address first.';
export const invalidToken = 'Invalid token.';

export const signedInAs = (name: string, role: string) => `${name} · ${role}`;
export const signedInHint = (role: string, expires: string | null) =>
  expires === null ? `Your role is “${role}”.` : `Your role is “${role}”. The session ends at ${expires}.`;
export const signOut = 'Sign out';
export const notSignedOut = 'Could not sign out';
