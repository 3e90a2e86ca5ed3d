const KEY = 'graphdbg.token';

// The access token of this page. It is stored in sessionStorage, which ends with the tab and
// is never written to disk. Where storage is blocked, as in a frame of another site, it stays in
// memory, and the state of the history carries it over a reload.
class TokenStore {
  private memory: string | null = takeCarried();

  read(): string | null {
    try {
      return sessionStorage.getItem(KEY) ?? this.memory;
    } catch {
      return this.memory;
    }
  }

  // Before the page is left, perhaps to be loaded again.
  carry(): void {
    if (this.memory === null || isStored()) return;
    window.history.replaceState({ ...(window.history.state as object | null), [KEY]: this.memory }, '');
  }

  // Null removes the token.
  write(token: string | null): void {
    this.memory = token;
    try {
      if (token === null) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, token);
    } catch {
      // Storage is blocked: the token stays in memory only.
    }
  }
}

function isStored(): boolean {
  try {
    return sessionStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

function takeCarried(): string | null {
  const { [KEY]: token, ...rest } = (window.history.state ?? {}) as Record<string, unknown>;
  if (typeof token !== 'string') return null;
  window.history.replaceState(rest, '');
  return token;
}

export const tokenStore = new TokenStore();
window.addEventListener('beforeunload', () => tokenStore.carry());

// Splits the one-time code "#code=…" off the fragment of an address.
export function splitCode(fragment: string): { code: string | null; rest: string } {
  const match = /(^#|[&?])code=([^&]*)&?/.exec(fragment);
  if (!match) return { code: null, rest: fragment };
  const rest = fragment.replace(match[0], match[1] ?? '').replace(/[#&?]$/, '');
  return { code: decodeURIComponent(match[2] ?? ''), rest };
}
