// A request sent while the page's scripts are still loading. Its response is used once.

import { tokenStore } from './token';

class EarlyRequest {
  private response: Promise<Response> | null = null;

  constructor(private readonly url: string) {}

  send(): void {
    const token = tokenStore.read();
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (token !== null) headers['Authorization'] = `Bearer ${token}`;
    this.response = fetch(this.url, { headers, cache: 'no-store' });
    // The failure is reported to the caller of take().
    this.response.catch(() => {});
  }

  // Returns the pending response the first time, then null.
  take(): Promise<Response> | null {
    const { response } = this;
    this.response = null;
    return response;
  }
}

export const earlyServerRequest = new EarlyRequest('/api/v1/server');
