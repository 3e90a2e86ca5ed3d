// May the page talk to the server, and if not, why.

import { create } from 'zustand';
import { api } from '../api/client';
import { http } from '../api/http';
import { describe, Problem } from '../api/problem';
import { splitCode, tokenStore } from '../api/token';
import type { ServerInfo } from '../api/types';

export type AuthStatus = 'checking' | 'needed' | 'ok' | 'unreachable';

interface AuthState {
  status: AuthStatus;
  server: ServerInfo | null;
  // What was wrong with the last try.
  message: string | null;
}

export const useAuth = create<AuthState>(() => ({
  status: 'checking',
  server: null,
  message: null,
}));

// Finds out whether requests are answered; keeps the page as it is on a break.
export async function checkAuth(): Promise<void> {
  try {
    useAuth.setState({ server: await api.server(), status: 'ok', message: null });
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      useAuth.setState((state) => ({ ...state, status: 'needed' }));
    } else if (useAuth.getState().status === 'checking') {
      useAuth.setState({ status: 'unreachable', message: describe(error) });
    }
  }
}

// By the token, or by the address that the server printed.
export async function logIn(text: string): Promise<void> {
  const { code } = splitCode(text.slice(text.indexOf('#')));
  if (code !== null && text.includes('#')) {
    await redeem(code);
    return checkAuth();
  }
  tokenStore.write(text);
  try {
    const server = await api.server();
    useAuth.setState({ server, status: 'ok', message: null });
  } catch (error) {
    tokenStore.write(null);
    const refused = error instanceof Problem && error.status === 401;
    const message = refused ? 'The server does not know this token.' : describe(error);
    useAuth.setState({ status: 'needed', message });
  }
}

async function redeem(code: string): Promise<void> {
  try {
    const { token } = await api.login(code);
    tokenStore.write(token);
  } catch (error) {
    // A token from an earlier visit may still do; else the form says this.
    useAuth.setState({ message: describe(error) });
  }
}

// The one-time code of the page's address, if there is one: it is used once and goes.
async function takeCodeOfAddress(): Promise<void> {
  const { code, rest } = splitCode(window.location.hash);
  if (code === null) return;
  window.history.replaceState(null, '', rest === '' ? '#/' : rest);
  await redeem(code);
}

export async function startAuth(): Promise<void> {
  http.onUnauthorized = () => useAuth.setState((state) => ({ ...state, status: 'needed' }));
  // An address with a code may be pasted where the page is already.
  window.addEventListener('hashchange', () => {
    if (splitCode(window.location.hash).code !== null) void takeCodeOfAddress().then(checkAuth);
  });
  await takeCodeOfAddress();
  const { message } = useAuth.getState();
  await checkAuth();
  if (useAuth.getState().status === 'needed') useAuth.setState({ message });
}
