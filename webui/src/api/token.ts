// Where the page keeps its token. Storage may be blocked; then it lives as long
// as the page.
const KEY = 'graphdbg.token';
let memory: string | null = null;

export function readToken(): string | null {
  try {
    return localStorage.getItem(KEY) ?? memory;
  } catch {
    return memory;
  }
}

export function writeToken(token: string | null): void {
  memory = token;
  try {
    if (token === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, token);
  } catch {
    // Kept in memory only.
  }
}

// Takes the one-time code of "#code=…" out of an address's fragment.
export function takeCode(fragment: string): { code: string | null; rest: string } {
  const match = /(^#|[&?])code=([^&]*)&?/.exec(fragment);
  if (!match) return { code: null, rest: fragment };
  const kept = fragment.replace(match[0], match[1] ?? '').replace(/[#&?]$/, '');
  return { code: decodeURIComponent(match[2] ?? ''), rest: kept };
}
