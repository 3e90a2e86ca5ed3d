// Shares the token between the tabs of a browser, since sessionStorage belongs to one tab: a tab
// that is opened by an address asks the others. Only tabs of the same origin receive messages.

import { tokenStore } from './token';

const CHANNEL = 'graphdbg.token';
const ANSWER_MS = 200;

type Message = { type: 'request' } | { type: 'answer'; token: string };

class TokenExchange {
  private serving = false;

  // Answers the requests of other tabs from now on.
  serve(): void {
    if (this.serving) return;
    this.serving = true;
    const channel = new BroadcastChannel(CHANNEL);
    channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      const token = tokenStore.read();
      if (data.type === 'request' && token !== null) channel.postMessage({ type: 'answer', token } satisfies Message);
    });
  }

  // Returns the token of another tab, or null if none answers in time.
  async request(): Promise<string | null> {
    const channel = new BroadcastChannel(CHANNEL);
    const answer = new Promise<string>((resolve) => {
      channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
        if (data.type === 'answer') resolve(data.token);
      });
    });
    const timeout = new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), ANSWER_MS);
    });
    channel.postMessage({ type: 'request' } satisfies Message);
    const token = await Promise.race([answer, timeout]);
    channel.close();
    return token;
  }
}

export const tokenExchange = new TokenExchange();
