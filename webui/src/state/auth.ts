// Authentication: tracks whether the server accepts the page's requests.

import { create } from 'zustand';
import { api } from '../api/client';
import { http } from '../api/http';
import { Problem } from '../api/problem';
import { splitCode, tokenStore } from '../api/token';
import type { ServerInfo } from '../api/types';
import { invalidToken } from '../words/job';
import { describe } from './describe';

export type AuthStatus = 'checking' | 'needed' | 'ok' | 'unreachable';

interface AuthState {
  status: AuthStatus;
  server: ServerInfo | null;
  // Why the last attempt failed.
  message: string | null;
}

export const useAuth = create<AuthState>(() => ({
  status: 'checking',
  server: null,
  message: null,
}));

// Checks whether requests are accepted. If the connection is lost later, the status stays.
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

// Logs in with the token or with the address that the server printed.
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
    const message = refused ? invalidToken : describe(error);
    useAuth.setState({ status: 'needed', message });
  }
}

async function redeem(code: string): Promise<void> {
  try {
    const { token } = await api.login(code);
    tokenStore.write(token);
  } catch (error) {
    // A token from an earlier visit may still be valid; otherwise the form shows this message.
    useAuth.setState({ message: describe(error) });
  }
}

// Uses the one-time code of the page's address, if any, and removes it from the address.
async function redeemCodeOfAddress(): Promise<void> {
  const { code, rest } = splitCode(window.location.hash);
  if (code === null) return;
  window.history.replaceState(null, '', rest === '' ? '#/' : rest);
  await redeem(code);
}

export async function startAuth(): Promise<void> {
  http.onUnauthorized = () => useAuth.setState((state) => ({ ...state, status: 'needed' }));
  // The user may paste an address with a code while the page is open.
  window.addEventListener('hashchange', () => {
    if (splitCode(window.location.hash).code !== null) void redeemCodeOfAddress().then(checkAuth);
  });
  await redeemCodeOfAddress();
  const { message } = useAuth.getState();
  await checkAuth();
  if (useAuth.getState().status === 'needed') useAuth.setState({ message });
}
