// The session of a page, which its tab keeps in sessionStorage.
import type { Page } from "@playwright/test";

const KEY = "graphdbg.token";

/** The token of the page's session. */
export async function sessionOf(page: Page): Promise<string> {
  const token = await page.evaluate((key) => sessionStorage.getItem(key), KEY);
  if (token === null) throw new Error("the page has no session");
  return token;
}

/** Lets a page that has not been opened yet use a session. */
export async function useSession(page: Page, token: string): Promise<void> {
  await page.addInitScript(([key, value]) => sessionStorage.setItem(key, value), [KEY, token] as const);
}
