// Authentication: tracks whether the server accepts the page's requests, and in which role.

import { create } from 'zustand';
import { api } from '../api/client';
import { http } from '../api/http';
import { Problem } from '../api/problem';
import { splitCode, tokenStore } from '../api/token';
import { tokenExchange } from '../api/token_exchange';
import type { ServerInfo, Session } from '../api/types';
import { invalidToken, notSignedOut } from '../words/sign_in';
import { describe } from './describe';
import { setStorage } from './storage';
import { showToast } from './toasts';

export type AuthStatus = 'checking' | 'needed' | 'ok' | 'unreachable';

// Why the user has to sign in.
export type SignInReason = 'first' | 'code_refused' | 'session_ended';

interface AuthState {
  status: AuthStatus;
  reason: SignInReason;
  // The page was in use before; what it shows is kept while the user signs in again.
  entered: boolean;
  server: ServerInfo | null;
  // Null until it is known.
  session: Session | null;
  // Why the last attempt failed.
  message: string | null;
}

export const useAuth = create<AuthState>(() => ({
  status: 'checking',
  reason: 'first',
  entered: false,
  server: null,
  session: null,
  message: null,
}));

const isRefusal = (error: unknown): boolean => error instanceof Problem && error.status === 401;

async function loadSession(): Promise<void> {
  try {
    useAuth.setState({ session: await api.session() });
  } catch {
    // The server checks each request; without the role, the page offers everything.
    useAuth.setState({ session: null });
  }
}

function accept(server: ServerInfo): void {
  useAuth.setState({ server, status: 'ok', reason: 'first', entered: true, message: null });
  setStorage(server.storage);
  void loadSession();
}

// The server refused a request with this token, which may have been replaced since.
function refuse(token: string | null): void {
  if (token !== tokenStore.read()) return;
  tokenStore.write(null);
  useAuth.setState(({ reason, entered }) => ({
    status: 'needed',
    reason: entered || token !== null ? 'session_ended' : reason,
  }));
}

// Checks whether requests are accepted. If the connection is lost later, the status stays.
export async function checkAuth(): Promise<void> {
  const token = tokenStore.read();
  try {
    accept(await api.server());
  } catch (error) {
    if (isRefusal(error)) {
      const other = token === null ? await tokenExchange.request() : null;
      if (other === null) return refuse(token);
      tokenStore.write(other);
      return checkAuth();
    }
    if (useAuth.getState().status === 'checking') {
      useAuth.setState({ status: 'unreachable', message: describe(error) });
    }
  }
}

// Signs in with a token, or with the address that the server printed.
export async function logIn(text: string): Promise<void> {
  const { code } = splitCode(text.slice(text.indexOf('#')));
  if (code !== null && text.includes('#')) {
    if (await redeem(code)) await checkAuth();
    return;
  }
  tokenStore.write(text);
  try {
    accept(await api.server());
  } catch (error) {
    tokenStore.write(null);
    const message = isRefusal(error) ? invalidToken : describe(error);
    useAuth.setState({ status: 'needed', message });
  }
}

// Ends the session, also for the other tabs that use it. A permanent token is only forgotten.
export async function signOut(): Promise<void> {
  try {
    await api.endSession();
  } catch (error) {
    const permanent = error instanceof Problem && error.code === 'not_a_session';
    if (!permanent && !isRefusal(error)) {
      showToast({ kind: 'error', title: notSignedOut, detail: describe(error) });
      return;
    }
  }
  tokenStore.write(null);
  useAuth.setState({ status: 'needed', reason: 'first', entered: false, session: null, message: null });
}

// Exchanges the code for the token of a session. Returns false if that fails.
async function redeem(code: string): Promise<boolean> {
  try {
    const { token } = await api.login(code);
    tokenStore.write(token);
    return true;
  } catch (error) {
    useAuth.setState(isRefusal(error) ? { reason: 'code_refused', message: null } : { message: describe(error) });
    return false;
  }
}

// Uses the one-time code of the page's address, if any, and removes it from the address.
async function redeemCodeOfAddress(): Promise<void> {
  const { code, rest } = splitCode(window.location.hash);
  if (code === null) return;
  window.history.replaceState(null, '', rest === '' ? '#/' : rest);
  // If it fails, a token from an earlier visit may still be valid.
  await redeem(code);
}

export async function startAuth(): Promise<void> {
  http.onUnauthorized = (token) => {
    // The first check handles refusals itself.
    if (useAuth.getState().status === 'ok') refuse(token);
  };
  tokenExchange.serve();
  // The user may paste an address with a code while the page is open.
  window.addEventListener('hashchange', () => {
    if (splitCode(window.location.hash).code !== null) void redeemCodeOfAddress().then(checkAuth);
  });
  await redeemCodeOfAddress();
  const { message } = useAuth.getState();
  await checkAuth();
  if (useAuth.getState().status === 'needed') useAuth.setState({ message });
}
