// The first question of a visit, asked while the page's scripts are still on their way.

import { readToken } from './token';

let asked: Promise<Response> | null = null;

export function askServerEarly(): void {
  const token = readToken();
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (token !== null) headers['Authorization'] = `Bearer ${token}`;
  asked = fetch('/api/v1/server', { headers, cache: 'no-store' });
  // Whoever takes the answer hears of a failure.
  asked.catch(() => {});
}

// Once: the answer to come, if it was asked for.
export function takeServerEarly(): Promise<Response> | null {
  const taken = asked;
  asked = null;
  return taken;
}
