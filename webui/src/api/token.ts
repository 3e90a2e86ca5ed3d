const KEY = 'graphdbg.token';

// The access token of this page. It is stored in sessionStorage, which ends with the tab and
// is never written to disk; where storage is blocked, it lasts as long as the page.
class TokenStore {
  private memory: string | null = null;

  read(): string | null {
    try {
      return sessionStorage.getItem(KEY) ?? this.memory;
    } catch {
      return this.memory;
    }
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

export const tokenStore = new TokenStore();

// Splits the one-time code "#code=…" off the fragment of an address.
export function splitCode(fragment: string): { code: string | null; rest: string } {
  const match = /(^#|[&?])code=([^&]*)&?/.exec(fragment);
  if (!match) return { code: null, rest: fragment };
  const rest = fragment.replace(match[0], match[1] ?? '').replace(/[#&?]$/, '');
  return { code: decodeURIComponent(match[2] ?? ''), rest };
}
